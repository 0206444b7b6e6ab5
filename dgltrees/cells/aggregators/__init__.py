"""Aggregators: maps from a label and the states of the children to pre-activations of gates."""

from __future__ import annotations

from dgltrees.cells.aggregators.base import (
    Aggregator,
    FactorisedAggregator,
    ProductAggregator,
    TensorAggregator,
)
from dgltrees.cells.aggregators.canonical import Canonical
from dgltrees.cells.aggregators.full import Full
from dgltrees.cells.aggregators.hosvd import HOSVD
from dgltrees.cells.aggregators.sums import SharedSum, Sum
from dgltrees.cells.aggregators.symmetric_hosvd import SymmetricHOSVD
from dgltrees.cells.aggregators.tensor_train import TensorTrain
from dgltrees.registry import Registry, subclass_of

__all__ = [
    "AGGREGATORS",
    "HOSVD",
    "Aggregator",
    "Canonical",
    "FactorisedAggregator",
    "Full",
    "ProductAggregator",
    "SharedSum",
    "Sum",
    "SymmetricHOSVD",
    "TensorAggregator",
    "TensorTrain",
]

AGGREGATORS: Registry[type[Aggregator]] = Registry(
    "aggregators",
    {
        "sum": "dgltrees.cells.aggregators.sums:Sum",
        "full": "dgltrees.cells.aggregators.full:Full",
        "hosvd": "dgltrees.cells.aggregators.hosvd:HOSVD",
        "canonical": "dgltrees.cells.aggregators.canonical:Canonical",
        "tensor_train": "dgltrees.cells.aggregators.tensor_train:TensorTrain",
        "shared_sum": "dgltrees.cells.aggregators.sums:SharedSum",
        "symmetric_hosvd": "dgltrees.cells.aggregators.symmetric_hosvd:SymmetricHOSVD",
    },
    subclass_of(Aggregator),
)
"""The aggregators by the names that settings use."""
