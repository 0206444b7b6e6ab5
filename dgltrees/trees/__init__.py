"""Trees as arrays: forests, batches for a model, data sets, samplers and vocabularies."""

from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.examples import Examples, TreePairs
from dgltrees.trees.forest import Forest
from dgltrees.trees.sampler import BatchSampler
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["BatchSampler", "Examples", "Forest", "TreeBatch", "TreePairs", "Vocabulary"]
