"""Trees that a model has made, as sentences, as CoNLL-U or as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from dgltrees._files import PathLike, replacing
from dgltrees.draw import Picture, draw, draw_arcs
from dgltrees.errors import ConfigError
from dgltrees.formats import write_conllu
from dgltrees.trees import Forest
from dgltrees.trees.builders.ordered import brackets

__all__ = ["FORMATS", "MadeTrees", "format_of"]

FORMATS = {"text": ".txt", "conllu": ".conllu", "svg": ".svg"}
"""What trees are written as, and how the files' names end."""


def format_of(name: Optional[str], out: Optional[PathLike]) -> str:
    """The format that is asked for by its name; else by the ending of ``out``, else ``"text"``.

    Raises:
        ConfigError: there is no such format or ending, or a format wants a file and there is none.
    """
    if name is None and out is not None:
        ending = Path(out).suffix
        name = next((form for form, own in FORMATS.items() if own == ending), None)
        if name is None:
            raise ConfigError(
                f"expected --out to end in {', '.join(FORMATS.values())}, or --format, got {out}"
            )
    name = name or "text"
    if name not in FORMATS:
        raise ConfigError(f"expected --format to be one of {', '.join(FORMATS)}, got {name!r}")
    if out is None and name != "text":
        raise ConfigError(f"expected --out FILE for the format {name}, got none")
    return name


@dataclass(frozen=True)
class MadeTrees:
    """Dependency trees, and what there is to say of them.

    Arguments:
        forest: the trees.
        comments: what is known of each tree, as CoNLL-U has it above the tree.
        titles: a line above the picture of each tree.
        heads: whether nodes are heads of others; else the trees are ordered ones, such as
            :func:`~dgltrees.trees.builders.right_branching` makes.
    """

    forest: Forest
    comments: Sequence[Mapping[str, object]]
    titles: Sequence[str]
    heads: bool = True

    @property
    def sentences(self) -> list[str]:
        """The words of each tree in their order; without heads, brackets."""
        if not self.heads:
            return brackets(self.forest)
        names = self.forest.vocabs["word"].decode(self.forest.columns["word"])
        bounds = self.forest.offsets.tolist()
        return [" ".join(names[first + 1 : stop]) for first, stop in zip(bounds, bounds[1:])]

    @property
    def picture(self) -> Picture:
        """Arcs over the words, as in the paper's Figure 5; without heads, trees."""
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
            above = [{"sent_id": n, "text": text, **_short(about)} for n, (text, about) in numbered]
            write_conllu(self.forest, path, comments=above)
            return
        text = self.picture.svg if form == "svg" else "\n".join(self.sentences) + "\n"
        with replacing(path) as file:
            file.write(text)


def _short(about: Mapping[str, object]) -> dict[str, object]:
    """Six digits are enough to read."""
    return {k: round(v, 6) if isinstance(v, float) else v for k, v in about.items()}
