"""The commands of RRNet."""
