"""Recurrent-recursive networks: encoders, policies, objectives and language models.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018).
"""
