"""The data of RRNet."""
