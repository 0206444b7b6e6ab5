"""A dependency parser, and the k best trees of its scores."""

from dgltrees.models.parser.arborescences import kbest_arborescences, maximum_arborescence
from dgltrees.models.parser.biaffine import ArcScores, Biaffine, BiaffineParser
from dgltrees.models.parser.eisner import kbest_projective

__all__ = [
    "ArcScores",
    "Biaffine",
    "BiaffineParser",
    "kbest_arborescences",
    "kbest_projective",
    "maximum_arborescence",
]
