"""Trees as arrays: forests, batches for a model, data sets, samplers and vocabularies."""

from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.forest import Forest
from dgltrees.trees.labeled import LabeledTrees, TreePairs
from dgltrees.trees.sampler import BatchSampler
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["BatchSampler", "Forest", "LabeledTrees", "TreeBatch", "TreePairs", "Vocabulary"]
