"""Schedules, and the traversal that runs a cell over a graph."""

from dgltrees.traversal.functions import is_traced
from dgltrees.traversal.levels import run
from dgltrees.traversal.order import topological_nodes_generator
from dgltrees.traversal.plan import Level, Schedule, make_schedule
from dgltrees.traversal.topo import Cell, prop_nodes_topo, run_cell, schedule_of
from dgltrees.traversal.views import Edges, IndexedRows, Nodes
from dgltrees.traversal.ways import compiled_states, compiled_way

__all__ = [
    "Cell",
    "Edges",
    "IndexedRows",
    "Level",
    "Nodes",
    "Schedule",
    "compiled_states",
    "compiled_way",
    "is_traced",
    "make_schedule",
    "prop_nodes_topo",
    "run",
    "run_cell",
    "schedule_of",
    "topological_nodes_generator",
]
