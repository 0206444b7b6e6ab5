"""The laws of cells on devices, over full trees."""

import torch

from dgltrees import TreeBatch
from dgltrees.cells import BaseCell
from dgltrees.papers.nti.graphs import full_trees
from tests.cells.reference import given_query
from tests.cells.table import CHILDREN, INPUT, TABLE, Row
from tests.gpu.test_cuda import (  # noqa: F401
    test_a_batch_travels,
    test_autocast,
    test_the_numbers_of_the_cpu,
)
from tests.gpu.test_cuda import test_no_stream_waits as test_no_stream_waits_on_cuda  # noqa: F401
from tests.gpu.test_meta import test_no_stream_waits  # noqa: F401
from tests.gpu.worlds import World

NODE_FUNCTIONS = ("nti_lstm", "chainer_nti_lstm", "nti_attention")
"""Cells that run over full trees."""


def _of_full_trees(row: Row) -> tuple[BaseCell, TreeBatch]:
    batch = full_trees([4, 1, 3], CHILDREN)
    x = torch.linspace(-1, 1, batch.num_nodes * INPUT).double().sin().view(-1, INPUT)
    return row.make(), batch.with_data({"x": x, "q": given_query(x)})


WORLDS = [
    World(f"{r} on full trees", lambda r=r: _of_full_trees(r))
    for r in TABLE
    if r.cell in NODE_FUNCTIONS
]
