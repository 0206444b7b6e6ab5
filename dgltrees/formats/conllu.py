"""Dependency treebanks in ten columns: CoNLL-U, and CoNLL-X before it.

Universal Dependencies, https://universaldependencies.org/format.html; Buchholz & Marsi, "CoNLL-X
Shared Task on Multilingual Dependency Parsing", CoNLL 2006.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Optional, Union

from conllu import Token, parse_token_and_metadata

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.sentences import Sentence, blocks, head_of, read_sentences, stream_sentences
from dgltrees.trees.examples import Examples
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["CONLLU_COLUMNS", "conllu_sentences", "read_conllu", "stream_conllu"]

CONLLU_COLUMNS = ("word", "upos", "xpos", "deprel")
_FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_PARSED = ("id", "xpos", "feats", "head", "deps", "misc")  # by the library, if one lets it
_AS_IT_IS = {field: (lambda fields, i: fields[i]) for field in _PARSED}
_NO_WORD = re.compile(r"[0-9]+[-.][0-9]+")  # a multiword token, an empty node


def read_conllu(
    paths: Union[PathLike, Sequence[PathLike]],
    *,
    vocabs: Optional[Mapping[str, Vocabulary]] = None,
    lower: bool = False,
    min_count: int = 1,
    max_words: Optional[int] = None,
    single_root: bool = True,
) -> Examples:
    """All sentences of one or many CoNLL-U files; see :func:`stream_conllu`.

    Arguments:
        min_count: words that stand in these files less often become ``<unk>``, in a frozen
            vocabulary; for files that are read with given words it is 1.

    Raises:
        ConfigError: ``min_count`` with given words, or below 1.
    """
    stream = stream_conllu(
        paths, vocabs=vocabs, lower=lower, max_words=max_words, single_root=single_root
    )
    return read_sentences(stream, min_count, counted="word" in (vocabs or {}))


def stream_conllu(
    paths: Union[PathLike, Sequence[PathLike]],
    trees: int = 10_000,
    *,
    vocabs: Optional[Mapping[str, Vocabulary]] = None,
    lower: bool = False,
    max_words: Optional[int] = None,
    single_root: bool = True,
) -> Iterator[Examples]:
    """The sentences of one or many CoNLL-U files, at most ``trees`` at a time, as dependency trees.

    Node 0 of a tree is ROOT, node i its i-th word, and a node's parent is its head. Multiword
    tokens (``3-4``) and empty nodes (``8.1``) are not in the tree. CoNLL-X files are read likewise:
    their coarse and fine tags stand where ``upos`` and ``xpos`` do.

    Node columns: ``word``, that of ROOT is ``<root>``; ``upos``, ``xpos`` and ``deprel``, -1 at
    ROOT and where the file has ``_``. There are no example columns.

    Arguments:
        paths: a file, or files in the order to read them; each makes chunks of its own.
        trees: how many sentences to read at a time.
        vocabs: vocabularies to use, by column; a frozen one refuses unknown names, or gives them
            the id of its unknown name. All chunks share them.
        lower: whether to turn words to lower case.
        max_words: leave out longer sentences; a warning says how many of each file.
        single_root: whether a sentence with two words below ROOT is an error, as it is in Universal
            Dependencies; CoNLL-X allows them.

    Raises:
        TreeError: with file and line: a file is empty or not UTF-8, a line has not ten columns, a
            sentence has no words, ids are not 1, 2, 3 and so on, a head is no number or out of
            range, there is a cycle, no root or two, a name unknown; or all sentences are too long.
        ConfigError: no file, or a limit below 1.
    """
    return stream_sentences(
        conllu_sentences,
        CONLLU_COLUMNS,
        paths,
        trees,
        vocabs=vocabs,
        lower=lower,
        max_words=max_words,
        single_root=single_root,
    )


def conllu_sentences(path: PathLike) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file one by one, with the columns of ``CONLLU_COLUMNS``.

    Raises:
        TreeError: as :func:`stream_conllu`, but for what takes a whole sentence to see.
    """
    for block in blocks(path):
        lines = [line for line, text in block if not text.startswith("#")]
        for line, text in block:
            if not text.startswith("#"):
                _check_columns(text, path, line)
        text = "\n".join(text for _, text in block)
        parsed = parse_token_and_metadata(text, fields=_FIELDS, field_parsers=_AS_IT_IS)
        rows = [row for row in zip(lines, parsed) if not _NO_WORD.fullmatch(row[1]["id"])]
        _check_ids(rows, path, block[0][0])
        yield Sentence(
            words=[token["form"] for _, token in rows],
            heads=[head_of(token["head"], path, line) for line, token in rows],
            columns={
                name: [None if token[name] == "_" else token[name] for _, token in rows]
                for name in CONLLU_COLUMNS[1:]
            },
            lines=[line for line, _ in rows],
            line=block[0][0],
            comments=parsed.metadata,
        )


def _check_ids(rows: Sequence[tuple[int, Token]], path: PathLike, first: int) -> None:
    if not rows:
        raise TreeError(
            "expected a word in every sentence, got an empty sentence", file=path, line=first
        )
    for i, (line, token) in enumerate(rows, start=1):
        if token["id"] != str(i):
            raise TreeError(
                f"expected the integer id {i}, or one such as 3-4 or 8.1, got {token['id']!r}",
                file=path,
                line=line,
            )


def _check_columns(text: str, path: PathLike, line: int) -> None:
    columns = text.split("\t")
    if len(columns) != len(_FIELDS):
        note = "" if len(columns) > 1 else "; is this a CoNLL-U file?"
        raise TreeError(
            f"expected ten columns with tabs between them, got {len(columns)}{note}",
            file=path,
            line=line,
        )
    if "  " in text or not all(map(str.strip, columns)):
        raise TreeError(
            "expected columns that are not empty and have no two spaces in a row, got "
            f"{text[:60]!r}; an empty column is _",
            file=path,
            line=line,
        )
