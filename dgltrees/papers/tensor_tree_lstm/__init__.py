"""Castellana and Bacciu, Generalising Recursive Neural Models by Tensor Decomposition, 2020."""
