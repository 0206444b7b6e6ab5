"""Runs of tasks on plain sentences, put to use on sentences with the words they really have."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Union, cast

import numpy as np
import torch
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.models import Encoding
from dgltrees.models.nti import NTIEncoder, PairEncoder
from dgltrees.tasks.files import data_files
from dgltrees.tasks.sentences.base import SentenceTask, with_ids
from dgltrees.tasks.splits import load_examples
from dgltrees.training.processes import make_fabric
from dgltrees.training.run import load_run
from dgltrees.training.rundir import RunDirectory
from dgltrees.trees import BatchSampler, Examples, Forest, Vocabulary
from dgltrees.trees.builders import chains

__all__ = ["SentenceRun"]


class SentenceRun:
    """The model of a run directory, in evaluation mode, and what reads for it.

    Arguments:
        path: the run directory.

    Raises:
        ConfigError: there is no usable run, or one of another task.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = path
        self.fabric = make_fabric(RunDirectory(path).one_device())
        run, self.settings, task, model = load_run(path, self.fabric)
        if not isinstance(task, SentenceTask):
            raise ConfigError(
                f"expected a run of snli, wikiqa or sst-phrases at {path}, got one of {task.name}"
            )
        self.task, self.model = task, model.eval()
        self.vocabs = run.vocabularies()

    def read(self, files: Sequence[PathLike]) -> Examples:
        """The examples of files, with vocabularies of all their words; see :meth:`known`."""
        asked = replace(self.settings.data, test=[os.fspath(file) for file in files])
        return load_examples(
            self.task,
            replace(asked, supervise="root"),  # whole sentences, as in evaluation
            data_files(asked, "test", "--input"),
            {**self.vocabs, "word": self._every_word()},
        )

    def sentences(self, texts: Sequence[str]) -> Forest:
        """Texts with spaces between their words, as :meth:`read` would give them.

        Raises:
            TreeError: a text has no word.
        """
        parts, words = [text.split() for text in texts], Vocabulary()
        ids = words.encode([word for part in parts for word in part])
        named = chains([len(part) for part in parts], {"word": ids}, {"word": words})
        return with_ids(named, self.settings.data, self._every_word())

    def _every_word(self) -> Vocabulary:
        """The words that the model knows, in a vocabulary that takes more."""
        words = self.vocabs["word"]
        return Vocabulary(words.names, unknown=words.unknown)

    def known(self, forest: Forest) -> Forest:
        """The same sentences with the unknown word for those that the model does not know."""
        words, ids = self.vocabs["word"], forest.columns["word"]
        unknown = words.encode([words.unknown or ""])[0]
        coded = np.where(ids < len(words), ids, unknown)
        return replace(forest, columns={**forest.columns, "word": coded}, vocabs={"word": words})

    @property
    def encoder(self) -> Union[NTIEncoder, PairEncoder]:
        """The encoder, which builds trees over sentences.

        Raises:
            ConfigError: the model's encoder builds none.
        """
        encoder: Any = self.model.encoder
        if not hasattr(encoder, "encode_alone"):
            raise ConfigError(
                f"expected a model that makes trees (model.encoder nti) at {self.path}, got "
                f"{self.settings.model.encoder}"
            )
        return cast(Union[NTIEncoder, PairEncoder], encoder)

    @torch.no_grad()
    def encodings(
        self, forest: Forest, *, max_nodes: int = 10_000
    ) -> Iterator[tuple[NDArray[np.int64], Encoding]]:
        """The trees over some sentences, batch by batch, and which sentences these are.

        Arguments:
            forest: what :meth:`read` or :meth:`sentences` gave.
            max_nodes: words in a batch, at most.
        """
        coded, encoder = self.known(forest), self.encoder
        order = np.argsort(coded.sizes, kind="stable")
        sampler = BatchSampler(coded.sizes[order], max_nodes=max_nodes, shuffle=False)
        for ids in sampler:
            batch = coded.batch(order[ids]).to(self.fabric.device)
            yield order[ids], encoder.encode_alone(batch)
