"""Plans: the row of each node of a batch in the tables of the compiled traversals."""
