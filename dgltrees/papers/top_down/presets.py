"""Presets of the top-down Tree-LSTMs: sentence completion, reranking, and the parser for it."""

from __future__ import annotations

from typing import Any

# fmt: off
# Several settings a line, so that a preset is seen at once.
_EWT = {"train": "ud/en_ewt/en_ewt-ud-train.conllu", "valid": "ud/en_ewt/en_ewt-ud-dev.conllu"}
_TWO_LAYERS = {"hidden_size": 200, "embedding": 100, "layers": 2, "output_dropout": 0.2}

PRESETS: dict[str, dict[str, Any]] = {
    "tree-lm": {
        "about": ("Language model over dependency trees: the TreeLSTM that reranks parses in "
                  "Table 2 of Zhang, Lu and\nLapata (2016), on the English Web Treebank in place "
                  "of the Penn Treebank."),
        "task": "tree-lm", "paper": "Zhang et al. 2016, Table 2",
        "data": {**_EWT, "min_count": 2, "max_words": 150},
        "model": {"hidden_size": 300, "embedding": 150},
        "training": {"optimizer": "sgd", "lr": 1.0, "clip": 5.0, "schedule": "halve",
                     "monitor": "loss", "patience": None, "epochs": 50, "batch_size": 64,
                     "bucket_by": "size"},
    },
    "tree-lm-msr": {
        "about": ("Table 1, sentence completion: trees of the training novels as CoNLL-U, a "
                  "large vocabulary learned\nby noise-contrastive estimation."),
        "base": "tree-lm", "paper": "Zhang et al. 2016, Table 1",
        "data": {"train": "msr/train*.conllu", "valid": "msr/valid.conllu", "lower": True,
                 "min_count": 6, "max_words": 100},
        "model": {"objective": "nce"},
    },
    # Table 1: hidden sizes d, with word vectors of half of it
    # LSTM: 300 400 450   BiLSTM: 200 300 400   TreeLSTM: 300 400   LdTreeLSTM: 300 400
    **{
        f"tree-lm-msr-lstm-d{d}": {
            "base": "tree-lm-msr",
            "model": {"language_model": "sequence", "hidden_size": d, "embedding": d // 2},
        }
        for d in (300, 400, 450)
    },
    **{
        f"tree-lm-msr-bilstm-d{d}": {
            "base": "tree-lm-msr",
            "model": {"language_model": "bidirectional", "hidden_size": d, "embedding": d // 2},
        }
        for d in (200, 300, 400)
    },
    **{
        f"tree-lm-msr-d{d}": {
            "base": "tree-lm-msr", "model": {"hidden_size": d, "embedding": d // 2},
        }
        for d in (300, 400)
    },
    **{
        f"tree-lm-msr-ld-d{d}": {"base": f"tree-lm-msr-d{d}", "model": {"left_dependents": True}}
        for d in (300, 400)
    },
    # Table 2: TreeLSTM is tree-lm, and its parses are those of parser
    "tree-lm-vectors": {
        "about": "TreeLSTM* of Table 2: word vectors begin as GloVe's and are learned on.",
        "base": "tree-lm", "data": {"vectors": "glove/glove.6B.100d.txt"}, "model": _TWO_LAYERS,
    },
    "tree-lm-ld": {
        "about": ("The LdTreeLSTM of Table 2: two layers, the left dependents read before the "
                  "right ones."),
        "base": "tree-lm", "model": {"left_dependents": True, **_TWO_LAYERS},
    },
    "tree-lm-lstm": {
        "about": "An LSTM over the words' sequence, to compare with tree-lm.",
        "base": "tree-lm", "paper": None, "model": {"language_model": "sequence"},
    },
    "parser": {
        "about": ("Dependency parser of Dozat and Manning (2017), made small: it parses what "
                  "tree language models\nlearn from, and the k-best lists that they rerank. The "
                  "English Web Treebank."),
        "task": "parser",
        "data": {**_EWT, "min_count": 2, "lower": True, "max_words": 100},
        "model": {"hidden_size": 200, "embedding": 100, "layers": 2, "dropout": 0.33},
        "training": {"optimizer": "adam", "lr": 0.002, "optimizer_options": {"betas": [0.9, 0.9]},
                     "clip": 5.0, "monitor": "las", "epochs": 30, "patience": 5, "batch_size": 32,
                     "max_nodes": 2000, "bucket_by": "size"},
    },
    "edge-classifier": {
        "about": ("The decisions to add edges to trees, for a language model that generates "
                  "words alone: the four\nrectifier networks of Zhang, Lu and Lapata (2016), "
                  "section 3.4. `dgltrees train-edge-classifier RUN`\ntrains them on the states of "
                  "the language model in RUN."),
        "task": "edge-classifier", "paper": "Zhang et al. 2016, section 3.4",
        # hidden_size is that of the language model
        "model": {"hidden_size": 300, "hidden": [300, 300], "dropout": 0.5},
        "training": {"optimizer": "adagrad", "lr": 0.01, "epochs": 10, "patience": None,
                     "monitor": "loss", "batch_size": 256},
    },
}
"""The presets by name; see :data:`dgltrees.settings.presets.PRESETS`."""
