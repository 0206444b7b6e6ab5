"""Loaded runs of a parser and of language models that have learned a few sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

from dgltrees.training.loaded import LoadedRun, load


@pytest.fixture
def parser(parser_run: Path) -> LoadedRun:
    return load(parser_run)


@pytest.fixture
def tree_lm(tree_lm_run: Path) -> LoadedRun:
    return load(tree_lm_run)


@pytest.fixture
def sequence_lm(sequence_lm_run: Path) -> LoadedRun:
    return load(sequence_lm_run)
