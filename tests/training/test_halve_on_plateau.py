from __future__ import annotations

from dgltrees.training.loop import HalveOnPlateau


def run(*losses: float) -> list[str]:
    """What each epoch leads to."""
    schedule, steps = HalveOnPlateau(), []
    for loss in losses:
        undone = schedule.after(loss)
        words = ["undo"] * undone + ["halve"] * schedule.halving + ["stop"] * schedule.over
        steps.append(" ".join(words))
    return steps


def test_the_rate_stays_while_the_loss_falls() -> None:
    assert run(5.0, 4.0, 3.0) == ["", "", ""]


def test_halving_goes_on_once_it_has_begun() -> None:
    assert run(5.0, 4.9999, 4.0, 3.0) == ["", "halve", "halve", "halve"]


def test_the_second_epoch_without_improvement_ends_it() -> None:
    assert run(5.0, 5.0, 4.0, 4.0) == ["", "halve", "halve", "halve stop"]


def test_a_worse_epoch_is_undone_and_measured_against_the_best() -> None:
    assert run(5.0, 6.0, 5.5) == ["", "undo halve", "undo halve stop"]
    assert run(5.0, 6.0, 4.5, 4.6) == ["", "undo halve", "halve", "undo halve stop"]


def test_an_improvement_is_a_factor() -> None:
    assert run(1.0001, 1.0) == ["", ""]
    assert run(1.00009, 1.0) == ["", "halve"]
