"""Samples of trees from a language model, and their files: text, CoNLL-U or SVG."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from dgltrees._files import PathLike, replacing
from dgltrees.draw import draw
from dgltrees.errors import ConfigError
from dgltrees.formats import write_conllu
from dgltrees.papers.top_down.analyses.edge_classifier import load_joint
from dgltrees.papers.top_down.analyses.scoring import language_model_settings
from dgltrees.papers.top_down.data.ordered import brackets
from dgltrees.papers.top_down.graphs import dependency_forest
from dgltrees.papers.top_down.models.sample_trees import SampledTrees, Sampling, sample_trees
from dgltrees.papers.top_down.tasks.reading import LABEL
from dgltrees.training.trained import TrainedModel
from dgltrees.trees import Forest
from dgltrees.trees.words import ROOT, UNKNOWN

TreeFormat = Literal["text", "conllu", "svg"]
TREE_FORMATS: dict[TreeFormat, str] = {"text": ".txt", "conllu": ".conllu", "svg": ".svg"}
"""The formats of a file of trees, and the suffixes of their names."""


def format_of(name: TreeFormat | None, out: PathLike | None) -> TreeFormat:
    """Return the format of a file to write."""
    if name is None and out is not None:
        ending = Path(out).suffix
        name = next((form for form, each in TREE_FORMATS.items() if each == ending), None)
        if name is None:
            raise ConfigError(
                f"expected a file whose name ends in {', '.join(TREE_FORMATS.values())}, got "
                f"{out}; or name the format"
            )
    name = name or "text"
    if out is None and name != "text":
        raise ConfigError(f"missing a file to write for the format {name}; add --out FILE")
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

    def write(self, path: PathLike, form: str) -> None:
        """Write all trees in one of the :data:`TREE_FORMATS`, atomically."""
        if form == "conllu":
            numbered = enumerate(zip(self.sentences, self.comments), start=1)
            comments = [
                {"sent_id": n, "text": text, **_rounded(comment)} for n, (text, comment) in numbered
            ]
            write_conllu(self.forest, path, comments=comments)
            return
        if form == "svg":
            text = draw(self.forest, titles=self.titles).svg
        else:
            text = "\n".join(self.sentences) + "\n"
        with replacing(path) as file:
            file.write(text)


def _rounded(comment: Mapping[str, object]) -> dict[str, object]:
    """Round all floats to six digits."""
    return {k: round(v, 6) if isinstance(v, float) else v for k, v in comment.items()}


BATCH = 256
"""Number of trees that are generated together, which limits memory."""


def sample(
    run: TrainedModel,
    number: int,
    *,
    seed: int = 0,
    sampling: Sampling | None = None,
    sample_decisions: bool = False,
    max_words: int = 100,
    unknown: bool = True,
) -> GeneratedTrees:
    """Sample trees from a language model.

    See :func:`~dgltrees.papers.top_down.models.sample_trees`.

    Arguments:
        run: a trained language model over trees that generates edges too: with a :func:`trained
            edge classifier
            <dgltrees.papers.top_down.analyses.edge_classifier.train_edge_classifier>`, or by START
            and STOP.
        number: number of trees.
        seed: seed of the random numbers; the same seed draws the same trees.
        sampling: how words are drawn.
        sample_decisions: draw the decisions too, instead of deciding at p > 0.5.
        max_words: number of words at which a tree stops growing.
        unknown: whether ``<unk>`` may be drawn.

    Returns:
        The trees in word order. Their comments have ``log_prob``, log P(S | T), ``joint_log_prob``,
        log P(S, T), and ``cut: yes`` if the tree reached ``max_words``.

    Raises:
        ConfigError: the model is not a TreeLM, it has no edge classifier, or a number is out of
            range.
    """
    model, settings = load_joint(run), language_model_settings(run)
    words = run.vocabularies["word"]
    generator = torch.Generator(run.fabric.device).manual_seed(seed)
    parts: list[SampledTrees] = []
    for first in range(0, max(1, number), BATCH):
        part = sample_trees(
            model,
            run.vocabularies,
            min(BATCH, number - first),
            root=int(words.encode([ROOT])[0]),
            max_words=max_words,
            sampling=sampling,
            sample_decisions=sample_decisions,
            excluded=() if unknown else words.encode([UNKNOWN]).tolist(),
            single_root=settings.single_root,
            generator=generator,
        )
        parts.append(part)
    comments = [comment for part in parts for comment in _comments(part)]
    return GeneratedTrees(
        dependency_forest(Forest.concat([part.forest for part in parts])),
        comments,
        [_title(comment) for comment in comments],
        LABEL in run.vocabularies,
    )


def _comments(part: SampledTrees) -> Iterator[dict[str, object]]:
    joint = part.log_prob + part.edge_log_prob
    for p, q, cut in zip(part.log_prob.tolist(), joint.tolist(), part.truncated.tolist()):
        yield {"log_prob": p, "joint_log_prob": q, **({"cut": "yes"} if cut else {})}


def _title(comment: dict[str, object]) -> str:
    return f"log P = {comment['joint_log_prob']:.2f}" + (", cut" if "cut" in comment else "")
