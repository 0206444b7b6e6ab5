"""The training loop, run directories, presets, optimizers, and trained runs."""
