"""Presets of the tensor Tree-LSTMs: the rows of Tables I and II, and section VI."""

from __future__ import annotations

from typing import Any

# fmt: off
# Several settings a line, so that a preset is seen at once.
PRESETS: dict[str, dict[str, Any]] = {
    "lrt": {
        "about": ("Logical relations (Bowman et al. 2015) as the tensor Tree-LSTM paper trains "
                  "on it: pairs with at\nmost 4 operators are learned, 10 % of all pairs kept "
                  "back. The paper's L2 of 0.01 is the flag\n--training.weight_decay 0.01, and 0 "
                  "here: AdaDelta normalises its step, and the penalty's gradient swamps\nthe "
                  "loss's (60,000 pairs, 6 epochs, HOSVD with c = 20 and r = 10: 53 % validation "
                  "accuracy with\nit, which is the majority class's 52 %, and 66 % without)."),
        "task": "lrt", "paper": "Castellana and Bacciu 2020, Table I",
        "data": {"train": "lrt/train*", "valid_fraction": 0.1, "max_operators": 4},
        "model": {"aggregator": "sum", "hidden_size": 50}, "training": {"batch_size": 25},
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
        "about": ("ListOps (Nangia and Bowman 2018) as the tensor Tree-LSTM paper trains on it: "
                  "AdaDelta at torch's\nrate, batches of 25, 9 % of the training trees kept "
                  "back. The paper's L2 of 0.01 is the flag\n--training.weight_decay 0.01, and 0 "
                  "here: AdaDelta normalises its step, and the penalty's gradient swamps\nthe "
                  "loss's (10,000 generated trees, 8 epochs, HOSVD with c = 20 and r = 3: 32 % "
                  "validation\naccuracy with it, 55 % without)."),
        "task": "listops", "paper": "Castellana and Bacciu 2020, Table II",
        "data": {"train": "listops/train.tsv", "valid_fraction": 0.09},
        "model": {"aggregator": "sum", "hidden_size": 25, "head_hidden_sizes": [20, 20]},
        "training": {"batch_size": 25},
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
                  "(section V.A), and all\nother parameters shared by the operators."),
        "base": "listops-hosvd-c20-r3", "paper": None, "model": {"operator_labels": "one_hot"},
    },
    # Equation (10), and section VI: symmetric tensors and other decompositions
    "listops-rnn-hosvd-c20-r3": {
        "about": ("The HOSVD as the state itself, without the gates and the memory of an LSTM: "
                  "equation (10) alone."),
        "base": "listops-hosvd-c20-r3", "paper": None, "model": {"cell": "rnn"},
    },
    "listops-symmetric-hosvd-c20-r3": {
        "about": ("The HOSVD whose tensor is symmetric in the children: ListOps has operators "
                  "whose arguments have no order."),
        "base": "listops-hosvd-c20-r3", "paper": None, "model": {"aggregator": "symmetric_hosvd"},
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
        "about": ("What `dgltrees demo` trains: a small HOSVD Tree-LSTM, with Adam instead of "
                  "the paper's AdaDelta\nso that a few minutes are enough."),
        "base": "listops", "paper": None,
        "model": {"aggregator": "hosvd", "hidden_size": 20, "rank": 3},
        "training": {"optimizer": "adam", "lr": 0.004, "max_grad_norm": 5.0, "batch_size": 100,
                     "epochs": 16, "patience": None},
    },
    "listops-demo-sum": {
        "about": ("The sum Tree-LSTM that `dgltrees demo` compares: as many parameters in one "
                  "aggregation, 3,380\nagainst 3,372, as the paper's tables count; the rest is "
                  "the same."),
        "base": "listops-demo-hosvd",
        "model": {"aggregator": "sum", "hidden_size": 26, "rank": None},
    },
    "boolsent": {
        "about": "Boolean sentences: every subtree's truth value learned, the sentence's reported.",
        "task": "boolsent",
        "data": {"train": "boolsent/train.txt", "valid": "boolsent/dev.txt"},
        "model": {"aggregator": "canonical", "hidden_size": 20, "rank": 10},
        "training": {"optimizer": "adam", "lr": 0.01},
    },
    "boolsent-root": {
        "about": "The sentence's truth value alone is learned.",
        "base": "boolsent", "data": {"supervise": "root"},
    },
    "boolsent-symmetric": {
        "about": ("Boolean sentences by a symmetric tensor, which cannot tell the sides of an "
                  "implication."),
        "base": "boolsent", "model": {"aggregator": "symmetric_hosvd", "rank": 3},
    },
    "inex": {
        "about": ("INEX 2005: the structure trees of XML documents, 11 classes, up to 32 "
                  "children of a node."),
        "task": "inex",
        "data": {"train": "inex/inex05.train.elastic.tree"},
        "model": {"aggregator": "shared_sum", "hidden_size": 50},
        "training": {"optimizer": "adam", "lr": 0.003},
    },
}
"""The presets by name; see :data:`dgltrees.settings.presets.PRESETS`."""
