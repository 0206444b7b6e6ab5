"""Tasks on people's own trees: columns in, classes or numbers out."""
