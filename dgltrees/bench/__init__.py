"""Benchmarks: times of training steps with different backends on this machine."""

from dgltrees.bench.cases import CASES, Case
from dgltrees.bench.contenders import CONTENDERS, Contender
from dgltrees.bench.timing import Row, table, time_steps

__all__ = ["CASES", "CONTENDERS", "Case", "Contender", "Row", "table", "time_steps"]
