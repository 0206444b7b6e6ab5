"""Language models over trees and sequences, and what is made with them: samples, shorter texts."""

from dgltrees.papers.top_down.models.add_decisions import (
    AddDecisions,
    JointTreeLM,
)
from dgltrees.papers.top_down.models.base import (
    LanguageModel,
    Predictions,
)
from dgltrees.papers.top_down.models.compression import (
    Compression,
    compress,
)
from dgltrees.papers.top_down.models.nce import (
    NCE,
)
from dgltrees.papers.top_down.models.sample_trees import (
    SampledTrees,
    sample_trees,
)
from dgltrees.papers.top_down.models.sampling import (
    Sampling,
)
from dgltrees.papers.top_down.models.sequence_lm import (
    BidirectionalLM,
    SequenceLM,
)
from dgltrees.papers.top_down.models.simplification import (
    Simplification,
    simplify,
)
from dgltrees.papers.top_down.models.stop_symbols import (
    with_stops,
)
from dgltrees.papers.top_down.models.tree_lm import (
    TreeLM,
)

__all__ = [
    "NCE",
    "AddDecisions",
    "BidirectionalLM",
    "Compression",
    "JointTreeLM",
    "LanguageModel",
    "Predictions",
    "SampledTrees",
    "Sampling",
    "SequenceLM",
    "Simplification",
    "TreeLM",
    "compress",
    "sample_trees",
    "simplify",
    "with_stops",
]
