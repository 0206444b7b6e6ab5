"""Uses of a trained model: explain predictions, find similar trees."""
