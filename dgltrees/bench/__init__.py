"""The speed of this machine: times of training steps, side by side and as ratios."""

from dgltrees.bench.cases import CASES, Case
from dgltrees.bench.contenders import CONTENDERS, Contender
from dgltrees.bench.timing import Row, table, time_steps

__all__ = ["CASES", "CONTENDERS", "Case", "Contender", "Row", "table", "time_steps"]
