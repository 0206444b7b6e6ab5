"""Settings of all tasks: the data files, and their split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import ConfigError
from dgltrees.settings import Count, Fraction, Seed
from dgltrees.trees.labeled import LabeledTrees

Files = str | list[str] | None


@dataclass(frozen=True)
class DataSettings:
    """Data files and their split into training, validation and test examples.

    A file is a path, a folder that contains a forest on disk, or a pattern such as
    ``lrt/train*``. A relative path is searched in the working directory, then in ``dir``.
    """

    dir: str | None = None
    """Folder of the data sets; default: the value of the environment variable DGLTREES_DATA."""
    train: Files = None
    """Training files."""
    valid: Files = None
    """Validation files; default: a fraction of the training examples is held out."""
    test: Files = None
    """Test files."""
    valid_fraction: Fraction = 0.1
    """Fraction of the training examples held out for validation, if there are no validation
    files."""
    test_fraction: Fraction = 0.0
    """Fraction of the training examples held out for testing, if there are no test files."""
    seed: Seed = 0
    """Seed of the random split, and of the choice of ``max_train_examples``."""
    max_train_examples: Count | None = None
    """Largest number of training examples, chosen at random before the split; default: all."""

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """Return the settings without effect: fractions next to files, an unused seed."""
        files = {"valid_fraction": "valid", "test_fraction": "test"}
        reasons = {name: f"with data.{role}" for name, role in files.items() if values[role]}
        fractions = [values[name] for name in files if name not in reasons]
        if values["max_train_examples"] is None and not any(fractions):
            reasons["seed"] = "where no examples are drawn (data.max_train_examples) or held out"
        return reasons

    def learnable(self, data: LabeledTrees, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of the examples ``ids`` of training files are used; default: all.

        Raises:
            ConfigError: the settings do not match the data.
        """
        return np.ones(len(ids), dtype=bool)


@dataclass(frozen=True)
class OperatorSettings(DataSettings):
    """Settings of data with expressions whose operators are counted."""

    max_operators: Count | None = None
    """Largest number of operators of a training example; default: no limit."""

    def learnable(self, data: LabeledTrees, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of the examples ``ids`` have at most ``max_operators`` operators."""
        if self.max_operators is None:
            return super().learnable(data, ids)
        if "operators" not in data.columns:
            raise ConfigError("data.max_operators needs data that count operators, such as lrt")
        return np.asarray(data.columns["operators"][ids] <= self.max_operators)


@dataclass(frozen=True)
class WordSettings(DataSettings):
    """Settings of data with a vocabulary, from which rare names are left out."""

    min_freq: Count = 1
    """Lowest frequency of a word or category; rarer ones of the training examples become
    ``<unk>``."""


@dataclass(frozen=True)
class PretrainedSettings(WordSettings):
    """Settings of data whose words may have the vectors of a pretrained encoder."""

    pretrained: str | None = None
    """Folder of a Hugging Face encoder for the vectors of words in their sentence, which are
    computed once and are not trained."""
