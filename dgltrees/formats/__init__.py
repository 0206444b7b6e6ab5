"""File formats: a module per format and a row per format in :data:`FORMATS`.

``read_X`` reads a file of format X whole, ``stream_X`` in chunks; ``write_X`` writes one.
"""

from dgltrees.formats.arrow import read_arrow, stream_arrow, write_arrow, write_parquet
from dgltrees.formats.conllu import (
    CONLLU_COLUMNS,
    conllu_blocks,
    read_conllu,
    stream_conllu,
    write_conllu,
)
from dgltrees.formats.english import split_sentences, tokenize
from dgltrees.formats.jsonl import read_jsonl, stream_jsonl, write_jsonl
from dgltrees.formats.layout import Layout
from dgltrees.formats.lengths import WordRules
from dgltrees.formats.logic import (
    LOGIC_OPERATORS,
    LOGIC_RELATIONS,
    LOGIC_VARIABLES,
    read_logic,
    stream_logic,
    write_logic,
)
from dgltrees.formats.mrg import read_mrg, stream_mrg
from dgltrees.formats.nodes import read_nodes, stream_nodes
from dgltrees.formats.rows import read_rows, stream_rows
from dgltrees.formats.table import FORMATS, Format, format_by_suffix, guess_format
from dgltrees.formats.text import sentences_of_lines, sentences_of_text

__all__ = [
    "CONLLU_COLUMNS",
    "FORMATS",
    "LOGIC_OPERATORS",
    "LOGIC_RELATIONS",
    "LOGIC_VARIABLES",
    "Format",
    "Layout",
    "WordRules",
    "conllu_blocks",
    "format_by_suffix",
    "guess_format",
    "read_arrow",
    "read_conllu",
    "read_jsonl",
    "read_logic",
    "read_mrg",
    "read_nodes",
    "read_rows",
    "sentences_of_lines",
    "sentences_of_text",
    "split_sentences",
    "stream_arrow",
    "stream_conllu",
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
