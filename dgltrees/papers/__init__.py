"""The papers: a folder for each, of what only that paper needs."""
