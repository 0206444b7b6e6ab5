"""The data of Neural Tree Indexers."""

from dgltrees.papers.nti.data.entailment import (
    ENTAILMENT_LABELS,
    read_entailment,
    stream_entailment,
)
from dgltrees.papers.nti.data.sst import (
    SST_LABELS,
    read_sst,
    stream_sst,
)
from dgltrees.papers.nti.data.wikiqa import (
    WIKIQA_LABELS,
    read_wikiqa,
    stream_wikiqa,
)

__all__ = [
    "ENTAILMENT_LABELS",
    "SST_LABELS",
    "WIKIQA_LABELS",
    "read_entailment",
    "read_sst",
    "read_wikiqa",
    "stream_entailment",
    "stream_sst",
    "stream_wikiqa",
]
