"""Tasks whose models may split, recur and merge while they read."""
