"""Generated trees as sentences, as CoNLL-U or as pictures."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dgltrees._files import PathLike, replacing
from dgltrees.draw import Picture, draw, draw_arcs
from dgltrees.errors import ConfigError
from dgltrees.formats import write_conllu
from dgltrees.papers.top_down.data.ordered import brackets
from dgltrees.trees import Forest

__all__ = ["FORMATS", "GeneratedTrees", "TreeFormat", "format_of"]

TreeFormat = Literal["text", "conllu", "svg"]
FORMATS: dict[TreeFormat, str] = {"text": ".txt", "conllu": ".conllu", "svg": ".svg"}
"""The formats of a file of trees, and the endings of their names."""


def format_of(name: TreeFormat | None, out: PathLike | None) -> TreeFormat:
    """The format of a file to write.

    Arguments:
        name: its name; by default it follows from the ending of ``out``, or is ``"text"``.
        out: the file; None for standard output, which supports only text.

    Raises:
        ConfigError: there is no such ending, or the format needs a file.
    """
    if name is None and out is not None:
        ending = Path(out).suffix
        name = next((form for form, each in FORMATS.items() if each == ending), None)
        if name is None:
            raise ConfigError(
                f"expected a file whose name ends in {', '.join(FORMATS.values())}, got {out}; or "
                "name the format"
            )
    name = name or "text"
    if out is None and name != "text":
        raise ConfigError(f"expected a file to write (out) for the format {name}, got none")
    return name


@dataclass(frozen=True)
class GeneratedTrees:
    """Generated dependency trees with their scores.

    Arguments:
        forest: the trees, T of them.
        comments: T mappings, written as comments above each tree in CoNLL-U.
        titles: T titles of the pictures.
        heads: whether these are dependency trees; otherwise they are ordered trees, such as those
            of :func:`~dgltrees.papers.top_down.data.ordered.right_branching`.
    """

    forest: Forest
    comments: Sequence[Mapping[str, object]]
    titles: Sequence[str]
    heads: bool = True

    @property
    def sentences(self) -> list[str]:
        """The words of each tree in order; for trees without heads, a bracketed string."""
        if not self.heads:
            return brackets(self.forest)
        names = self.forest.vocabs["word"].decode(self.forest.columns["word"])
        bounds = self.forest.offsets.tolist()
        return [" ".join(names[first + 1 : stop]) for first, stop in itertools.pairwise(bounds)]

    @property
    def picture(self) -> Picture:
        """Arcs over the words, as in the paper's Figure 5; for trees without heads, boxes."""
        if self.heads:
            return draw_arcs(self.forest, titles=self.titles)
        return draw(self.forest, labels="word", titles=self.titles)

    def write(self, path: PathLike, form: str) -> None:
        """Write all trees in one of the :data:`FORMATS`, atomically.

        Raises:
            TreeError: the picture would be too large.
        """
        if form == "conllu":
            numbered = enumerate(zip(self.sentences, self.comments), start=1)
            comments = [
                {"sent_id": n, "text": text, **_rounded(comment)} for n, (text, comment) in numbered
            ]
            write_conllu(self.forest, path, comments=comments)
            return
        text = self.picture.svg if form == "svg" else "\n".join(self.sentences) + "\n"
        with replacing(path) as file:
            file.write(text)


def _rounded(comment: Mapping[str, object]) -> dict[str, object]:
    """Round all floats to six digits."""
    return {k: round(v, 6) if isinstance(v, float) else v for k, v in comment.items()}
