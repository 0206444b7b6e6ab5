"""Presets of the recurrent-recursive network: expressions, LRT, language models, SICK and SST."""

from __future__ import annotations

from typing import Any

# fmt: off
# Several settings a line, so that a preset is seen at once.
_RECUR = {"policy": {"operations": "recur"}}
_GOLD = {"operations": "gold", "consume": "recur"}

PRESETS: dict[str, dict[str, Any]] = {
    # Table 2: LSTM is mee-lstm, unsupervised is mee-reinforce, and supervised is mee
    "mee": {
        "about": ("The recurrent-recursive network of Table 2 (Jacob et al., RepL4NLP 2018) with "
                  "true trees, trained on\nexpressions of 4 and 5 operators. The decoder begins "
                  "with the state and the memory of the encoder.\nThe paper gives no sizes. Adam, "
                  "its learning rate and the clipping are those of public code by an\nauthor. The "
                  "linear decay of the learning rate to 0 is added."),
        "task": "mee", "paper": "Jacob et al. 2018, Table 2 (supervised)",
        "data": {"train": ["mee/train4.tsv", "mee/train5.tsv"],
                 "valid": ["mee/valid4.tsv", "mee/valid5.tsv"]},
        "model": {"encoder": "rrnet", "hidden_size": 128, "embedding": 64,
                  "decoder_memory": "encoder"},
        "training": {"optimizer": "adam", "lr": 0.003, "max_grad_norm": 1.0, "batch_size": 128,
                     "schedule": "linear", "epochs": 16, "patience": None},
    },
    "mee-lstm": {
        "about": "The LSTM of Table 2, with the same size d. It is torch's LSTM.",
        "base": "mee", "paper": "Jacob et al. 2018, Table 2 (LSTM)", "model": {"encoder": "lstm"},
    },
    "mee-reinforce": {
        "about": ("The recurrent-recursive network of Table 2, whose policy learns from the "
                  "answers by REINFORCE."),
        "base": "mee", "paper": "Jacob et al. 2018, Table 2 (unsupervised)",
        # An entropy bonus keeps operations random for too long (docs/results/papers.md).
        "model": {"policy": {"operations": "policy", "agent": "reinforce", "entropy": 0.0},
                  "decoder_memory": "zero"},
    },
    "mee-random": {
        "about": ("One random operation for each character, drawn once by model.policy.seed; the "
                  "operations are not learned."),
        "base": "mee", "paper": "Jacob et al. 2018, section 3.1 (random policies)",
        "model": {"policy": {"operations": "random"}, "decoder_memory": "zero"},
    },
    # In no table
    "mee-semi-supervised": {
        "about": ("A policy that learns from the gold operations of a tenth of the expressions, "
                  "and from the answers to\nthe others: semi-supervised parsing, which the paper "
                  "mentions as future work."),
        "base": "mee-reinforce", "paper": None, "model": {"policy": {"supervised_fraction": 0.1}},
    },
    "mee-recur": {
        "about": ("An LSTM: RRNet with recur as the only operation. The parameters of split and "
                  "merge are not used."),
        "base": "mee", "paper": None, "model": _RECUR,
    },
    **{
        f"{name}-layer-norm": {
            "about": (f"The preset {name} with layer normalisation, which the paper mentions as "
                      "future work and public code of\nan author has. A merge has two layers, and "
                      "continues with the memory of the last step in the subtree."),
            "base": name, "paper": None,
            # These results in datasets/results were measured with this merge.
            "model": {"layer_norm": True, "decoder_memory": "zero",
                      "policy": {"merge": "two_layers", "memory": "running",
                                 "merge_init": "uniform"}},
        }
        for name in ("mee-reinforce", "mee-semi-supervised")
    },
    # Figure 2
    "lrt-rrnet": {
        "about": ("The recurrent-recursive network of Figure 2 (Jacob et al., RepL4NLP 2018) "
                  "with true trees, on the\npairs of lrt as sequences of tokens. All pairs are "
                  "split 80/10/10; training uses those with at most six\noperators. The paper "
                  "gives no sizes: d = 62 gives 128,000 parameters, about as many as the other\n"
                  "models have. A merge continues with the memory of the last step in the subtree; "
                  "with that of the\nsplit, the default, 58 % of the answers are right instead of "
                  "84 %."),
        "task": "lrt-sequence", "paper": "Jacob et al. 2018, Figure 2",
        "data": {"train": "lrt/train*", "valid_fraction": 0.1, "test_fraction": 0.1,
                 "max_operators": 6},
        "model": {"encoder": "rrnet", "hidden_size": 62, "embedding": 32,
                  "head_hidden_sizes": [100], "policy": {"memory": "running"}},
        "training": {"optimizer": "adam", "lr": 0.002, "max_grad_norm": 1.0, "batch_size": 64,
                     "epochs": 8, "patience": None},
    },
    "lrt-lstm": {
        "about": "The LSTM of Figure 2, with as many parameters as lrt-rrnet.",
        "base": "lrt-rrnet", "model": {"encoder": "lstm", "hidden_size": 126},
    },
    "lrt-transformer": {
        "about": "The transformer encoder of Figure 2, with as many parameters as lrt-rrnet.",
        "base": "lrt-rrnet",
        "model": {"encoder": "transformer", "hidden_size": 64, "layers": 2, "heads": 4},
    },
    "lrt-tree": {
        "about": ("The Tree-LSTM of Figure 2, with as many parameters as lrt-rrnet. It knows the "
                  "whole tree from the\nbeginning, and has separate parameters for each operator. "
                  "The splits are the same."),
        "base": "lrt-rrnet", "paper": "Jacob et al. 2018, Figure 2", "task": "lrt",
        "model": {"aggregator": "sum", "hidden_size": 64},
    },
    "lrt-bilstm": {
        "about": ("A bidirectional LSTM with as many parameters as lrt-rrnet, in addition to the "
                  "models of Figure 2."),
        "base": "lrt-lstm", "paper": None, "model": {"encoder": "bilstm", "hidden_size": 79},
    },
    # Section 3.3: RRNet is ptb, and LSTM is ptb-lstm
    "ptb": {
        "about": ("The recurrent-recursive language model of section 3.3 (Jacob et al., RepL4NLP "
                  "2018). Its policy\nlearns by REINFORCE from the log-probability of each next "
                  "word. The paper gives d and one layer; the\ntraining loop is that of public "
                  "code by an author."),
        "task": "ptb", "paper": "Jacob et al. 2018, section 3.3",
        "data": {"train": "ptb_lm/ptb.train.txt", "valid": "ptb_lm/ptb.valid.txt"},
        # Returns are sums of -log p, far from 1. With detach they reach only the policy, where
        # their scale has no effect on Adam; a small weight keeps them out of the clipped norm.
        "model": {"encoder": "rrnet", "hidden_size": 350, "embedding": 350, "tied": True,
                  "policy": {"operations": "policy", "agent": "reinforce",
                             "reward": "log_likelihood", "detach": True, "weight": 0.001,
                             "discount": 0.95}},
        "training": {"optimizer": "adam", "lr": 0.003,
                     "optimizer_options": {"betas": [0.0, 0.999]}, "max_grad_norm": 1.0,
                     "batch_size": 64, "epochs": 40, "patience": 5, "monitor": "loss"},
    },
    "ptb-lstm": {
        "about": "An LSTM of the same size in the same training loop.",
        "base": "ptb", "paper": "Jacob et al. 2018, section 3.3 (LSTM)",
        "model": {"encoder": "lstm"},
    },
    "ptb-lstm-d544": {
        "about": "An LSTM with as many parameters as ptb, including word vectors.",
        "base": "ptb-lstm", "paper": None, "model": {"hidden_size": 544, "embedding": 544},
    },
    "ptb-recur": {
        "about": ("An LSTM: RRNet with recur as the only operation. The parameters of split and "
                  "merge are not used."),
        "base": "ptb", "paper": None, "model": _RECUR,
    },
    "ptb-small": {
        "about": ("The model of ptb scaled down to some minutes on one CPU core: a third of the "
                  "text, d = 200."),
        "base": "ptb", "paper": None,
        "data": {"max_train_examples": 14000},
        "model": {"hidden_size": 200, "embedding": 200},
        "training": {"epochs": 4},
    },
    "ptb-small-lstm": {
        "about": "An LSTM with the size and the training loop of ptb-small.",
        "base": "ptb-small", "paper": None, "model": {"encoder": "lstm"},
    },
    "ptb-small-lstm-d283": {
        "about": "An LSTM with as many parameters as ptb-small, including word vectors.",
        "base": "ptb-small-lstm", "model": {"hidden_size": 283, "embedding": 283},
    },
    "ptb-small-recur": {
        "about": ("RRNet with recur as the only operation, an LSTM, with the size and the training "
                  "loop of ptb-small."),
        "base": "ptb-small", "paper": None, "model": _RECUR,
    },
    "ptb-trees": {
        "about": ("The language model of section 3.3 of Jacob et al. (RepL4NLP 2018) on sentences "
                  "with trees. Only recur\nconsumes a word, and the policy learns the true trees; "
                  "in evaluation it does not see them. The training\nloop is that of ptb; the "
                  "sizes are for a small part of the treebank."),
        "base": "ptb", "paper": None,
        "data": {"train": "penn/train.mrg", "valid": "penn/valid.mrg", "min_freq": 2},
        "model": {"hidden_size": 200, "embedding": 200,
                  "policy": {"operations": "policy", "agent": "none", "consume": "recur",
                             "stack": 64, "detach": False, "weight": 1.0}},
        "training": {"batch_size": 16, "epochs": 8, "patience": None},
    },
    "ptb-trees-gold": {
        "about": ("Gold trees in training and evaluation. They depend on later words, so the "
                  "perplexity is not comparable\nwith that of a language model."),
        "base": "ptb-trees", "model": {"policy": {"operations": "gold", "stack": 64}},
    },
    "ptb-trees-reinforce": {
        "about": "The policy learns from the log-probability of each next word, without the trees.",
        "base": "ptb-trees",
        "model": {"policy": {"agent": "reinforce", "detach": True, "weight": 0.001,
                             "discount": 0.95}},
    },
    "ptb-trees-lstm": {
        "about": "torch's LSTM of the same size.",
        "base": "ptb-trees", "model": {"encoder": "lstm"},
    },
    "ptb-trees-recur": {
        "about": "RRNet with recur as the only operation: an LSTM.",
        "base": "ptb-trees", "model": _RECUR,
    },
    # Later work: SICK, and the phrases of SST
    "sick-rrnet": {
        "about": ("RRNet on SICK, future work in the paper. Only recur consumes a word, and the "
                  "policy learns from right\nanswers. Sizes are those of NTI-SLSTM."),
        "base": "sick",
        "model": {"encoder": "rrnet",
                  "policy": {"operations": "policy", "agent": "reinforce", "consume": "recur",
                             "stack": 64}},
    },
    "sick-rrnet-trees": {
        "about": "RRNet on SICK with the true trees: splits and merges are the brackets of parses.",
        "base": "sick", "model": {"encoder": "rrnet", "policy": _GOLD},
    },
    "sick-rrnet-supervised": {
        "about": "A policy that learns the parses of SICK, and does not see them in evaluation.",
        "base": "sick-rrnet", "model": {"policy": {"agent": "none"}},
    },
    "sst-phrases-rrnet": {
        "about": ("RRNet on the phrases of SST, five classes. Its policy learns from right "
                  "answers, and only recur consumes\na word. Sizes are those of "
                  "sst-phrases-small."),
        "base": "sst-phrases-small", "paper": None,
        "model": {"encoder": "rrnet", "layer_norm": True,
                  "policy": {"operations": "policy", "agent": "reinforce", "entropy": 0.0,
                             "consume": "recur", "stack": 64}},
    },
    "sst-phrases-rrnet-trees": {
        "about": "RRNet on the phrases of SST, five classes, with the true tree of each phrase.",
        "base": "sst-phrases-rrnet", "paper": None, "model": {"policy": _GOLD},
    },
}
"""The presets by name; see :data:`dgltrees.settings.presets.PRESETS`."""
