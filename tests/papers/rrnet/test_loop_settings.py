"""Every setting of the training loop changes how a run on running text goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.test_loop_settings import course, settings_of, without_difference


def test_every_setting_of_the_loop_makes_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert without_difference("ptb-lstm", tmp_path, monkeypatch) == []


def test_the_same_settings_make_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [course(settings_of("ptb-lstm"), tmp_path / name, monkeypatch) for name in "ab"]
    assert runs[0] == runs[1]
