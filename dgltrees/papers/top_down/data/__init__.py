"""The data of top-down TreeLSTMs."""

from dgltrees.papers.top_down.data.dp import (
    read_dp,
    stream_dp,
)
from dgltrees.papers.top_down.data.kbest import (
    KBest,
    read_kbest,
)
from dgltrees.papers.top_down.data.ordered import (
    brackets,
    constituents,
    right_branching,
)
from dgltrees.papers.top_down.data.questions import (
    Question,
    read_answers,
    read_questions,
)

__all__ = [
    "KBest",
    "Question",
    "brackets",
    "constituents",
    "read_answers",
    "read_dp",
    "read_kbest",
    "read_questions",
    "right_branching",
    "stream_dp",
]
