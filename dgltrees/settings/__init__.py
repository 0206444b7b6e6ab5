"""Settings: the arguments of constructors, set by command line, YAML or Python."""

from dgltrees.settings.options import Option, checked, chosen, options_of
from dgltrees.settings.resolve import Options, Part, nearest, overlay, schema
from dgltrees.settings.values import (
    Count,
    Fraction,
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveShare,
    Range,
    Seed,
    Share,
    expected,
)

__all__ = [
    "Count",
    "Fraction",
    "NonNegative",
    "NonNegativeInt",
    "Option",
    "Options",
    "Part",
    "Positive",
    "PositiveShare",
    "Range",
    "Seed",
    "Share",
    "checked",
    "chosen",
    "expected",
    "nearest",
    "options_of",
    "overlay",
    "schema",
]
