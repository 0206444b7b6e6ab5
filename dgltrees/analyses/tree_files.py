"""Trees that a model has generated, as sentences, as CoNLL-U or as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Optional

from dgltrees._files import PathLike, replacing
from dgltrees.draw import Picture, draw, draw_arcs
from dgltrees.errors import ConfigError
from dgltrees.formats import write_conllu
from dgltrees.trees import Forest
from dgltrees.trees.builders.ordered import brackets

__all__ = ["FORMATS", "GeneratedTrees", "TreeFormat", "format_of"]

TreeFormat = Literal["text", "conllu", "svg"]
FORMATS: dict[TreeFormat, str] = {"text": ".txt", "conllu": ".conllu", "svg": ".svg"}
"""The formats of a file of trees, and the endings of their names."""


def format_of(name: Optional[TreeFormat], out: Optional[PathLike]) -> TreeFormat:
    """The format of a file to write.

    Arguments:
        name: its name; by default the ending of ``out`` decides, and without both it is ``"text"``.
        out: the file; None for standard output, which has text alone.

    Raises:
        ConfigError: there is no such ending, or the format needs a file.
    """
    if name is None and out is not None:
        ending = Path(out).suffix
        name = next((form for form, each in FORMATS.items() if each == ending), None)
        if name is None:
            raise ConfigError(
                f"expected --out to end in {', '.join(FORMATS.values())}, or --format, got {out}"
            )
    name = name or "text"
    if out is None and name != "text":
        raise ConfigError(f"expected --out FILE for the format {name}, got none")
    return name


@dataclass(frozen=True)
class GeneratedTrees:
    """Dependency trees of a model, with their scores.

    Arguments:
        forest: the trees, T of them.
        comments: T mappings, whose entries CoNLL-U has as comments above each tree.
        titles: T lines, each above the picture of a tree.
        heads: whether nodes are heads of others; else the trees are ordered ones, such as
            :func:`~dgltrees.trees.builders.right_branching` makes.
    """

    forest: Forest
    comments: Sequence[Mapping[str, object]]
    titles: Sequence[str]
    heads: bool = True

    @property
    def sentences(self) -> list[str]:
        """The words of each tree in their order; of trees without heads, brackets."""
        if not self.heads:
            return brackets(self.forest)
        names = self.forest.vocabs["word"].decode(self.forest.columns["word"])
        bounds = self.forest.offsets.tolist()
        return [" ".join(names[first + 1 : stop]) for first, stop in zip(bounds, bounds[1:])]

    @property
    def picture(self) -> Picture:
        """Arcs over the words, as in the paper's Figure 5; of trees without heads, the trees."""
        if self.heads:
            return draw_arcs(self.forest, titles=self.titles)
        return draw(self.forest, labels="word", titles=self.titles)

    def write(self, path: PathLike, form: str) -> None:
        """Write all trees in one of the :data:`FORMATS`, whole or not at all.

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
    """Six digits are enough to read."""
    return {k: round(v, 6) if isinstance(v, float) else v for k, v in comment.items()}
