"""Presets of Neural Tree Indexers: SNLI and SICK, WikiQA, and SST."""

from __future__ import annotations

from typing import Any

# fmt: off
# Several settings on a line keep a preset compact.
_GLOVE = {"vectors": "glove/glove.840B.300d.txt", "vocabulary_from_all_splits": True}
_NO_GLOVE = {"vectors": None, "lower": True, "min_freq": 2}
_SIZES = {"hidden_size": 300, "embedding": 300, "fixed_words": True, "head_hidden_sizes": [1024],
          "init": "uniform"}
_SMALL = {"hidden_size": 100, "embedding": 100, "fixed_words": False}
_LOOP = {"optimizer": "adam", "lr": 0.001, "weight_decay": 0.00003, "max_grad_norm": 40}

PRESETS: dict[str, dict[str, Any]] = {
    # Table 1                       no attention     global attention            tree attention
    # NTI-SLSTM                     snli             snli-slstm-node-global      ...-tree
    # NTI-SLSTM-LSTM                snli-slstm-lstm  snli-slstm-lstm-node-global ...-tree
    # the same, tree matching                        snli-matching-global        ...-tree
    # the same, full tree matching                   snli-fullmatching-global
    "snli": {
        "about": ("NTI-SLSTM of Table 1 (Munkhdalai and Yu, EACL 2017). As in the paper: fixed "
                  "GloVe 840B vectors, zero for\nunknown words, Adam, L2 as weight decay. The "
                  'paper\'s "input dropouts" are dropout on leaves, on the\nchildren of every '
                  'node and on attention vectors; its "output" is the MLP. Initial values and '
                  "gradient\nclipping are those of the authors' code."),
        "task": "nli", "paper": "Munkhdalai and Yu 2017, Table 1",
        "data": {"train": "snli/snli_1.0_train.jsonl", "valid": "snli/snli_1.0_dev.jsonl",
                 **_GLOVE},
        "model": {"encoder": "nti", "cell": "nti_lstm", "leaves": "identity", **_SIZES,
                  "input_dropout": 0.1, "dropout": 0.1, "head_dropout": 0.2},
        "training": {**_LOOP, "batch_size": 32, "epochs": 90, "patience": None},
    },
    "snli-slstm-lstm": {
        "about": "NTI-SLSTM-LSTM of Table 1.",
        "base": "snli", "model": {"leaves": "lstm"},
    },
    "snli-slstm-node-global": {
        "about": "NTI-SLSTM node-by-node global attention of Table 1.",
        "base": "snli", "paper": "Munkhdalai and Yu 2017, Table 1 (global attention)",
        "model": {"interaction": "node_by_node", "attention": "global", "input_dropout": 0.15,
                  "dropout": 0.15, "attention_dropout": 0.15, "head_dropout": 0.15},
        "training": {"lr": 0.0003, "weight_decay": 0.00001, "epochs": 40},
    },
    "snli-slstm-lstm-node-global": {
        "about": "NTI-SLSTM-LSTM node-by-node global attention of Table 1.",
        "base": "snli", "paper": "Munkhdalai and Yu 2017, Table 1 (global attention)",
        "model": {"leaves": "lstm", "interaction": "node_by_node", "attention": "global",
                  "attention_dropout": 0.1, "head_dropout": 0.15},
        "training": {"lr": 0.0003, "weight_decay": 0.00001, "epochs": 10},
    },
    "snli-matching-global": {
        "about": "Tree matching NTI-SLSTM-LSTM global attention of Table 1.",
        "base": "snli", "paper": "Munkhdalai and Yu 2017, Table 1 (global attention)",
        "model": {"leaves": "lstm", "interaction": "matching", "attention": "global",
                  "input_dropout": 0.2, "dropout": 0.2, "attention_dropout": 0.2},
        "training": {"lr": 0.0003, "epochs": 20},
    },
    "snli-fullmatching-global": {
        "about": "Full tree matching NTI-SLSTM-LSTM global attention of Table 1.",
        "base": "snli-matching-global", "model": {"interaction": "full_matching"},
    },
    **{
        f"snli-{name}-tree": {
            "about": f"{network} tree attention of Table 1.",
            "base": f"snli-{name}-global",
            "paper": "Munkhdalai and Yu 2017, Table 1 (tree attention)",
            "model": {"attention": "tree"},
        }
        for name, network in (
            ("slstm-node", "NTI-SLSTM node-by-node"),
            ("slstm-lstm-node", "NTI-SLSTM-LSTM node-by-node"),
            ("matching", "Tree matching NTI-SLSTM-LSTM"),
        )
    },
    "snli-fullmatching-tree": {
        "about": ("Full tree matching with tree attention, which footnote 4 omits for lack of "
                  "compute."),
        "base": "snli-fullmatching-global", "paper": None, "model": {"attention": "tree"},
    },
    "snli-lstm": {
        "about": ("A sequential LSTM instead of NTI-SLSTM, with the same sizes; Table 1's "
                  '"LSTMs encoders".'),
        "base": "snli", "paper": "Munkhdalai and Yu 2017, Table 1 (LSTM encoders)",
        "model": {"encoder": "lstm"},
    },
    # SICK instead of SNLI
    "sick": {
        "about": "NTI-SLSTM-LSTM on SICK, with learned word vectors.",
        "task": "nli",
        "data": {"train": "sick/SICK_train_parsed.txt", "valid": "sick/SICK_trial_parsed.txt",
                 "lower": True, "min_freq": 2},
        "model": {"encoder": "nti", "cell": "nti_lstm", "leaves": "lstm", "hidden_size": 100,
                  "embedding": 100, "head_hidden_sizes": [200], "init": "uniform",
                  "input_dropout": 0.2, "dropout": 0.1, "head_dropout": 0.2},
        "training": {**_LOOP, "batch_size": 32, "epochs": 30, "patience": 8},
    },
    **{
        f"sick-{name}": {"about": about, "base": "sick", "model": model}
        for name, about, model in (
            ("slstm", "NTI-SLSTM on SICK, with learned word vectors.", {"leaves": "identity"}),
            ("lstm", "A sequential LSTM on SICK, with the same sizes as NTI-SLSTM.",
             {"encoder": "lstm"}),
            ("node-global",
             "NTI-SLSTM-LSTM node-by-node global attention on SICK, with learned word vectors.",
             {"interaction": "node_by_node", "attention_dropout": 0.1}),
            ("fullmatching-global",
             "Full tree matching NTI-SLSTM-LSTM global attention on SICK, with learned word "
             "vectors.",
             {"interaction": "full_matching", "attention_dropout": 0.1}),
            ("overlap", "Overlapping sub-trees of three children, with a distance of 2.",
             {"branching": 3, "stride": 2}),
        )
    },
    # Table 2
    "wikiqa": {
        "about": ("NTI of Table 2 (Munkhdalai and Yu, EACL 2017) on WikiQA. NTI-ANF-LSTM encodes "
                  "questions, NTI-SLSTM-LSTM\nsentences. Fixed GloVe 840B vectors, zero for "
                  "unknown words."),
        "task": "wikiqa", "paper": "Munkhdalai and Yu 2017, Table 2",
        "data": {"train": "wikiqa/WikiQASent-train.txt", "valid": "wikiqa/WikiQASent-dev.txt",
                 **_GLOVE},
        "model": {"encoder": "nti", "cell": "nti_lstm", "leaves": "lstm", **_SIZES,
                  "input_dropout": 0.2, "dropout": 0.2},
        "training": {"optimizer": "adam", "lr": 0.001, "max_grad_norm": 40, "batch_size": 4,
                     "epochs": 10, "patience": None, "monitor": "map"},
    },
    "wikiqa-lstm": {
        "about": "A sequential LSTM instead of both encoders of Table 2's NTI, in the same sizes.",
        "base": "wikiqa", "paper": None, "model": {"encoder": "lstm"},
    },
    "wikiqa-small": {
        "about": ("The model of Table 2 with learned word vectors and the word counts of "
                  "footnote 6."),
        "base": "wikiqa", "paper": None,
        "data": {**_NO_GLOVE, "max_words": 64, "truncate": True},
        "model": {**_SMALL, "word_count": True, "head_hidden_sizes": [200], "head_dropout": 0.2},
        "training": {"weight_decay": 0.00003, "batch_size": 32, "patience": 4},
    },
    "wikiqa-small-lstm": {
        "about": "A sequential LSTM instead of both encoders of wikiqa-small, with the same sizes.",
        "base": "wikiqa-small", "model": {"encoder": "lstm"},
    },
    # Table 3         five classes       two classes
    # NTI-SLSTM       sst-phrases-slstm  ...-binary
    # NTI-SLSTM-LSTM  sst-phrases        ...-binary
    "sst-phrases": {
        "about": ("NTI-SLSTM-LSTM of Table 3 (Munkhdalai and Yu, EACL 2017), five classes. Trained "
                  "on all phrases, with fixed\nGloVe 840B vectors, zero for unknown words."),
        "task": "sst-phrases", "paper": "Munkhdalai and Yu 2017, Table 3 (five classes)",
        "data": {"train": "sst/train.txt", "valid": "sst/dev.txt", **_GLOVE},
        "model": {"encoder": "nti", "cell": "nti_lstm", "leaves": "lstm", **_SIZES,
                  "input_dropout": 0.2, "dropout": 0.2, "head_dropout": 0.3},
        "training": {**_LOOP, "batch_size": 64, "epochs": 10, "patience": None},
    },
    "sst-phrases-binary": {
        "about": "NTI-SLSTM-LSTM of Table 3, positive and negative.",
        "base": "sst-phrases", "paper": "Munkhdalai and Yu 2017, Table 3 (two classes)",
        "data": {"binary": True}, "model": {"head_dropout": 0.2},
    },
    "sst-phrases-slstm": {
        "about": "NTI-SLSTM of Table 3, five classes.",
        "base": "sst-phrases", "model": {"leaves": "identity"},
    },
    "sst-phrases-slstm-binary": {
        "about": "NTI-SLSTM of Table 3, positive and negative.",
        "base": "sst-phrases-slstm", "paper": "Munkhdalai and Yu 2017, Table 3 (two classes)",
        "data": {"binary": True},
        "model": {"input_dropout": 0.1, "dropout": 0.1, "head_dropout": 0.2},
    },
    "sst-phrases-lstm": {
        "about": "A sequential LSTM instead of NTI-SLSTM-LSTM, five classes, with the same sizes.",
        "base": "sst-phrases", "paper": None, "model": {"encoder": "lstm"},
    },
    "sst-phrases-small": {
        "about": "NTI-SLSTM-LSTM on SST's phrases, five classes, with learned word vectors.",
        "base": "sst-phrases", "paper": None, "data": _NO_GLOVE,
        "model": {**_SMALL, "head_hidden_sizes": [200]},
    },
    "sst-phrases-small-binary": {
        "about": ("NTI-SLSTM-LSTM on SST's phrases, positive and negative, with learned word "
                  "vectors."),
        "base": "sst-phrases-small", "data": {"binary": True},
    },
    "sst-phrases-small-lstm": {
        "about": ("A sequential LSTM on SST's phrases, five classes, with the sizes of "
                  "sst-phrases-small."),
        "base": "sst-phrases-small", "model": {"encoder": "lstm"},
    },
    # The Tree-LSTM that Table 3 compares with
    "sst-tree": {
        "about": ("Stanford Sentiment Treebank, five classes; training on all constituents, "
                  "metrics of roots. The\nbinary Tree-LSTM of Tai et al. (2015), with Adagrad; "
                  "words that occur once are unknown."),
        "task": "sst-tree", "paper": "Tai et al. 2015, Table 2 (five classes)",
        "data": {"train": "sst/train.txt", "valid": "sst/dev.txt", "min_freq": 2},
        "model": {"cell": "nary", "hidden_size": 100, "embedding": 100},
        "training": {"optimizer": "adagrad", "lr": 0.05, "weight_decay": 0.0001},
    },
    "sst-tree-binary": {
        "about": "sst-tree with two classes, positive and negative, without neutral sentences.",
        "base": "sst-tree", "paper": "Tai et al. 2015, Table 2 (two classes)",
        "data": {"binary": True},
    },
}
"""The presets by name; see :data:`dgltrees.settings.presets.PRESETS`."""
