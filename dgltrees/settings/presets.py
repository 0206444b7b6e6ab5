"""Presets of custom trees: for classes, numbers and ranks of trees, of their nodes and of pairs."""

from __future__ import annotations

from typing import Any

# fmt: off
# Several settings a line, so that a preset is seen at once.
_LOOP = {"optimizer": "adam", "lr": 0.002, "schedule": "linear", "epochs": 40, "keep": "last",
         "monitor": "loss", "max_grad_norm": 5.0, "batch_size": None, "bucket_batches": 1}
_NUMBERS_LOOP = {**_LOOP, "epochs": 25}  # numbers need fewer: docs/results/custom_trees.md
_PAIRS = {"lr": 0.001}

PRESETS: dict[str, dict[str, Any]] = {
    "classify": {
        "about": ("A class, or several flags, of each custom tree: --data.train FILE "
                  "--data.target COLUMN."),
        "task": "classify", "training": _LOOP,
    },
    "classify-pairs": {
        "about": ("A class, or several flags, of each pair of custom trees: --data.tree_path FIRST "
                  "SECOND --data.target COLUMN."),
        "task": "classify-pairs", "training": {**_LOOP, **_PAIRS},
    },
    "classify-nodes": {
        "about": "A class, or several flags, of every node of custom trees.",
        "task": "classify-nodes", "training": _LOOP,
    },
    "regress": {
        "about": ("A number, or several, of each custom tree: --data.train FILE "
                  "--data.target COLUMN."),
        "task": "regress", "training": _NUMBERS_LOOP,
    },
    "regress-pairs": {
        "about": ("A number, or several, of each pair of custom trees: --data.tree_path FIRST "
                  "SECOND --data.target COLUMN."),
        "task": "regress-pairs", "training": {**_NUMBERS_LOOP, **_PAIRS},
    },
    "regress-nodes": {
        "about": "A number, or several, of every node of custom trees.",
        "task": "regress-nodes", "training": _NUMBERS_LOOP,
    },
    "rank": {
        "about": ("The order of custom trees within groups: --data.train FILE --data.target "
                  "COLUMN --data.group COLUMN."),
        "task": "rank", "training": _LOOP,
    },
    "sick-relatedness": {
        "about": ("Semantic relatedness of the pairs of SICK by child-sum Tree-LSTMs over "
                  "dependency parses (Tai et al.,\nACL 2015: Pearson .8676 on the test pairs, "
                  "with GloVe), with word vectors learned from these pairs."),
        "task": "regress-pairs", "paper": "Tai et al. 2015, Table 3",
        "data": {"train": "sick/relatedness_train.jsonl", "test": "sick/relatedness_trial.jsonl",
                 "tree_path": ["first", "second"], "target": "relatedness_score",
                 "features": ["word"]},
        "model": {"cell": "child_sum", "hidden_size": 150, "embedding": 150, "readout": "root",
                  "sibling_positions": False, "pairs": "symmetric", "objective": "ordinal",
                  "head_hidden_sizes": [50]},
        "training": {"optimizer": "adam", "lr": 0.001, "max_grad_norm": 5.0, "batch_size": 25,
                     "monitor": "pearson", "epochs": 15, "patience": 5},
    },
}
"""The presets of the core by name, each as the values of its settings.

``about`` describes it, ``base`` names the preset that it builds on, and ``paper`` the table or
figure with its row.
"""
