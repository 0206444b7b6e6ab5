"""Tasks of this paper."""
