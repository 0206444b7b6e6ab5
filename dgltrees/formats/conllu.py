"""Dependency treebanks in ten columns: CoNLL-U, and CoNLL-X before it.

Universal Dependencies, https://universaldependencies.org/format.html; Buchholz & Marsi, "CoNLL-X
Shared Task on Multilingual Dependency Parsing", CoNLL 2006.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat

import numpy as np
from conllu import Metadata, Token, TokenList, parse_token_and_metadata

from dgltrees._files import PathLike, replacing
from dgltrees.errors import TreeError
from dgltrees.formats.conllu_checks import FIELDS, check_lines, check_text, words_of
from dgltrees.formats.sentences import Sentence, blocks, head_of, read_sentences, stream_sentences
from dgltrees.formats.table import Format
from dgltrees.trees.check import check_roots
from dgltrees.trees.examples import Examples
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = [
    "CONLLU",
    "CONLLU_COLUMNS",
    "conllu_blocks",
    "conllu_sentences",
    "read_conllu",
    "stream_conllu",
    "write_conllu",
]

CONLLU_COLUMNS = ("word", "upos", "xpos", "deprel")
_PARSED_BY_DEFAULT = ("id", "xpos", "feats", "head", "deps", "misc")  # by the library conllu
_UNPARSED = {field: (lambda fields, i: fields[i]) for field in _PARSED_BY_DEFAULT}
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f]| {2}|^\s|\s$|^$")  # in a name


def read_conllu(
    paths: PathLike | Sequence[PathLike],
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    lower: bool = False,
    min_count: int = 1,
    max_words: int | None = None,
    single_root: bool = True,
) -> Examples:
    """All sentences of one or several CoNLL-U files; see :func:`stream_conllu`.

    Arguments:
        min_count: words that occur less often in these files become ``<unk>``, and the vocabulary
            of words is frozen; 1, the default, keeps every word.

    Raises:
        ConfigError: ``min_count`` is below 1, or above 1 although ``vocabs`` has the words.
    """
    stream = stream_conllu(
        paths, vocabs=vocabs, lower=lower, max_words=max_words, single_root=single_root
    )
    return read_sentences(stream, vocabs, min_count)


def stream_conllu(
    paths: PathLike | Sequence[PathLike],
    trees: int = 10_000,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    lower: bool = False,
    max_words: int | None = None,
    single_root: bool = True,
) -> Iterator[Examples]:
    """The sentences of one or several CoNLL-U files as dependency trees, ``trees`` at a time.

    Node 0 of a tree is ROOT, node i is the i-th word, and a node's parent is its head. Multiword
    tokens (``3-4``) and empty nodes (``8.1``) are not in the tree. In CoNLL-X files, ``upos`` and
    ``xpos`` are the coarse and the fine tag.

    Node columns: ``word``, which is ``<root>`` at ROOT; ``upos``, ``xpos`` and ``deprel``, -1 at
    ROOT and where the file has ``_``. There are no example columns.

    Arguments:
        paths: a file, or files in the order to read them; no chunk holds sentences of two files.
        trees: sentences per chunk; the last chunk of a file may have fewer.
        vocabs: vocabularies to use, by column; where a name is missing from a frozen one it is an
            error, or becomes the vocabulary's unknown name. All chunks share them.
        lower: turn words to lower case.
        max_words: leave out longer sentences; a warning per file says how many.
        single_root: whether a second word below ROOT is an error, as in Universal Dependencies;
            CoNLL-X allows it.

    Raises:
        TreeError: with file and line: a file is empty or not UTF-8, a line does not have ten
            columns, a sentence has no words, or not those of its comment ``# text = ...``, ids are
            not 1, 2, 3 and so on, a multiword token, empty node or comment is out of place, a head
            is not a number or out of range, there is a cycle, no root or a second one, or a name is
            not in a frozen vocabulary; or all sentences are too long.
        ConfigError: there is no file, or a limit is below 1.
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


def conllu_sentences(path: PathLike, *, heads: bool = True) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file one by one, with the columns of :data:`CONLLU_COLUMNS`.

    Arguments:
        path: the file.
        heads: whether to read the heads, which may otherwise be anything, such as ``_``.

    Raises:
        TreeError: with file and line: as :func:`stream_conllu`; heads out of range, cycles and
            roots are not checked.
    """
    for block in blocks(path):
        lines = check_lines(block, path)
        whole = "\n".join(text for _, text in block)
        parsed = parse_token_and_metadata(whole, fields=FIELDS, field_parsers=_UNPARSED)
        all_rows = [*zip(lines, parsed)]
        rows = words_of(all_rows, path, block[0][0])
        check_text(all_rows, parsed.metadata.get("text"), path)
        yield Sentence(
            words=[token["form"] for _, token in rows],
            heads=[head_of(token["head"], path, line) for line, token in rows] if heads else [],
            columns={
                name: [None if token[name] == "_" else token[name] for _, token in rows]
                for name in CONLLU_COLUMNS[1:]
            },
            lines=[line for line, _ in rows],
            line=block[0][0],
            comments=parsed.metadata,
        )


def write_conllu(
    forest: Forest,
    path: PathLike,
    *,
    comments: Sequence[Mapping[str, object]] | None = None,
) -> None:
    """Write a dependency forest as a CoNLL-U file, which :func:`read_conllu` reads back.

    Arguments:
        forest, comments: see :func:`conllu_blocks`.
        path: the file; it is replaced once all is written.

    Raises:
        TreeError: see :func:`conllu_blocks`.
    """
    with replacing(path) as file:
        file.writelines(conllu_blocks(forest, comments=comments))


def conllu_blocks(
    forest: Forest, *, comments: Sequence[Mapping[str, object]] | None = None
) -> Iterator[str]:
    """The CoNLL-U text of each tree of a dependency forest, with a blank line at its end.

    Columns that the forest lacks, and columns other than ``word``, ``upos``, ``xpos`` and
    ``deprel``, are written as ``_``.

    Arguments:
        forest: dependency trees whose node 0 is ROOT.
        comments: a mapping per tree; its items are written above the tree, ``# key = value``.

    Raises:
        TreeError: node 0 of a tree is not its root, a tree has no words, a node has no word, a
            name has a control character (tabs and line ends too), double or outer space, a comment
            has a line end, or the
            number of comments is not that of trees.
    """
    _check_forest(forest)
    _check_comments(forest, comments)
    columns = [_names(forest, column) for column in CONLLU_COLUMNS]
    parent = forest.parent.tolist()
    for tree, comment in zip(range(len(forest)), comments or repeat({})):
        first, stop = forest.offsets[tree : tree + 2].tolist()
        tokens = [
            _token(node - first, parent[node], *(names[node] for names in columns))
            for node in range(first + 1, stop)
        ]
        metadata = Metadata({key: str(value) for key, value in comment.items()})
        yield TokenList(tokens, metadata).serialize()


def _token(number: int, head: int, word: str, upos: str, xpos: str, deprel: str) -> Token:
    return Token(
        id=number,
        form=word,
        lemma=None,
        upos=upos,
        xpos=xpos,
        feats=None,
        head=head,
        deprel=deprel,
        deps=None,
        misc=None,
    )


def _names(forest: Forest, column: str) -> list[str]:
    """The names of a column, ``_`` where a node has none."""
    if column not in forest.columns:
        return ["_"] * forest.num_nodes
    if column not in forest.vocabs:
        raise TreeError(f"expected a vocabulary {column!r}, got {list(forest.vocabs)}")
    ids = forest.columns[column]
    for name in forest.vocabs[column].decode(np.unique(ids[ids >= 0])):
        if _UNWRITABLE.search(name):
            raise TreeError(
                f"expected names without control characters, double or outer spaces in column "
                f"{column!r}, got {name!r}"
            )
    names = forest.vocabs[column].names
    return [names[i] if i >= 0 else "_" for i in ids.tolist()]


def _check_forest(forest: Forest) -> None:
    check_roots(forest)
    if "word" not in forest.columns:
        raise TreeError(f"expected a column 'word', got the columns {list(forest.columns)}")
    wordless = forest.sizes < 2
    wordless[forest.tree_of_node[(forest.columns["word"] < 0) & (forest.parent >= 0)]] = True
    if wordless.any():
        raise TreeError(
            "expected a word at each node, and one below ROOT, got none",
            tree=int(np.argmax(wordless)),
        )


def _check_comments(forest: Forest, comments: Sequence[Mapping[str, object]] | None) -> None:
    if comments is None:
        return
    if len(comments) != len(forest):
        raise TreeError(f"expected comments for each of {len(forest)} trees, got {len(comments)}")
    for tree, comment in enumerate(comments):
        for text in (f"{key} = {value}" for key, value in comment.items()):
            if "\n" in text or "\r" in text:
                raise TreeError(f"expected comments of one line, got {text!r}", tree=tree)


def _write_conllu(examples: Examples, path: PathLike) -> None:
    write_conllu(examples.forest, path)


CONLLU = Format(
    "Dependency trees as CoNLL-U or CoNLL-X, a word per line in ten columns.",
    partial(stream_conllu, single_root=False),
    _write_conllu,
    suffixes=(".conllu", ".conll"),
    first_line=r"# ?\w+.* = |1(-\d+)?\t([^\t]+\t){8}",
    dependencies=True,
)
