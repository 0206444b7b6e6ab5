"""Language modelling of running text, word by word.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018), section 3.3. Files have one sentence per
line, or trees. Every word and every end of a line is predicted once, from all words before it in
its stream. Decisions of a policy depend only on the prefix, so the perplexities of all models are
comparable. Perplexities with gold operations are not, since the trees depend on later words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats import FORMATS, format_by_suffix
from dgltrees.formats.lines import first_line, gather
from dgltrees.papers.rrnet.data.running_text import stream_running_text, stream_running_trees
from dgltrees.papers.rrnet.data.windows import WindowSampler
from dgltrees.papers.rrnet.models.language_model import PLACE, StreamLM
from dgltrees.papers.rrnet.tasks.text_settings import StreamModel, StreamSettings
from dgltrees.tasks.sequences import ReaderTask
from dgltrees.tasks.task import LOSS, PERPLEXITY, Columns, Names, perplexity
from dgltrees.trees import Forest, LabeledTrees, TreeBatch
from dgltrees.trees.constituents import MERGES, SPLITS
from dgltrees.trees.segments import within

STREAMS, LEAST = 10, 1000
"""The number of streams in evaluation, and the least number of words of each, so that short texts
have fewer. Every stream starts without context."""

_LAST = {"length": 30, "depth": 10, "merges": 4}
"""The last value of each breakdown of the perplexity, which includes all higher ones."""

_NO_EDGES = torch.empty(0, dtype=torch.long)


@dataclass(frozen=True)
class StreamTask(ReaderTask):
    """Language modelling of streams: examples are lines, rows are words, batches are windows.

    The ids of a batch are the indices of its words, ``(B, T)``.
    """

    has_majority = False

    def format_of(self, path: PathLike) -> str:
        """Return ``text``, whose reader recognises trees, as in training and evaluation."""
        return "text"

    def targets(self, data: LabeledTrees) -> NDArray[np.int64]:
        """Return all words, ``(N,)``."""
        return np.asarray(data.forest.columns["word"], dtype=np.int64)

    def rows(self, data: LabeledTrees, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the words that a batch predicts."""
        return np.asarray(ids[ids >= 0])

    def batch(self, data: LabeledTrees, ids: NDArray[np.int64]) -> tuple[TreeBatch, Tensor]:
        """Return the words that each stream consumes, and the words to predict after them.

        The first input of a stream is the word before it. For the first stream of the text it is
        the last word, END.
        """
        words, rows = self.targets(data), self.rows(data, ids)
        columns = {name: column[rows - 1] for name, column in data.forest.columns.items()}
        sizes = np.count_nonzero(ids >= 0, axis=1)
        # the first stream begins at place 0 of the text, and all have read as far as it
        place = ids[0, 0] + within(sizes)
        ndata = {name: torch.from_numpy(column).long() for name, column in columns.items()}
        ndata[PLACE] = torch.from_numpy(place)
        batch = TreeBatch(_NO_EDGES, _NO_EDGES, torch.from_numpy(sizes), ndata=ndata)
        return batch, torch.from_numpy(words[rows])

    def training_batches(
        self, data: LabeledTrees, settings: StreamSettings, batch_size: int
    ) -> WindowSampler:
        """Return the windows of ``batch_size`` streams of the text."""
        words = len(self.targets(data))
        return WindowSampler(words, streams=batch_size, window=settings.window)

    def evaluation_batches(self, data: LabeledTrees, max_nodes: int) -> list[NDArray[np.int64]]:
        """Return the windows of up to ten streams of the text, each of at least 1,000 words."""
        words = len(self.targets(data))
        streams = min(STREAMS, max(1, words // LEAST))
        return WindowSampler(words, streams=streams, window=max(1, max_nodes // streams)).batches()

    def outputs(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> dict[str, Tensor]:
        """Compute the ``loss`` of each word and the counts of operations before it, ``(R,)`` each.

        The counts are ``splits`` and ``merges``, and ``gave``, the operations from the data.
        """
        return cast(StreamLM, model).outputs(batch, targets)

    def word_parameters(self, model: nn.Module) -> Iterable[Tensor]:
        """Return the parameters of the word vectors and of the output layer, which may be tied."""
        lm = cast(StreamLM, model)
        return (lm.output, *lm.encoder.input.parameters())

    def report(
        self, data: LabeledTrees, outputs: Columns, majority: Mapping[str, int]
    ) -> dict[str, Any]:
        """Report ``loss``, the mean over words and ends of lines in nats, perplexity and counts.

        ``perplexity_by_length`` is that of sentences of 0 to 9, 10 to 19 words, and so on. With
        trees, ``perplexity_by_depth`` is that of words below a number of subtrees, and
        ``perplexity_by_merges`` that of words before which a number of subtrees end.

        For an RRNet, ``splits`` and ``merges`` are the numbers of these operations per word. With
        gold operations, which depend on later words, ``gold_operations`` is true.
        """
        loss = float(outputs["loss"].mean())
        report: dict[str, Any] = {
            "loss": loss,
            "perplexity": perplexity(loss),
            "words": len(outputs["loss"]),
            "examples": len(data),
            **_breakdowns(data.forest, outputs["loss"]),
        }
        for name in ("splits", "merges"):
            if (outputs[name] >= 0).all():
                report[name] = float(outputs[name].mean())
        if (outputs["gave"] > 0).any():
            report["gold_operations"] = True
        return report

    def predictions(self, data: LabeledTrees, outputs: Columns) -> Iterator[dict[str, Any]]:
        """Yield for each line ``example``, its ``log_prob`` given earlier lines, and ``words``.

        ``log_prob`` includes the end of the line, ``words`` does not. If a file is read in parts,
        each part begins without context; so does each of the streams that evaluate a long part.
        """
        losses = np.add.reduceat(outputs["loss"], data.forest.offsets[:-1])
        for example, (loss, size) in enumerate(zip(losses.tolist(), data.forest.sizes.tolist())):
            yield {"example": example, "log_prob": round(-loss, 6), "words": size - 1}


def _breakdowns(forest: Forest, losses: NDArray[np.float64]) -> dict[str, dict[str, float]]:
    columns, sizes = forest.columns, forest.sizes
    values = {"length": np.repeat((sizes - 1) // 10 * 10, sizes)}
    if MERGES in columns:
        values["depth"] = np.cumsum(columns[SPLITS] - columns[MERGES])
        values["merges"] = columns[MERGES]
    report: dict[str, dict[str, float]] = {}
    for name, each in values.items():
        last = _LAST[name]
        each = np.minimum(each, last)
        report[f"perplexity_by_{name}"] = {
            f"{v}+" if v == last else f"{v}": perplexity(float(losses[each == v].mean()))
            for v in np.unique(each)
        }
    return report


def _read(
    path: PathLike, settings: StreamSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[LabeledTrees]:
    form = format_by_suffix(path)
    if form is None and re.match(r"\( ?([^\s()]+ )?\(", first_line(path)):
        form = "mrg"  # trees in a file of another suffix
    if form not in (None, "text", "mrg"):
        raise TreeError(f"expected lines of words or trees in brackets, got {form}", file=path)
    parts = (stream_running_trees if form == "mrg" else stream_running_text)(
        path, trees, vocabs=vocabs
    )
    # training and evaluation read streams from many places of a text; prediction reads in parts
    return iter([gather(parts)]) if labeled else parts


def _read_brackets(
    path: PathLike, settings: StreamSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[LabeledTrees]:
    return stream_running_trees(path, trees, vocabs=vocabs)


PTB = StreamTask(
    "ptb",
    StreamSettings,
    StreamModel,
    {"text": _read, "mrg": _read_brackets},
    nodes=True,
    max_children=1,
    metrics=(PERPLEXITY, LOSS),
    stateful=True,
    reads=f"{FORMATS['text'].description} Or trees: {FORMATS['mrg'].description}",
)
