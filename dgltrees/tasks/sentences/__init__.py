"""Tasks on plain sentences: entailment, answer selection, sentiment."""
