"""Running text, a sentence a line, as language models read it: one word after the other."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Optional

from dgltrees._files import PathLike
from dgltrees.formats.text import sentences_of_lines
from dgltrees.trees.builders.chains import chains
from dgltrees.trees.examples import Examples
from dgltrees.trees.vocabulary import Vocabulary
from dgltrees.trees.words import UNKNOWN

__all__ = ["END", "read_running_text"]

END = "<eos>"
"""The word at the end of each line."""


def read_running_text(
    path: PathLike, *, vocabs: Optional[Mapping[str, Vocabulary]] = None
) -> Examples:
    """The lines of a text, words with spaces between them, each as a chain that ends with an END.

    Mikolov, Karafiát, Burget, Černocký and Khudanpur, "Recurrent neural network based language
    model" (INTERSPEECH 2010), have the Penn Treebank in this form. Lines without a word are passed
    over. Node column: ``word``. There are no example columns.

    Arguments:
        path: the file.
        vocabs: ``{"word": vocabulary}`` to use; a frozen one turns unknown words to ``<unk>``.

    Raises:
        TreeError: with file and line: a line is not UTF-8; or there is no word.
    """
    vocab = (vocabs or {}).get("word")
    vocab = Vocabulary([UNKNOWN, END], unknown=UNKNOWN) if vocab is None else vocab
    lines = [[*sentence.words, END] for sentence in sentences_of_lines(path)]
    word = vocab.encode(list(chain.from_iterable(lines)))
    return Examples(chains([len(line) for line in lines], {"word": word}, {"word": vocab}))
