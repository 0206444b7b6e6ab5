"""The Stanford Natural Language Inference corpus, in three forms: JSON lines, TSV, plain lines.

S. R. Bowman, G. Angeli, C. Potts and C. D. Manning, "A large annotated corpus for learning natural
language inference", EMNLP 2015.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from dgltrees._files import PathLike
from dgltrees._json import load_json
from dgltrees.errors import TreeError
from dgltrees.formats.english import tokenize
from dgltrees.formats.lines import numbered_lines
from dgltrees.papers.nti.data.pairs import Pair

__all__ = ["bracketed_pair", "companions", "jsonl_pairs", "leaves", "line_pairs", "tsv_pairs"]

_LABEL = "gold_label"
_FIELDS = (_LABEL, "sentence1_binary_parse", "sentence2_binary_parse")
_TEXT = {"sentence1_binary_parse": "sentence1", "sentence2_binary_parse": "sentence2"}


def jsonl_pairs(
    lines: Iterable[tuple[int, str]], path: PathLike, labeled: bool = True
) -> Iterator[Pair]:
    """The pairs of an official ``.jsonl`` file; the words are the leaves of its parses.

    Arguments:
        lines: the lines of the file with their numbers.
        path: the file, for errors.
        labeled: whether every pair must have its label and its parses.

    Raises:
        TreeError: with file and line: a line is not UTF-8 or not a JSON object, lacks a field, or
            is cut off.
    """
    for number, line in lines:
        if not line.strip():
            continue
        try:
            values = load_json(line)
        except ValueError as error:
            raise TreeError(f"{error}; is the line cut off?", file=path, line=number) from None
        yield _pair(values if isinstance(values, dict) else {}, path, number, labeled)


def tsv_pairs(
    lines: Iterable[tuple[int, str]], path: PathLike, labeled: bool = True
) -> Iterator[Pair]:
    """The pairs of an official ``.txt`` file: fields separated by tabs, named by the first line.

    Arguments, see :func:`jsonl_pairs`.

    Raises:
        TreeError: with file and line: the first line does not name the fields, a line is not UTF-8,
            has another number of fields, or is cut off.
    """
    names: list[str] = []
    for number, line in lines:
        fields = line.split("\t")
        if not names:
            names = fields
            missing = [name for name in _FIELDS if name not in names and labeled]
            if missing:
                raise TreeError(
                    f"expected a first line that names the fields {', '.join(_FIELDS)}, got none "
                    f"called {missing[0]}",
                    file=path,
                    line=number,
                )
        elif line.strip():
            if len(fields) != len(names):
                raise TreeError(
                    f"expected {len(names)} fields between tabs, got {len(fields)}; is the line "
                    "cut off?",
                    file=path,
                    line=number,
                )
            yield _pair(dict(zip(names, fields)), path, number, labeled)


def _pair(values: Mapping[str, Any], path: PathLike, line: int, labeled: bool) -> Pair:
    if not labeled:
        texts = {name: values.get(text) for name, text in _TEXT.items()}
        values = {_LABEL: "", **texts, **values}
    for name in _FIELDS:
        if not isinstance(values.get(name), str):
            raise TreeError(f"expected text in the field {name}, got none", file=path, line=line)
    label, left, right = (values[name] for name in _FIELDS)
    return bracketed_pair(line, label, (left, right), path, labeled)


def bracketed_pair(
    line: int, label: str, sentences: tuple[str, str], path: PathLike, labeled: bool
) -> Pair:
    """A pair of two sentences, in brackets if the pair must have a label.

    Raises:
        TreeError: see :func:`leaves`.
        ConfigError: splitting English text needs spaCy, which is not installed.
    """
    left, right = (words(side, path, line, labeled) for side in sentences)
    parses = [side if _is_parse(side, labeled) else None for side in sentences]
    return Pair(line, label, left, right, parses)


def words(sentence: str, path: PathLike, line: int, labeled: bool) -> list[str]:
    """The words of a sentence: the leaves of a bracketed one, as all with labels are, or else those
    of its English text.

    Raises:
        TreeError: see :func:`leaves`.
        ConfigError: splitting English text needs spaCy, which is not installed.
    """
    return leaves(sentence, path, line) if _is_parse(sentence, labeled) else tokenize(sentence)


def _is_parse(sentence: str, labeled: bool) -> bool:
    """Whether a sentence stands in brackets, or may do without as it has one word."""
    return labeled or "(" in sentence or ")" in sentence


def leaves(parse: str, path: PathLike, line: int) -> list[str]:
    """The words of a bracketed sentence.

    Raises:
        TreeError: with file and line: the numbers of opening and closing brackets differ.
    """
    opened, closed = parse.count("("), parse.count(")")
    if opened != closed:
        raise TreeError(
            f"expected a ')' for every '(', got {opened} and {closed}; is the line cut off?",
            file=path,
            line=line,
        )
    return parse.replace("(", " ").replace(")", " ").split()


def companions(path: PathLike) -> list[Path]:
    """The files ``s1.NAME`` and ``s2.NAME`` beside ``labels.NAME``, or ``s2.NAME`` beside the
    first of these; none for any other name."""
    path = Path(path)
    first, _, name = path.name.partition(".")
    beside = {"labels": ("s1", "s2"), "s1": ("s2",)}.get(first, ()) if name else ()
    return [path.with_name(f"{side}.{name}") for side in beside]


def line_pairs(path: PathLike) -> Iterator[Pair]:
    """The pairs of three files with a line per pair: ``labels.NAME``, ``s1.NAME`` and ``s2.NAME``.

    Words are separated by spaces. From ``s1.NAME``, the pairs of the last two, without labels.

    Raises:
        TreeError: with file and line: one file ends before another, or a line is not UTF-8; or a
            file is missing.
    """
    files = [Path(path), *companions(path)]
    for file in files:
        if not file.exists():
            raise TreeError(f"expected the file {file.name} beside it, got none", file=path)
    for rows in zip_longest(*map(numbered_lines, files)):
        if None in rows:
            shorter, number = files[rows.index(None)], next(row[0] for row in rows if row)
            others = " and ".join(os.fspath(f.name) for f, row in zip(files, rows) if row)
            raise TreeError(
                f"expected as many lines as in {others}, got {number - 1}; the files do not "
                "belong together",
                file=shorter,
                line=number,
            )
        (_, left), (number, right) = rows[-2:]
        label = rows[0][1].strip() if len(rows) == 3 else ""
        yield Pair(number, label, left.split(), right.split())
