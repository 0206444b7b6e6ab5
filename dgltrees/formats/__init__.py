"""File formats: a module per format and a row per format in :data:`FORMATS`.

:func:`read` reads a file of any format whole, ``stream_X`` one of format X in chunks, and
``write_X`` writes one.
"""

from dgltrees.formats.arrow import stream_arrow, write_arrow, write_parquet
from dgltrees.formats.conllu import (
    CONLLU_COLUMNS,
    conllu_blocks,
    write_conllu,
)
from dgltrees.formats.english import split_sentences, tokenize
from dgltrees.formats.format import FORMATS, Format, Layout, format_by_suffix, guess_format, read
from dgltrees.formats.jsonl import stream_jsonl, write_jsonl
from dgltrees.formats.logic import (
    LOGIC_OPERATORS,
    LOGIC_RELATIONS,
    LOGIC_VARIABLES,
    stream_logic,
    write_logic,
)
from dgltrees.formats.mrg import stream_mrg
from dgltrees.formats.nodes import stream_nodes
from dgltrees.formats.rows import stream_rows
from dgltrees.formats.text import sentences_of_lines, sentences_of_text

__all__ = [
    "CONLLU_COLUMNS",
    "FORMATS",
    "LOGIC_OPERATORS",
    "LOGIC_RELATIONS",
    "LOGIC_VARIABLES",
    "Format",
    "Layout",
    "conllu_blocks",
    "format_by_suffix",
    "guess_format",
    "read",
    "sentences_of_lines",
    "sentences_of_text",
    "split_sentences",
    "stream_arrow",
    "stream_jsonl",
    "stream_logic",
    "stream_mrg",
    "stream_nodes",
    "stream_rows",
    "tokenize",
    "write_arrow",
    "write_conllu",
    "write_jsonl",
    "write_logic",
    "write_parquet",
]
