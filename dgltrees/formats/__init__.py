"""File formats: the table :data:`FORMATS`, and :func:`read` for a file of any of them."""

from dgltrees.formats.arrow import write_arrow, write_parquet
from dgltrees.formats.conllu import CONLLU_COLUMNS, conllu_blocks, write_conllu
from dgltrees.formats.folders import write_forest
from dgltrees.formats.format import (
    FORMATS,
    Format,
    RecordLayout,
    format_by_suffix,
    get_format,
    guess_format,
    read,
)
from dgltrees.formats.jsonl import write_jsonl
from dgltrees.formats.lrt import LRT_OPERATORS, LRT_RELATIONS, LRT_VARIABLES, write_lrt
from dgltrees.formats.text import sentences_of_lines, sentences_of_text, split_sentences, tokenize

__all__ = [
    "CONLLU_COLUMNS",
    "FORMATS",
    "LRT_OPERATORS",
    "LRT_RELATIONS",
    "LRT_VARIABLES",
    "Format",
    "RecordLayout",
    "conllu_blocks",
    "format_by_suffix",
    "get_format",
    "guess_format",
    "read",
    "sentences_of_lines",
    "sentences_of_text",
    "split_sentences",
    "tokenize",
    "write_arrow",
    "write_conllu",
    "write_forest",
    "write_jsonl",
    "write_lrt",
    "write_parquet",
]
