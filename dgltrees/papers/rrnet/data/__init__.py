"""The data of RRNet."""

from dgltrees.papers.rrnet.data.logic_sequences import (
    LOGIC_TOKENS,
    read_logic_sequences,
    stream_logic_sequences,
)
from dgltrees.papers.rrnet.data.mee import (
    MEE_ALPHABET,
    read_mee,
    stream_mee,
)
from dgltrees.papers.rrnet.data.running_text import (
    read_running_text,
    stream_running_text,
)

__all__ = [
    "LOGIC_TOKENS",
    "MEE_ALPHABET",
    "read_logic_sequences",
    "read_mee",
    "read_running_text",
    "stream_logic_sequences",
    "stream_mee",
    "stream_running_text",
]
