"""The data of tensor Tree-LSTMs."""
