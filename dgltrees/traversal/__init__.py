"""Schedules, and the traversal that runs a cell over a graph."""

from dgltrees.traversal.levels import run
from dgltrees.traversal.plan import make_schedule
from dgltrees.traversal.schedule import Level, Schedule
from dgltrees.traversal.topo import Cell, prop_nodes_topo, schedule_of, traverse
from dgltrees.traversal.views import Edges, Nodes, Shared

__all__ = [
    "Cell",
    "Edges",
    "Level",
    "Nodes",
    "Schedule",
    "Shared",
    "make_schedule",
    "prop_nodes_topo",
    "run",
    "schedule_of",
    "traverse",
]
