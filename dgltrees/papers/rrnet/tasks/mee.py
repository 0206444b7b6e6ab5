"""Math expression evaluation: the value of a bracketed expression, digit by digit.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018), section 3.1. All encoders read the
characters and have the same decoder; an answer is right if all its digits are. Accuracy is also
reported by the number of operators.
"""

from __future__ import annotations

from collections.abc import Iterator

from dgltrees._files import PathLike
from dgltrees.formats import FORMATS
from dgltrees.papers.rrnet.data.mee import stream_mee
from dgltrees.papers.rrnet.tasks.settings import ReaderModel
from dgltrees.tasks.sequences import ReaderTask
from dgltrees.tasks.settings import OperatorSettings
from dgltrees.tasks.task import Names
from dgltrees.trees import Examples

__all__ = ["MEE"]

_MANY_OPERATORS = 99


def _read(
    path: PathLike, settings: OperatorSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[Examples]:
    return stream_mee(path, trees, labeled=labeled)


MEE = ReaderTask(
    "mee",
    OperatorSettings,
    ReaderModel,
    {"mee": _read},
    max_children=1,
    breakdown=("operators", _MANY_OPERATORS),
    reads=FORMATS["mee"].description,
)
