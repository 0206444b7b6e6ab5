"""Logical relations between sentences that are read token by token.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018), section 3.2. The pairs, files, splits and
reports are those of the task ``logic``; brackets are tokens that split and merge. Encodings are
compared by an MLP over them, their difference and their product: with the bilinear layer of
``logic``, sequential encoders learn far more slowly.
"""

from __future__ import annotations

from collections.abc import Iterator

from dgltrees._files import PathLike
from dgltrees.formats import FORMATS
from dgltrees.papers.rrnet.data.logic_sequences import stream_logic_sequences
from dgltrees.papers.rrnet.tasks.settings import PairReaderModel
from dgltrees.tasks.sequences import ReaderTask
from dgltrees.tasks.settings import OperatorSettings
from dgltrees.tasks.task import Names
from dgltrees.trees import Examples

__all__ = ["LOGIC_SEQUENCE"]


def _read(
    path: PathLike, settings: OperatorSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[Examples]:
    return stream_logic_sequences(path, trees, labeled=labeled)


LOGIC_SEQUENCE = ReaderTask(
    "logic-sequence",
    OperatorSettings,
    PairReaderModel,
    {"logic": _read},
    max_children=1,
    breakdown=("operators", 12),
    reads=FORMATS["logic"].description,
)
