"""Presets of top-down TreeLSTMs: sentence completion, reranking, and their parser."""

from __future__ import annotations

from typing import Any

# fmt: off
# Several settings a line, so that a preset is seen at once.
_EWT = {"train": "ud/en_ewt/en_ewt-ud-train.conllu", "valid": "ud/en_ewt/en_ewt-ud-dev.conllu"}
_TWO_LAYERS = {"hidden_size": 200, "embedding": 100, "layers": 2, "output_dropout": 0.2}

PRESETS: dict[str, dict[str, Any]] = {
    "tree-lm": {
        "about": ("Language model over dependency trees: the TreeLSTM that reranks parses in "
                  "Table 2 of Zhang, Lu and\nLapata (2016), on the English Web Treebank instead "
                  "of the Penn Treebank."),
        "task": "tree-lm", "paper": "Zhang et al. 2016, Table 2",
        "data": {**_EWT, "min_freq": 2, "max_words": 150},
        "model": {"hidden_size": 300, "embedding": 150},
        "training": {"optimizer": "sgd", "lr": 1.0, "max_grad_norm": 5.0, "schedule": "halve",
                     "monitor": "loss", "patience": None, "epochs": 50, "batch_size": 64,
                     "bucket_by": "size"},
    },
    "tree-lm-msr": {
        "about": ("Sentence completion, Table 1: a language model over the trees of novels "
                  "(CoNLL-U), whose large\nvocabulary is trained by noise-contrastive "
                  "estimation. In the paper, 4,000 random sentences of the training\nset are for "
                  "validation: set data.valid to null and data.valid_fraction to their share."),
        "base": "tree-lm", "paper": "Zhang et al. 2016, Table 1",
        "data": {"train": "msr/train*.conllu", "valid": "msr/valid.conllu", "lower": True,
                 "min_freq": 6, "max_words": 100},
        "model": {"objective": "nce"},
        "training": {"save_every_n_steps": 1000},  # minutes; an epoch of all novels takes hours
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
        "about": "TreeLSTM* of Table 2: word vectors are initialised by GloVe and trained.",
        "base": "tree-lm", "data": {"vectors": "glove/glove.6B.100d.txt"}, "model": _TWO_LAYERS,
    },
    "tree-lm-ld": {
        "about": ("LdTreeLSTM of Table 2: two layers; right dependents are generated after the "
                  "left ones are encoded."),
        "base": "tree-lm", "model": {"left_dependents": True, **_TWO_LAYERS},
    },
    "tree-lm-lstm": {
        "about": "LSTM over the sequence of words, the baseline of tree-lm.",
        "base": "tree-lm", "paper": None, "model": {"language_model": "sequence"},
    },
    "parser": {
        "about": ("Dependency parser of Dozat and Manning (2017), scaled down, on the English "
                  "Web Treebank. It\nparses the training data of tree language models, and the "
                  "k-best lists that they rerank."),
        "task": "parser",
        "data": {**_EWT, "min_freq": 2, "lower": True, "max_words": 100},
        "model": {"hidden_size": 200, "embedding": 100, "layers": 2, "dropout": 0.33},
        "training": {"optimizer": "adam", "lr": 0.002, "optimizer_options": {"betas": [0.9, 0.9]},
                     "max_grad_norm": 5.0, "monitor": "las", "epochs": 30, "patience": 5,
                     "batch_size": 32, "max_nodes": 2000, "bucket_by": "size"},
    },
    "edge-classifier": {
        "about": ("Classifiers that add edges to trees, for a language model that generates "
                  "only words: the four\nrectifier networks of Zhang, Lu and Lapata (2016), "
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
