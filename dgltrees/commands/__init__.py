"""Implementation of the command-line commands."""
