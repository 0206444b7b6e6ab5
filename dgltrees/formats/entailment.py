"""Pairs of a premise and a hypothesis, from any file of SNLI's or SICK's."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Callable, Optional

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.lines import gather, numbered_lines
from dgltrees.formats.pairs import VERBATIM, Pair, WordRules, chunks, pair_examples
from dgltrees.formats.sick import sick_pairs
from dgltrees.formats.snli import jsonl_pairs, line_pairs, tsv_pairs
from dgltrees.trees.builders.vocabs import own_vocabs
from dgltrees.trees.examples import Examples
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["ENTAILMENT_LABELS", "read_entailment", "stream_entailment"]

ENTAILMENT_LABELS = ("entailment", "neutral", "contradiction")
_NO_LABEL = "-"


def read_entailment(
    path: PathLike,
    *,
    vocabs: Optional[Mapping[str, Vocabulary]] = None,
    rules: WordRules = VERBATIM,
) -> Examples:
    """All pairs of a file; see :func:`stream_entailment`."""
    return gather(stream_entailment(path, vocabs=vocabs, rules=rules))


def stream_entailment(
    path: PathLike,
    trees: int = 10_000,
    *,
    vocabs: Optional[Mapping[str, Vocabulary]] = None,
    rules: WordRules = VERBATIM,
) -> Iterator[Examples]:
    """The pairs of a file, premise first, at most ``trees`` of them at a time.

    The form is known by the file: ``.jsonl`` is SNLI's; ``labels.NAME`` has the sentences beside it
    in ``s1.NAME`` and ``s2.NAME``; fields named by a first line with ``gold_label`` are SNLI's
    ``.txt``; all others are SICK's ``label TAB parse TAB parse``. Pairs with the label ``-``, on
    which SNLI's annotators did not agree, are left out, and a warning counts them.

    Node column: ``word``; a sentence is a chain (:func:`~dgltrees.trees.builders.chains`). Example
    column: ``target``, the row of :data:`ENTAILMENT_LABELS`. Examples have arity 2.

    Arguments:
        path: the file.
        trees: how many pairs to read at a time.
        vocabs: ``{"word": vocabulary}`` to use; a frozen one refuses unknown words, or gives them
            the id of its unknown name. All chunks share one vocabulary.
        rules: how words are spelled, and how many a sentence may have.

    Raises:
        TreeError: with file and line: the file is not UTF-8 or of no such form, a line is cut off,
            a sentence empty or too long, a label none of the three, a word unknown; or no pair has
            a label.
        ConfigError: ``trees`` is not positive.
    """
    words = own_vocabs(vocabs, "word")["word"]
    classes = Vocabulary(ENTAILMENT_LABELS, frozen=True)
    for chunk in chunks(_labeled(_form(path)(path), path), trees):
        yield pair_examples(chunk, words, classes, rules, path)


def _form(path: PathLike) -> Callable[[PathLike], Iterator[Pair]]:
    """What reads the file."""
    name = Path(path).name
    if name.endswith(".jsonl"):
        return jsonl_pairs
    if name.startswith("labels."):
        return line_pairs
    _, first = next(numbered_lines(path), (0, ""))
    return tsv_pairs if "gold_label" in first.split("\t") else sick_pairs


def _labeled(pairs: Iterator[Pair], path: PathLike) -> Iterator[Pair]:
    """The pairs that have a label; at their end a warning says how many had none."""
    seen = skipped = 0
    for pair in pairs:
        seen += 1
        if pair.target == _NO_LABEL:
            skipped += 1
        else:
            yield pair
    if seen == skipped:
        found = f"{seen} without one" if seen else "an empty file"
        raise TreeError(f"expected at least one pair with a label, got {found}", file=path)
    if skipped:
        warnings.warn(
            f"{os.fspath(path)}: left out {skipped} of {seen} pairs, which have no label "
            f"({_NO_LABEL!r})",
            stacklevel=2,
        )
