"""Language models over dependency trees, and over running text."""
