"""What stands behind the command line where a function of another room is not enough."""
