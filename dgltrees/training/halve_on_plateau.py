"""The learning rate's schedule of Zhang, Lu and Lapata (2016), after Mikolov et al. (2010)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HalveOnPlateau"]


@dataclass
class HalveOnPlateau:
    """Keeps the rate while the validation loss falls, then halves it at every epoch, then stops.

    The first epoch whose loss is not better than the best by ``factor`` starts the halving; the
    next such epoch ends the training. An epoch that is worse than the best is undone: training
    continues from the best epoch's parameters.

    Arguments:
        factor: an epoch counts as better if the best loss so far is at least this many times its
            own.
        best: the best loss so far.
        halving: whether the rate is halved at every epoch.
        over: whether training has ended.
    """

    factor: float = 1.0001
    best: float | None = None
    halving: bool = False
    over: bool = False

    def after(self, loss: float) -> bool:
        """Update with an epoch's validation loss; return whether the epoch must be undone."""
        worse = self.best is not None and loss > self.best
        improved = self.best is None or loss * self.factor <= self.best
        self.over = self.halving and not improved
        self.halving = self.halving or not improved
        self.best = loss if self.best is None else min(loss, self.best)
        return worse
