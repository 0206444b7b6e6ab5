import pytest

from dgltrees.training.loop import HalveOnPlateau


def run(*losses: float) -> list[str]:
    """What each epoch leads to."""
    schedule, steps = HalveOnPlateau(), []
    for loss in losses:
        undone = schedule.after(loss)
        words = ["undo"] * undone + ["halve"] * schedule.halving + ["stop"] * schedule.over
        steps.append(" ".join(words))
    return steps


@pytest.mark.parametrize(
    ("losses", "steps"),
    [
        ((5.0, 4.0, 3.0), ["", "", ""]),
        ((5.0, 4.9999, 4.0, 3.0), ["", "halve", "halve", "halve"]),  # once it has begun
        ((5.0, 5.0, 4.0, 4.0), ["", "halve", "halve", "halve stop"]),
        ((5.0, 6.0, 5.5), ["", "undo halve", "undo halve stop"]),  # measured against the best
        ((5.0, 6.0, 4.5, 4.6), ["", "undo halve", "halve", "undo halve stop"]),
        ((1.0001, 1.0), ["", ""]),  # an improvement is a factor
        ((1.00009, 1.0), ["", "halve"]),
    ],
)
def test_the_rate_is_halved_where_the_loss_does_not_fall(
    losses: tuple[float, ...], steps: list[str]
) -> None:
    assert run(*losses) == steps
