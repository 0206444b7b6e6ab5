"""The analyses of RRNet."""
