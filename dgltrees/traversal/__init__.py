"""Schedules, and the traversal that runs a cell over a graph."""

from dgltrees.traversal.functions import is_traced
from dgltrees.traversal.levels import run
from dgltrees.traversal.plan import Level, Schedule, make_schedule
from dgltrees.traversal.propagate import (
    bfs_nodes_generator,
    dfs_edges_generator,
    prop_edges,
    prop_edges_dfs,
    prop_nodes,
    prop_nodes_bfs,
    topological_nodes_generator,
)
from dgltrees.traversal.topo import Cell, prop_nodes_topo, run_cell, schedule_of
from dgltrees.traversal.views import Edges, IndexedRows, Nodes
from dgltrees.traversal.ways import accepts_indexed, compiled_states, compiled_way

__all__ = [
    "Cell",
    "Edges",
    "IndexedRows",
    "Level",
    "Nodes",
    "Schedule",
    "accepts_indexed",
    "bfs_nodes_generator",
    "compiled_states",
    "compiled_way",
    "dfs_edges_generator",
    "is_traced",
    "make_schedule",
    "prop_edges",
    "prop_edges_dfs",
    "prop_nodes",
    "prop_nodes_bfs",
    "prop_nodes_topo",
    "run",
    "run_cell",
    "schedule_of",
    "topological_nodes_generator",
]
