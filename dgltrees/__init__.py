"""Neural networks over trees, on torch and DGL (not decision trees).

A tree model is a graph, a cell and a traversal. :class:`Forest` holds trees and makes graphs of
them. :func:`prop_nodes_topo` runs DGL's message, reduce and apply functions over these level by
level. :func:`load` opens a run that ``dgltrees train`` wrote.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dgltrees.cells.compiled.way import compile_report
    from dgltrees.errors import ConfigError, TreeError
    from dgltrees.estimators import (
        FlatFeatures,
        TreeClassifier,
        TreeEncoder,
        TreeRanker,
        TreeRegressor,
    )
    from dgltrees.formats import read
    from dgltrees.formats.synthetic.plans import load_plans
    from dgltrees.tasks.custom_trees.inspect import inspect_trees
    from dgltrees.training.trained import TrainedModel, load
    from dgltrees.traversal import (
        prop_nodes_topo,
        run_cell,
        topological_nodes_generator,
    )
    from dgltrees.trees import BatchSampler, Forest, LabeledTrees, TreeBatch, TreePairs, Vocabulary

__version__ = "0.1.0"

__all__ = [
    "BatchSampler",
    "ConfigError",
    "FlatFeatures",
    "Forest",
    "LabeledTrees",
    "TrainedModel",
    "TreeBatch",
    "TreeClassifier",
    "TreeEncoder",
    "TreeError",
    "TreePairs",
    "TreeRanker",
    "TreeRegressor",
    "Vocabulary",
    "__version__",
    "compile_report",
    "inspect_trees",
    "load",
    "load_plans",
    "prop_nodes_topo",
    "read",
    "run_cell",
    "topological_nodes_generator",
]

# Imported when first asked for: torch takes seconds to load, and the command line's help none.
_MODULES = {
    "dgltrees.cells.compiled.way": ("compile_report",),
    "dgltrees.errors": ("ConfigError", "TreeError"),
    "dgltrees.estimators": (
        "FlatFeatures",
        "TreeClassifier",
        "TreeEncoder",
        "TreeRanker",
        "TreeRegressor",
    ),
    "dgltrees.formats": ("read",),
    "dgltrees.formats.synthetic.plans": ("load_plans",),
    "dgltrees.tasks.custom_trees.inspect": ("inspect_trees",),
    "dgltrees.training.trained": ("TrainedModel", "load"),
    "dgltrees.traversal": (
        "prop_nodes_topo",
        "run_cell",
        "topological_nodes_generator",
    ),
    "dgltrees.trees": (
        "BatchSampler",
        "LabeledTrees",
        "Forest",
        "TreeBatch",
        "TreePairs",
        "Vocabulary",
    ),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'dgltrees' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
