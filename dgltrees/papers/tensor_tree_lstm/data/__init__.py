"""The data of tensor Tree-LSTMs."""

from dgltrees.papers.tensor_tree_lstm.data.boolsent import (
    BOOLSENT_OPERATORS,
    read_boolsent,
    stream_boolsent,
)
from dgltrees.papers.tensor_tree_lstm.data.inex import (
    read_inex,
    stream_inex,
)
from dgltrees.papers.tensor_tree_lstm.data.listops import (
    LISTOPS_OPERATORS,
    read_listops,
    stream_listops,
    write_listops,
)

__all__ = [
    "BOOLSENT_OPERATORS",
    "LISTOPS_OPERATORS",
    "read_boolsent",
    "read_inex",
    "read_listops",
    "stream_boolsent",
    "stream_inex",
    "stream_listops",
    "write_listops",
]
