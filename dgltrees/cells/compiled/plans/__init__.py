"""Where the rows of a batch stand in the tables of a compiled way."""
