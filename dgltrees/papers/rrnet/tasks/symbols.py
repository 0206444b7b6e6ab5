"""Tasks on sequences of symbols: math expressions, and LRT without its trees.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018), sections 3.1 and 3.2. Brackets are tokens
that split and merge.

- ``mee``: the value of a bracketed expression, digit by digit. All encoders have the same decoder.
  An answer is right if all its digits are. Accuracy is also reported by the number of operators.
- ``lrt-sequence``: the logical relation of two sentences. The pairs, files, splits and reports
  are those of the task ``lrt``. An MLP compares the encodings from both, their difference and their
  product. With the bilinear layer of ``lrt``, sequential encoders learn far more slowly.
"""

from __future__ import annotations

from dgltrees.formats import FORMATS
from dgltrees.papers.rrnet.data.lrt_sequences import stream_lrt_sequences
from dgltrees.papers.rrnet.data.mee import stream_mee
from dgltrees.papers.rrnet.tasks.settings import PairReaderModel, ReaderModel
from dgltrees.tasks.sequences import ReaderTask
from dgltrees.tasks.settings import OperatorSettings
from dgltrees.tasks.task import reader_of

_MANY_OPERATORS = 99


MEE = ReaderTask(
    "mee",
    OperatorSettings,
    ReaderModel,
    {"mee": reader_of(stream_mee)},
    max_children=1,
    breakdown=("operators", _MANY_OPERATORS),
    reads=FORMATS["mee"].description,
)

LRT_SEQUENCE = ReaderTask(
    "lrt-sequence",
    OperatorSettings,
    PairReaderModel,
    {"lrt": reader_of(stream_lrt_sequences)},
    max_children=1,
    breakdown=("operators", 12),
    reads=FORMATS["lrt"].description,
)
