"""Training the decisions to add edges, on the states of a language model that stays as it is.

Zhang, Lu and Lapata, "Top-down Tree Long Short-Term Memory Networks" (NAACL 2016), section 4: the
model goes through the training trees, its states and output embeddings are the features, and the
trees say which edges there are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Optional, Union, cast

import torch
import torch.nn.functional as F
from lightning_fabric import Fabric
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.models import AddDecisions, JointTreeLM, TreeLM
from dgltrees.models.language_model.add_decisions import STATES
from dgltrees.models.language_model.possible_edges import deciding, outgoing
from dgltrees.tasks.files import data_files, fingerprint
from dgltrees.tasks.language_models.tree_lm import TREE_LM
from dgltrees.tasks.ranges import COUNT, FRACTION, POSITIVE, SEED, check, one_of
from dgltrees.tasks.settings import Files
from dgltrees.tasks.splits import load_examples, load_splits
from dgltrees.training.optimizers import load_optimizer, optimizer_state
from dgltrees.training.processes import make_fabric
from dgltrees.training.run import load_run
from dgltrees.training.rundir import (
    RunDirectory,
    fingerprints,
    reading,
    write_json,
    write_tensors,
)
from dgltrees.training.settings import Settings
from dgltrees.trees import BatchSampler, Forest, Vocabulary
from dgltrees.trees.dependencies import EDGE_TYPES, generation_batch
from dgltrees.trees.segments import rows_of

__all__ = [
    "DecisionSettings",
    "JointRun",
    "joint_loss",
    "load_joint",
    "load_words",
    "train_decisions",
]

WEIGHTS, RESUME, ABOUT = "decisions.safetensors", "decisions-resume.safetensors", "decisions.json"


@dataclass(frozen=True)
class DecisionSettings:
    """How the four classifiers are made and trained; by default as the paper's and its code's.

    Attributes:
        state: what a classifier reads: the state of the node itself ("own") or of its "source".
        hidden: sizes of the hidden layers.
        dropout: probability of dropout before every layer.
        lr: learning rate of AdaGrad.
        batch_size: decisions in a batch.
        epochs: passes over all decisions.
        seed: of initial parameters, order and dropout.
    """

    state: str = "own"
    hidden: list[int] = field(default_factory=lambda: [300, 300])
    dropout: float = 0.5
    lr: float = 0.01
    batch_size: int = 256
    epochs: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        ranges = {"state": one_of(STATES), "dropout": FRACTION, "lr": POSITIVE, "seed": SEED}
        counts = dict.fromkeys(("hidden", "batch_size", "epochs"), COUNT)
        check("decisions", self, {**ranges, **counts})


@dataclass(frozen=True)
class JointRun:
    """A run's language model with its decisions, or one that needs none.

    Attributes:
        settings: the run's.
        model: words and decisions, or words with START and STOP (``model.stops``), whose log P is
            joint; in evaluation mode.
        vocabs: the run's vocabularies.
    """

    settings: Settings
    model: Union[JointTreeLM, TreeLM]
    vocabs: dict[str, Vocabulary]


class _Cases:
    """What the classifiers see of some trees.

    Attributes:
        h: ``(N, d)`` the states to decide from; words, ``(N,)``, the words.
        nodes: the nodes that decide, ``(M,)`` for each type of edge.
        added: whether there is an edge, ``(M,)`` 0.0 or 1.0 for each type.
    """

    @torch.no_grad()
    def __init__(self, model: TreeLM, forest: Forest, state: str, device: torch.device) -> None:
        weight, source = model.output, forest.global_parent
        H = weight.new_zeros(forest.num_nodes, weight.shape[1])
        for ids in BatchSampler(forest.sizes, max_nodes=20_000, shuffle=False):
            rows = torch.from_numpy(rows_of(forest.offsets, ids)).to(device)
            H[rows] = model.states(generation_batch(forest, ids).to(device))
        self.h = H if state == "own" else H[torch.from_numpy(source).to(device)]
        self.words = torch.from_numpy(forest.columns["word"]).long().to(device)
        has = torch.from_numpy(outgoing(forest.pos, source))
        may = torch.from_numpy(deciding(forest.pos, source < 0))
        self.nodes = [torch.nonzero(row)[:, 0].to(device) for row in may]
        self.added = [row[own].to(weight) for row, own in zip(has.to(device), self.nodes)]


def train_decisions(
    path: PathLike, settings: Optional[DecisionSettings] = None, *, root: Optional[str] = None
) -> dict[str, Any]:
    """Train the four classifiers of the tree-lm run at ``path``, on its training trees.

    They lie in the run directory then: ``decisions.safetensors``, and ``decisions.json`` with what
    this function returns. The state after each epoch is ``decisions-resume.safetensors``; training
    that was stopped goes on from there. The states of all training words are held in memory.

    Arguments:
        path: the run directory.
        settings: of the classifiers.
        root: the folder under which the data lie; without it, the run's.

    Returns:
        ``valid``, for each type of edge the number of ``decisions``, ``accuracy``, ``majority``
        (always the more frequent answer) and ``loss`` on the run's validation trees;
        ``joint_loss``, the mean of -log P(S, T) of these trees over their words; the settings.

    Raises:
        ConfigError: there is no usable run of a TreeLM, it generates the shape already
            (``model.stops``), it has other decisions, or its data have changed.
    """
    settings = settings or DecisionSettings()
    fabric = make_fabric(RunDirectory(path).one_device())
    run, whole, words = load_words(path, fabric)
    if words.start is not None:
        raise ConfigError(
            f"expected a model of words alone to train decisions for, got one at {run.path} that "
            "generates the shape of trees by START and STOP (model.stops); its log P is joint"
        )
    whole = replace(whole, data=replace(whole.data, root=root or whole.data.root))
    run.check(whole, fingerprints(whole))
    about = {"settings": asdict(settings), "weights": _weights_of(run)}
    torch.manual_seed(settings.seed)
    decisions = _make(words, settings)
    optimizer = torch.optim.Adagrad(decisions.parameters(), lr=settings.lr)
    done = _resume(run, about, decisions, optimizer)
    splits = load_splits(TREE_LM, whole.data, whole.model.max_children)
    train = _Cases(words, splits.train.forest, settings.state, fabric.device)
    for epoch in range(done, settings.epochs):
        torch.manual_seed(settings.seed + epoch + 1)  # an epoch is the same after a resume
        for logits, added in _batches(decisions.train(), words.output, train, settings.batch_size):
            optimizer.zero_grad()
            loss = F.binary_cross_entropy_with_logits(logits, added)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        _save(run, about, decisions, optimizer, epoch + 1)
    result: dict[str, Any] = about
    if splits.valid is not None:
        cases = _Cases(words, splits.valid.forest, settings.state, fabric.device)
        joint = JointTreeLM(words, decisions.eval())
        result = {
            **result,
            "valid": _report(decisions, words.output, cases),
            "joint_loss": _joint_loss(joint, splits.valid.forest, fabric.device),
        }
    write_tensors(run / WEIGHTS, decisions.state_dict(), {})
    write_json(run / ABOUT, result)
    return result


def load_joint(path: PathLike, fabric: Optional[Fabric] = None) -> JointRun:
    """The language model of the run at ``path`` with its decisions, if it needs them.

    Raises:
        ConfigError: there is no usable run of a TreeLM, it has no decisions, or has been trained on
            since they were.
    """
    run, settings, words = load_words(path, fabric)
    if words.start is not None:
        return JointRun(settings, words, run.vocabularies())
    if not (run / ABOUT).exists():
        raise ConfigError(
            f"{run.path} has no decisions to add edges yet: dgltrees decide {run.path} trains them"
        )
    with reading(run / ABOUT):
        about = json.loads((run / ABOUT).read_text(encoding="utf-8"))
        made, weights = DecisionSettings(**about["settings"]), about["weights"]
    _same_words(run, weights)
    decisions = _make(words, made)
    with reading(run / WEIGHTS):
        decisions.load_state_dict(load_file(run / WEIGHTS))
    return JointRun(settings, JointTreeLM(words, decisions).eval(), run.vocabularies())


def joint_loss(
    path: PathLike, *, test: Files = None, root: Optional[str] = None
) -> Optional[float]:
    """-log P(S, T) of test files over their words, in nats; None if the run has no decisions.

    Arguments:
        path, test, root: see :func:`~dgltrees.training.run.evaluate`.
    """
    if not (RunDirectory(path) / ABOUT).exists():
        return None
    fabric = make_fabric(RunDirectory(path).one_device())
    run = load_joint(path, fabric)
    data = replace(
        run.settings.data, test=test or run.settings.data.test, root=root or run.settings.data.root
    )
    files, most = data_files(data, "test"), run.settings.model.max_children
    forest = load_examples(TREE_LM, data, files, run.vocabs, most).forest
    return _joint_loss(run.model, forest, fabric.device)


def load_words(
    path: PathLike, fabric: Optional[Fabric] = None
) -> tuple[RunDirectory, Settings, TreeLM]:
    """The run at ``path``, its settings, and its language model over trees, which learns no more.

    Raises:
        ConfigError: there is no usable run of such a model.
    """
    fabric = fabric or make_fabric(RunDirectory(path).one_device())
    run, settings, _, model = load_run(path, fabric)
    words: Any = getattr(model, "model", None)
    if not getattr(words, "uses_trees", False):
        raise ConfigError(
            f"expected a run of the task tree-lm along trees, got one of {settings.task} "
            f"({settings.model.language_model}) at {run.path}"
        )
    return run, settings, cast(TreeLM, words.eval().requires_grad_(False))


@torch.no_grad()
def _joint_loss(model: Union[JointTreeLM, TreeLM], forest: Forest, device: torch.device) -> float:
    total = 0.0
    for ids in BatchSampler(forest.sizes, max_nodes=20_000, shuffle=False):
        batch = generation_batch(forest, ids).to(device)
        total -= float(model.log_prob(batch).double().sum())
    return total / (forest.num_nodes - len(forest))


def _make(words: TreeLM, settings: DecisionSettings) -> AddDecisions:
    made = AddDecisions(
        words.output.shape[1],
        hidden=tuple(settings.hidden),
        dropout=settings.dropout,
        state=settings.state,
    )
    return made.to(words.output)


def _batches(
    decisions: AddDecisions, output: Tensor, cases: _Cases, size: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Logits and truth, each ``(B,)``, of all decisions: type after type, each in any order."""
    for add, nodes, added in zip(decisions.add, cases.nodes, cases.added):
        for rows in torch.split(torch.randperm(len(nodes)).to(nodes.device), size):
            at = nodes[rows]
            features = decisions.features(cases.h[at], cases.words[at], output)
            yield add(features).squeeze(1), added[rows]


@torch.no_grad()
def _report(decisions: AddDecisions, output: Tensor, cases: _Cases) -> dict[str, Any]:
    """How often each classifier is right."""
    found = {}
    for name, add, nodes, truth in zip(EDGE_TYPES.names, decisions.add, cases.nodes, cases.added):
        if not len(nodes):
            continue
        parts = torch.split(nodes, 20_000)
        logits = [add(decisions.features(cases.h[at], cases.words[at], output)) for at in parts]
        y = torch.cat(logits).squeeze(1).double()
        share = float(truth.double().mean())
        found[name] = {
            "decisions": len(nodes),
            "accuracy": float(((y > 0) == (truth > 0.5)).double().mean()),
            "majority": max(share, 1 - share),
            "loss": float(F.binary_cross_entropy_with_logits(y, truth.double())),
        }
    return found


def _weights_of(run: RunDirectory) -> str:
    """What the language model's weights are recognised by."""
    digest: str = fingerprint(run / "weights.safetensors")["sha256"]
    return digest


def _same_words(run: RunDirectory, weights: str) -> None:
    if weights != _weights_of(run):
        raise ConfigError(
            f"the model at {run.path} has been trained on since its decisions were; remove "
            f"{run / ABOUT} and {run / RESUME} and train them again: dgltrees decide {run.path}"
        )


def _save(
    run: RunDirectory,
    about: dict[str, Any],
    decisions: AddDecisions,
    optimizer: torch.optim.Optimizer,
    epoch: int,
) -> None:
    tensors, plain = optimizer_state(optimizer)
    state = {f"model.{name}": tensor for name, tensor in decisions.state_dict().items()}
    state.update({f"optimizer.{name}": tensor for name, tensor in tensors.items()})
    known = {**about, "epoch": epoch, "optimizer": plain}
    write_tensors(run / RESUME, state, {"about": json.dumps(known)})


def _resume(
    run: RunDirectory,
    about: dict[str, Any],
    decisions: AddDecisions,
    optimizer: torch.optim.Optimizer,
) -> int:
    """Go back to the state that was saved, if any; the number of epochs done."""
    path = run / RESUME
    if not path.exists():
        return 0
    with reading(path), safe_open(path, "pt") as file:
        known = json.loads(file.metadata()["about"])
        weights = known["weights"]
        begun = {key: known["settings"][key] for key in about["settings"] if key != "epochs"}
    _same_words(run, weights)
    for key, value in begun.items():
        if value != about["settings"][key]:
            raise ConfigError(
                f"{run.path} holds decisions with {key} = {value!r}, asked was "
                f"{about['settings'][key]!r}; ask for the same or remove {path}"
            )
    with reading(path):
        state = load_file(path)
        parts = {
            kind: {k[len(kind) :]: v for k, v in state.items() if k.startswith(kind)}
            for kind in ("model.", "optimizer.")
        }
        decisions.load_state_dict(parts["model."])
        load_optimizer(optimizer, parts["optimizer."], known["optimizer"])
        return int(known["epoch"])
