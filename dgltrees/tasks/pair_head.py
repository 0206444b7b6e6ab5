"""The head of models that compare two encodings."""

from __future__ import annotations

from dgltrees.errors import ConfigError
from dgltrees.models.heads import PairHead
from dgltrees.options import Options

__all__ = ["make_pair_head"]


def make_pair_head(model: Options, size: int, classes: int, *, extra: int = 0) -> PairHead:
    """Make a head that compares two vectors of ``size`` with ``extra`` features; see ``PairHead``.

    Raises:
        ConfigError: ``model.head`` is not one hidden layer.
    """
    head = model["head"]
    if len(head) != 1:
        raise ConfigError(
            f"expected model.head to be the size of one hidden layer for pairs, got {head}; the "
            "paper on Neural Tree Indexers has [1024]"
        )
    dropout, init = model["head_dropout"], model["init"]
    return PairHead(size, classes, hidden=head[0], extra=extra, dropout=dropout, init=init)
