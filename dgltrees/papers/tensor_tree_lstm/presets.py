"""Presets of the tensor Tree-LSTMs: the rows of Tables I and II, and section VI."""

from __future__ import annotations

from typing import Any

# fmt: off
# Several settings a line, so that a preset is seen at once.
_LOOP = {"batch_size": 25, "bucket_batches": 1, "loss_reduction": "sum", "weight_decay": 0.01,
         "patience": 10}

PRESETS: dict[str, dict[str, Any]] = {
    "lrt": {
        "about": ("Logical relations (Bowman et al. 2015) as in the tensor Tree-LSTM paper: "
                  "training uses pairs with at\nmost 4 operators, and 10 % of all pairs are held "
                  "out. The loss is summed over a batch, as in the\nauthors' code: next to its "
                  "mean, the L2 penalty of 0.01 would be 25 times as strong."),
        "task": "lrt", "paper": "Castellana and Bacciu 2020, Table I",
        "data": {"train": "lrt/train*", "valid_fraction": 0.1, "max_operators": 4},
        "model": {"aggregator": "sum", "hidden_size": 50}, "training": _LOOP,
    },
    # Table I    c = 3   5   10         20           50            100
    # sum            x   x   x          x            x             x
    # full           x   x   x          x            x             x
    # HOSVD                  r = 3 5 7  r = 5 10 15  r = 10 20 30  r = 20 50 70
    **{
        f"lrt-{kind}-c{c}": {"base": "lrt", "model": {"aggregator": kind, "hidden_size": c}}
        for kind in ("sum", "full") for c in (3, 5, 10, 20, 50, 100)
    },
    **{
        f"lrt-hosvd-c{c}-r{r}": {
            "base": "lrt", "model": {"aggregator": "hosvd", "hidden_size": c, "rank": r},
        }
        for c, ranks in {10: (3, 5, 7), 20: (5, 10, 15), 50: (10, 20, 30),
                         100: (20, 50, 70)}.items()
        for r in ranks
    },
    # Section VI: canonical and tensor-train decompositions
    **{
        f"lrt-{kind.replace('_', '-')}-c50-r20": {
            "base": "lrt", "paper": None,
            "model": {"aggregator": kind, "hidden_size": 50, "rank": 20},
        }
        for kind in ("canonical", "tensor_train")
    },
    "listops": {
        "about": ("ListOps (Nangia and Bowman 2018) as in the tensor Tree-LSTM paper: AdaDelta "
                  "with torch's learning\nrate, batches of 25, and 9 % of the training trees held "
                  "out. The loss is summed over a batch, as\nin the authors' code: next to its "
                  "mean, the L2 penalty of 0.01 would be 25 times as strong."),
        "task": "listops", "paper": "Castellana and Bacciu 2020, Table II",
        "data": {"train": "listops/train.tsv", "valid_fraction": 0.09},
        "model": {"aggregator": "sum", "hidden_size": 25, "head_hidden_sizes": [20, 20]},
        "training": _LOOP,
    },
    # Table II   sum: c = 25 88 214   full: c = 3 5 7   HOSVD: c = 10 20 50, r = 3 5 7 for each
    **{
        f"listops-{kind}-c{c}": {"base": "listops", "model": {"aggregator": kind, "hidden_size": c}}
        for kind, sizes in {"sum": (25, 88, 214), "full": (3, 5, 7)}.items() for c in sizes
    },
    **{
        f"listops-hosvd-c{c}-r{r}": {
            "base": "listops", "model": {"aggregator": "hosvd", "hidden_size": c, "rank": r},
        }
        for c in (10, 20, 50) for r in (3, 5, 7)
    },
    # Section V.A: the operator as a label
    "listops-one-hot-hosvd-c20-r3": {
        "about": ("The HOSVD with the operator as a one-hot label, one more mode of its tensor "
                  "(section V.A). All other\nparameters are shared by the operators."),
        "base": "listops-hosvd-c20-r3", "paper": None, "model": {"operator_labels": "one_hot"},
    },
    # Equation (10), and section VI: symmetric tensors and other decompositions
    "listops-rnn-hosvd-c20-r3": {
        "about": ("The HOSVD as the new state, without the gates and the memory of an LSTM: only "
                  "equation (10)."),
        "base": "listops-hosvd-c20-r3", "paper": None, "model": {"cell": "rnn"},
    },
    "listops-symmetric-hosvd-c20-r3": {
        "about": ("The HOSVD with a tensor that is symmetric in the children, since the arguments "
                  "of ListOps' operators\nhave no order."),
        "base": "listops-hosvd-c20-r3", "paper": None, "model": {"aggregator": "symmetric_hosvd"},
    },
    "listops-shared-sum-c25": {
        "about": "The sum with one matrix for all children, so that their order has no effect.",
        "base": "listops-sum-c25", "paper": None, "model": {"aggregator": "shared_sum"},
    },
    **{
        f"listops-{kind.replace('_', '-')}-c50-r{r}": {
            "base": "listops", "paper": None,
            "model": {"aggregator": kind, "hidden_size": 50, "rank": r},
        }
        for kind, ranks in {"canonical": (20,), "tensor_train": (4, 12, 32)}.items() for r in ranks
    },
    # Of `dgltrees demo`
    "listops-demo-hosvd": {
        "about": ("The model of `dgltrees demo`: a small HOSVD Tree-LSTM, with Adam instead of the "
                  "paper's AdaDelta, so\nthat a few minutes are enough."),
        "base": "listops", "paper": None,
        "model": {"aggregator": "hosvd", "hidden_size": 20, "rank": 3},
        "training": {"optimizer": "adam", "lr": 0.004, "max_grad_norm": 5.0, "batch_size": 100,
                     "bucket_batches": 50, "loss_reduction": "mean", "weight_decay": 0.0,
                     "epochs": 16, "patience": None},
    },
    "listops-demo-sum": {
        "about": ("The baseline of `dgltrees demo`: a sum Tree-LSTM with as many parameters in one "
                  "aggregation as counted\nin the paper, 3,380 against 3,372; all else is equal."),
        "base": "listops-demo-hosvd",
        "model": {"aggregator": "sum", "hidden_size": 26, "rank": None},
    },
}
"""The presets by name; see :data:`dgltrees.settings.presets.PRESETS`."""
