"""Trained models of plain sentences: attention, accuracy by padding, and similar phrases.

Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 5. A model
knows only the words of its training examples; queries and results keep the words of the files.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees._files import PathLike
from dgltrees.analyses.require import require
from dgltrees.errors import ConfigError, TreeError
from dgltrees.models.encoder import Encoding
from dgltrees.models.streaming import batches_of_similar
from dgltrees.papers.nti.graphs import full_shape
from dgltrees.papers.nti.models.encoder import NTIEncoder, NTIEncoding
from dgltrees.papers.nti.models.pairs import EncodingPair, PairEncoder, TreeMatching
from dgltrees.papers.nti.pictures import AttentionDrawing, draw_attention, tree_cells
from dgltrees.papers.nti.tasks.base import SentenceTask, with_ids
from dgltrees.papers.nti.tasks.settings import SentenceSettings
from dgltrees.tasks.files import data_files
from dgltrees.tasks.splits import load_examples
from dgltrees.training.trained import TrainedModel
from dgltrees.trees import Forest, LabeledTrees, TreeBatch, Vocabulary
from dgltrees.trees.builders import chains
from dgltrees.trees.segments import inverse
from dgltrees.trees.words import UNKNOWN, recode


def _settings(run: TrainedModel) -> SentenceSettings:
    """Return the settings of the data of a run, which must be on plain sentences."""
    require(run, run.task, SentenceTask, "a run of nli, wikiqa or sst-phrases")
    return cast(SentenceSettings, run.settings.data)


def examples_with_all_words(
    run: TrainedModel, files: Sequence[PathLike], *, labeled: bool = False
) -> LabeledTrees:
    """Read the examples of files with a vocabulary of all their words."""
    _settings(run)
    values: dict[str, object] = {"test": [os.fspath(file) for file in files]}
    if "supervise" in run.settings.sections["data"]:
        values["supervise"] = "root"  # whole sentences, as in evaluation
    data = run.settings.replace("data", **values).data
    vocabs = {**run.vocabularies, "word": Vocabulary(unknown=UNKNOWN)}
    paths = data_files(data, "test", "--input")
    return load_examples(run.task, data, paths, vocabs, labeled=labeled)


def sentences_with_all_words(run: TrainedModel, texts: Sequence[str]) -> Forest:
    """Split strings at spaces, with a vocabulary of all their words."""
    parts, words = [text.split() for text in texts], Vocabulary()
    ids = words.encode([word for part in parts for word in part])
    forest = chains([len(part) for part in parts], {"word": ids}, {"word": words})
    return with_ids(forest, _settings(run), Vocabulary(unknown=UNKNOWN))


def _tree_encoder(run: TrainedModel) -> NTIEncoder | PairEncoder:
    """Return the encoder of a run, which must build trees over plain sentences."""
    _settings(run)
    encoder = getattr(run.model, "encoder", None)
    if isinstance(encoder, PairEncoder):
        return encoder
    return require(run, encoder, NTIEncoder, "a model that builds trees (model.encoder nti)")


def _batches(
    run: TrainedModel, forest: Forest, max_nodes: int, *, arity: int = 1
) -> Iterator[tuple[NDArray[np.int64], TreeBatch]]:
    """Yield the ids of sentences and their batches with the words of the model, shortest first.

    Every ``arity`` sentences in succession are in one batch.
    """
    encoded = recode(forest, {"word": run.vocabularies["word"]})
    sizes = encoded.sizes.reshape(-1, arity).sum(1)
    for ids in batches_of_similar(sizes, max_nodes=max_nodes):
        trees = (ids[:, None] * arity + np.arange(arity)).ravel()
        yield trees, encoded.batch(trees).to(run.fabric.device)


@torch.no_grad()
def encodings(
    run: TrainedModel, forest: Forest, *, max_nodes: int = 10_000
) -> Iterator[tuple[NDArray[np.int64], Encoding]]:
    """Yield the ids of sentences and the encodings of the trees over them, batch by batch."""
    encoder = _tree_encoder(run)
    encode = encoder.encode_alone if isinstance(encoder, PairEncoder) else encoder
    for ids, batch in _batches(run, forest, max_nodes):
        yield ids, encode(batch)


@dataclass(frozen=True)
class AttentionMap:
    """Attention between the trees over two sentences.

    Arguments:
        words: ``(L,)``, the premise's words at the leaves of its tree; None marks a pad.
        spans: ``(M, 2)``, the first and the last leaf below each node of that tree.
        depth: ``(M,)``, the number of edges between each node and the root.
        phrases: ``(Q,)``, the words below each attending node of the hypothesis' tree.
        pads: ``(Q,)``, the number of pads below each attending node.
        weights: ``(Q, M)``, the attention of each phrase on the nodes of the premise.
    """

    words: list[str | None]
    spans: NDArray[np.int64]
    depth: NDArray[np.int64]
    phrases: list[str]
    pads: list[int]
    weights: NDArray[np.float64]

    def draw(self, phrases: Sequence[str] | None = None) -> AttentionDrawing:
        """Draw the attention of phrases as heat maps.

        Nodes that differ only in pads have the same words below them; the lowest of them is drawn
        for a phrase. Titles show the number of pads.
        """
        rows = list(range(len(self.phrases)))
        if phrases is not None:
            rows = [self._row(" ".join(phrase.split())) for phrase in phrases]
        titles = [self.phrases[row] + _pads(self.pads[row]) for row in rows]
        return draw_attention(self.words, self.spans, self.depth, self.weights[rows], titles=titles)

    def _row(self, phrase: str) -> int:
        if phrase not in self.phrases:
            raise ConfigError(
                f"expected a phrase of the hypothesis, got {phrase!r}; its phrases: "
                f"{'; '.join(self.phrases)}"
            )
        return self.phrases.index(phrase)


def _pads(number: int) -> str:
    return f" (and {number} pad{'s' * (number > 1)})" if number else ""


def attention_map(run: TrainedModel, files: Sequence[PathLike], example: int = 0) -> AttentionMap:
    """Compute the attention of one pair of sentences, from hypothesis to premise."""
    data = examples_with_all_words(run, files)
    if not 0 <= example < len(data):
        raise TreeError(f"expected an example from 0 to {len(data) - 1}, got {example}")
    pair = data.forest.select([2 * example, 2 * example + 1])
    names = pair.vocabs["word"].names
    words = [[names[i] for i in pair.tree(side).columns["word"]] for side in range(2)]
    known = recode(pair, {"word": run.vocabularies["word"]})
    premise, hypothesis, weights = _attention(run, known.batch())
    queries = _queries(hypothesis, weights).numpy()
    _check_attention(queries.sum(), files)
    spans = hypothesis.batch.ndata["span"].cpu().numpy()[queries]
    phrases = [" ".join(words[1][first : last + 1]) for first, last in spans.tolist()]
    below = tree_cells(hypothesis.batch)[1][queries]
    pads = (np.diff(below) - np.diff(spans))[:, 0].tolist()
    leaves, premise_spans, depth = tree_cells(premise.batch)
    tokens = premise.batch.ndata["token"].cpu().numpy()[leaves]
    leaf_words = [None if token < 0 else words[0][token] for token in tokens.tolist()]
    attention = weights.cpu().double().numpy()[queries]
    return AttentionMap(leaf_words, premise_spans, depth, phrases, pads, attention)


def pad_attention(
    run: TrainedModel, files: Sequence[PathLike], *, max_nodes: int = 2_000
) -> dict[str, Any]:
    """Compute the fraction of the attention on nodes without a word below them, section 5.3."""
    data, masses, shares = examples_with_all_words(run, files), [], []
    for _, batch in _batches(run, data.forest, max_nodes, arity=data.arity):
        premise, hypothesis, weights = _attention(run, batch)
        queries = _queries(hypothesis, weights).to(weights.device)
        tree = hypothesis.batch.tree_of_node.to(weights.device)[queries]
        table = premise.table
        pads = (table.pad & table.mask).float()
        masses.append((weights[queries] * pads[tree]).sum(1).cpu())
        shares.append((pads.sum(1) / table.mask.sum(1))[tree].cpu())
    mass = torch.cat(masses)
    _check_attention(len(mass), files)
    return {
        "mean": float(mass.mean()),
        "most": float(mass.max()),
        "share": float(torch.cat(shares).mean()),
        "queries": len(mass),
    }


@torch.no_grad()
def _attention(run: TrainedModel, batch: TreeBatch) -> tuple[NTIEncoding, NTIEncoding, Tensor]:
    """Return the encodings of premises and hypotheses, and the latter's attention, ``(N, M)``."""
    model: Any = run.model
    expected = "a model whose sentences attend to each other (model.interaction)"
    pair = require(run, model.encoder(batch.to(run.fabric.device)), EncodingPair, expected)
    if isinstance(model.head, TreeMatching):
        weights = model.head.attend(pair.second, pair.first).weights[pair.second.table.mask]
    else:
        weights = require(run, pair.second.attention, Tensor, expected)
    return pair.first, pair.second, weights


def _queries(hypothesis: NTIEncoding, weights: Tensor) -> Tensor:
    """Return the mask of the nodes that attend and have a word below them, ``(N,)``."""
    return ((weights.sum(1) > 0) & ~hypothesis.pad).cpu()


def _check_attention(queries: int, files: Sequence[PathLike]) -> None:
    """Check that a node attends; the tree of a single word has none but its leaf."""
    if not queries:
        raise TreeError(
            "expected a hypothesis of several words, got a single one, whose leaf does not attend; "
            "train with model.leaf_queries true",
            file=files[0],
        )


def accuracy_by_padding(
    run: TrainedModel, files: Sequence[PathLike], *, step: int = 5
) -> list[dict[str, Any]]:
    """Compute the accuracy by the number of pads in the tree or both trees of an example.

    Arguments:
        run: a run whose model builds full trees over sentences.
        files: files of examples.
        step: the range of the number of pads in a group.

    Returns:
        one row per group: ``pads``, their smallest number, ``accuracy``, from 0 to 1, and the
        number of ``examples``.

    Raises:
        ConfigError: the step is not positive, or the model builds no full trees.
        TreeError: a file is invalid.
    """
    if step < 1:
        raise ConfigError(f"expected a step of at least 1, got {step}")
    encoder = _tree_encoder(run)
    data = examples_with_all_words(run, files, labeled=True)
    shape = full_shape(encoder.make_trees(data.forest.sizes))
    if shape is None:
        trees, path = run.settings.model["trees"], run.directory.path
        raise ConfigError(f"expected full trees (model.trees full) at {path}, got {trees}")
    pads = np.maximum(np.asarray(shape.widths) - data.forest.sizes, 0)
    group = pads.reshape(-1, data.arity).sum(1) // step
    known = recode(data.forest, {"word": run.vocabularies["word"]})
    correct = run.outputs(replace(data, forest=known))["prediction"] == run.task.targets(data)
    return [
        {
            "pads": int(g * step),
            "accuracy": float(correct[group == g].mean()),
            "examples": int((group == g).sum()),
        }
        for g in np.unique(group)
    ]


KINDS = ("phrases", "sentences")


def similar(
    run: TrainedModel,
    files: Sequence[PathLike],
    queries: Sequence[str],
    *,
    number: int = 5,
    of: str = "phrases",
) -> list[dict[str, Any]]:
    """Find the nearest phrases or sentences to each query, by the cosine of their states.

    A phrase is the words below a node of the tree over a sentence. The state of a query is that of
    the root of its tree. Equal phrases count once, and a query is not its own neighbour.
    """
    if not queries or number < 1 or of not in KINDS:
        raise ConfigError(
            f"expected queries, a number of at least 1 and one of {' or '.join(KINDS)}, got "
            f"{len(queries)} queries, {number} and {of}"
        )
    lower = _settings(run).lower
    spelled = [" ".join(query.split()) for query in queries]
    spelled = [query.lower() if lower else query for query in spelled]  # as files are read
    words = dict.fromkeys(" ".join(spelled).split())
    unknown = [word for word in words if word not in run.vocabularies["word"]]
    if unknown:
        warnings.warn(
            f"the model does not know the words {', '.join(map(repr, unknown))} of the queries: it "
            "reads each as <unk>",
            stacklevel=2,
        )
    directions = _root_directions(run, sentences_with_all_words(run, queries))  # (Q, c)
    forest = examples_with_all_words(run, files).forest
    neighbors: list[dict[str, float]] = [{} for _ in queries]
    for ids, encoding in encodings(run, forest):
        nodes = torch.arange(encoding.batch.num_nodes)
        if of == "sentences":
            nodes = encoding.batch.roots.cpu()
        nodes = nodes[~encoding.batch.ndata["pad"].cpu()[nodes]]
        cosines = directions @ _unit(encoding.states[nodes.to(encoding.states.device)]).T  # (Q, n)
        texts = _Texts(forest, ids, encoding, nodes)
        for query, row, nearest in zip(spelled, cosines.cpu(), neighbors):
            _update(nearest, row, texts, query, number)
    return [
        {
            "query": query,
            "nearest": [{"text": t, "cosine": round(s, 6)} for t, s in nearest.items()],
        }
        for query, nearest in zip(queries, neighbors)
    ]


def _root_directions(run: TrainedModel, forest: Forest) -> Tensor:
    """Return the normalised states of the roots, ``(T, c)``, in the order of the forest."""
    parts = [(ids, encoding.roots) for ids, encoding in encodings(run, forest)]
    order = inverse(np.concatenate([ids for ids, _ in parts]))
    return _unit(torch.cat([roots for _, roots in parts])[torch.from_numpy(order)])


def _unit(h: Tensor) -> Tensor:
    return torch.nn.functional.normalize(h.float(), dim=1)


class _Texts:
    """Words below nodes of the trees over sentences."""

    def __init__(
        self, forest: Forest, ids: NDArray[np.int64], encoding: Encoding, nodes: Tensor
    ) -> None:
        batch = encoding.batch
        self.span = batch.ndata["span"].cpu()[nodes].numpy()
        self.first = forest.offsets[ids][batch.tree_of_node.cpu()[nodes].numpy()]
        self.words, self.names = forest.columns["word"], forest.vocabs["word"].names

    def __getitem__(self, i: int) -> str:
        first, last = self.first[i] + self.span[i]
        return " ".join(self.names[word] for word in self.words[first : last + 1])


def _update(
    nearest: dict[str, float], cosines: Tensor, texts: _Texts, query: str, number: int
) -> None:
    """Update ``nearest`` to the ``number`` nearest of its phrases and the new ones."""
    new: dict[str, float] = {}
    for i in cosines.argsort(descending=True, stable=True).tolist():
        text = texts[i]
        if text != query:
            new.setdefault(text, float(cosines[i]))
        if len(new) == number:
            break
    for text, cosine in new.items():
        nearest[text] = max(cosine, nearest.get(text, -1.0))
    ordered = sorted(nearest.items(), key=lambda pair: (-pair[1], pair[0]))[:number]
    nearest.clear()
    nearest.update(ordered)
