"""Tasks on custom trees: columns in, classes or numbers out."""
