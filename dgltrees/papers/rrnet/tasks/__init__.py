"""The tasks of RRNet."""
