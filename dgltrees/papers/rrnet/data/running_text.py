"""Running text with a sentence per line, as language models read it: word after word.

Mikolov, Karafiát, Burget, Černocký and Khudanpur, "Recurrent neural network based language model",
INTERSPEECH 2010, have the Penn Treebank in this form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from dgltrees._files import PathLike
from dgltrees.formats.lines import chunks, gather
from dgltrees.formats.table import Format
from dgltrees.formats.text import sentences_of_lines
from dgltrees.trees.builders.sentences import chains
from dgltrees.trees.examples import Examples
from dgltrees.trees.vocabulary import Vocabulary
from dgltrees.trees.words import END, UNKNOWN

__all__ = ["TEXT", "read_running_text", "stream_running_text"]


def read_running_text(
    path: PathLike, *, vocabs: Mapping[str, Vocabulary] | None = None
) -> Examples:
    """All lines of a text; see :func:`stream_running_text`."""
    return gather(stream_running_text(path, vocabs=vocabs))


def stream_running_text(
    path: PathLike,
    trees: int = 10_000,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Iterator[Examples]:
    """The lines of a text as chains of words, ``trees`` lines at a time.

    Words are separated by spaces; the word ``<eos>`` follows the last one of a line. Lines without
    words are left out. Node column: ``word``. There are no example columns.

    Arguments:
        path: the file.
        trees: lines per chunk; the last chunk may have fewer.
        vocabs: ``{"word": vocabulary}`` to use; a new one has the words ``<unk>`` and ``<eos>``
            first. Where a word is missing from a frozen one it becomes the vocabulary's unknown
            name. All chunks share one vocabulary.

    Raises:
        TreeError: with file and line: a line is not UTF-8; or the file has no words.
        ConfigError: ``trees`` is below 1.
    """
    words = (vocabs or {}).get("word")
    if words is None:
        words = Vocabulary([UNKNOWN, END], unknown=UNKNOWN)
    lines = ([*sentence.words, END] for sentence in sentences_of_lines(path))
    for chunk in chunks(lines, trees):
        ids = words.encode(list(chain.from_iterable(chunk)))
        yield Examples(chains([len(line) for line in chunk], {"word": ids}, {"word": words}))


TEXT = Format(
    "Sentences as chains of words, one per line, spaces between words.", stream_running_text
)
