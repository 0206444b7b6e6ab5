"""Commands that make trees with a language model: train-shape, generate, compress, simplify."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal

from dgltrees.commands.arguments import resumable
from dgltrees.options import Count, Fraction, NonNegative, Positive, PositiveShare, Seed
from dgltrees.papers.top_down.analyses import generate as generation
from dgltrees.papers.top_down.analyses import shape
from dgltrees.papers.top_down.analyses.compress import compress_files
from dgltrees.papers.top_down.analyses.simplify import simplify_files
from dgltrees.papers.top_down.analyses.tree_files import GeneratedTrees, TreeFormat, format_of
from dgltrees.papers.top_down.models.sampling import Sampling
from dgltrees.training.loaded import load

__all__ = ["compress", "generate", "simplify", "train_shape"]


@resumable
def train_shape(
    run: str,
    *,
    state: Literal["own", "source"] | None = None,
    hidden: list[Count] | None = None,
    dropout: Fraction | None = None,
    lr: Positive | None = None,
    batch_size: Count | None = None,
    epochs: Count | None = None,
    seed: Seed | None = None,
    root: str | None = None,
) -> None:
    """Train the decisions to add edges to trees, for a language model of words: train-shape DIR.

    Prints their metrics on the validation trees as JSON. The same command resumes training that was
    stopped. Defaults are those of the preset tree-shape (``dgltrees show tree-shape``).

    Arguments:
        run: the run directory of a language model over trees.
        state: read the state that a node's own word was predicted from, or that of its source.
        hidden: sizes of the classifiers' hidden layers.
        dropout: probability of dropout before every layer.
        lr: learning rate of AdaGrad.
        batch_size: nodes in a batch.
        epochs: passes over the training trees.
        seed: seed of the initial parameters, the order of the nodes and dropout.
        root: folder of the data sets; by default the run's.
    """
    loop = {"lr": lr, "batch_size": batch_size, "epochs": epochs, "seed": seed}
    result = shape.train_shape(
        load(run),
        model=_given({"state": state, "hidden": hidden, "dropout": dropout}),
        training=_given(loop),
        root=root,
    )
    print(json.dumps(result))


def _given(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def generate(
    run: str,
    *,
    number: Count = 10,
    seed: Seed = 0,
    temperature: NonNegative = 1.0,
    top_k: Count | None = None,
    top_p: PositiveShare = 1.0,
    max_words: Count = 100,
    sample_decisions: bool = False,
    unknown: bool = True,
    format: TreeFormat | None = None,
    out: str | None = None,
) -> None:
    """Draw trees from a language model: generate DIR --number 20 --out FILE.

    Without START and STOP (``model.stops``), ``dgltrees train-shape`` must have been run.

    Arguments:
        run: the run directory of a language model over trees.
        number: number of trees.
        seed: seed of the draws; the same seed draws the same trees.
        temperature: divisor of the scores before the softmax; 0 always takes the likeliest word.
        top_k: draw each word among this many likeliest ones; by default among all.
        top_p: draw each word among the fewest likeliest ones whose probabilities sum to this.
        max_words: length of a tree in words, at most.
        sample_decisions: draw at random whether a word gets another dependent, with the
            probability that the model says; by default it gets one if that is above 0.5.
        unknown: whether the unknown word may be drawn.
        format: format of the file; by default the ending of --out decides.
        out: file to write; by default sentences are printed.
    """
    form = format_of(format, out)
    trees = generation.generate(
        load(run),
        number,
        seed=seed,
        sampling=Sampling(temperature, top_k, top_p),
        sample_decisions=sample_decisions,
        max_words=max_words,
        unknown=unknown,
    )
    _write(trees, out, form)


def compress(
    run: str,
    *,
    input: list[str],
    max_words: Count,
    beam: Count = 8,
    joint: bool = False,
    format: TreeFormat | None = None,
    out: str | None = None,
) -> None:
    """Shorten sentences by a language model: compress DIR --input FILE --max_words 10.

    Arguments:
        run: the run directory of a language model over trees.
        input: CoNLL-U files of sentences with their trees.
        max_words: length of a compressed sentence in words, at most.
        beam: width of the beam search: parts of each length that it keeps.
        joint: score by log P(S, T), the words and the shape of the tree, for which train-shape
            must have been run; by default by log P(S | T), the words alone.
        format: format of the file; by default the ending of --out decides.
        out: file to write; by default sentences are printed.
    """
    form = format_of(format, out)
    _write(compress_files(load(run), input, max_words, beam=beam, joint=joint), out, form)


def simplify(
    run: str,
    *,
    input: list[str],
    simple_words: str,
    number: Count = 10,
    min_cosine: Fraction = 0.4,
    format: TreeFormat | None = None,
    out: str | None = None,
) -> None:
    """Put sentences into simpler words: simplify DIR --input FILE --simple_words WORDS.txt.

    A word that is not among the simple ones is replaced by one that is, if the model expects both
    in the same places (the cosine of their output embeddings) and the sentence gets likelier. The
    tree remains.

    Arguments:
        run: the run directory of a language model over trees.
        input: CoNLL-U files of sentences with their trees.
        simple_words: text file of the words to use, one per line.
        number: number of candidates per word.
        min_cosine: smallest cosine of a word and its candidates.
        format: format of the file; by default the ending of --out decides.
        out: file to write; by default sentences are printed.
    """
    form = format_of(format, out)
    simple = simplify_files(load(run), input, simple_words, number=number, min_cosine=min_cosine)
    _write(simple, out, form)


def _write(trees: GeneratedTrees, out: str | None, form: str) -> None:
    """Write the trees, or print their sentences."""
    if out is None:
        print("\n".join(trees.sentences))
    else:
        trees.write(out, form)
