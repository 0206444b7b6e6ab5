"""Dependencies of this paper."""
