"""The tasks of tensor Tree-LSTMs."""
