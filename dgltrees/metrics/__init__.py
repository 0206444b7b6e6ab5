"""What is measured of predictions: accuracy, attachment, brackets, ranking, intervals."""
