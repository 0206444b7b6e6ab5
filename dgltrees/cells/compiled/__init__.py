"""Faster ways through whole batches: derivatives by hand, machine code, and their plans."""
