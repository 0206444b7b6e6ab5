"""Tasks: each file defines the data, the model, the loss and the metrics of one experiment."""
