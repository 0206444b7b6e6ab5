"""The head of models that compare two encodings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dgltrees.errors import ConfigError
from dgltrees.models.heads import PairHead

__all__ = ["make_pair_head"]


def make_pair_head(size: int, classes: int, head: Sequence[int], **options: Any) -> PairHead:
    """Make a head that compares two vectors of ``size``.

    Arguments:
        size: c, of a vector.
        classes: the number of logits.
        head: the setting ``model.head``, sizes of hidden layers.
        options: more arguments of ``PairHead``.

    Raises:
        ConfigError: ``model.head`` is not one hidden layer.
    """
    if len(head) != 1:
        raise ConfigError(
            f"expected model.head to be the size of one hidden layer for pairs, got {head}; the "
            "paper on Neural Tree Indexers has [1024]"
        )
    return PairHead(size, classes, hidden=head[0], **options)
