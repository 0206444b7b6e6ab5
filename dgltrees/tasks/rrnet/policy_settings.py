"""The settings of a network that decides while it reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from dgltrees.cells.rrnet import MERGES
from dgltrees.models.rrnet import REWARDS
from dgltrees.tasks.ranges import COUNT, NONNEGATIVE, POSITIVE, SEED, Range, check, one_of

__all__ = ["PolicySettings"]

_SHARE = Range("at least 0 and at most 1", lambda value: 0 <= value <= 1)

_POLICY = {
    "operations": one_of(["given", "policy", "fixed", "recur"]),
    "agent": one_of(["none", "reinforce", "a2c", "ppo", "dqn"]),
    "merge": one_of(MERGES),
    "reward": one_of(REWARDS),
    "hidden": COUNT,
    **dict.fromkeys(("discount", "trace", "explore"), _SHARE),
    **dict.fromkeys(("entropy", "value", "weight"), NONNEGATIVE),
    "clip": POSITIVE,
    "updates": COUNT,
    "stack": COUNT,
    "replay": NONNEGATIVE,
    "seed": SEED,
    "told": _SHARE,
}


@dataclass
class PolicySettings:
    """What a recurrent-recursive network does at each token, and how it learns that.

    Attributes:
        operations: "given" by the data; or the "policy" decides; or "fixed", one drawn for each
            token of the vocabulary; or "recur" alone, as in an LSTM.
        agent: how the policy learns from rewards: "reinforce", "a2c", "ppo" or "dqn"; "none"
            learns it from the data's operations, and follows them in training.
        told: with an agent, the part of the training examples whose operations it is told, and
            learns from, too.
        merge: "mlp", or "average".
        stack_cell: push the LSTM's memory too.
        stack: how many sub-trees can be open at a time, where the data do not say.
        hidden: sizes of the policy's hidden layers.
        detach: let the policy's loss change the policy alone, and not what it sees.
        reward: 1 for the right answer ("accuracy"), or for one with a probability above one half
            ("likely"), or the "log_likelihood" of the right one.
        weight: of the policy's loss beside the answer's.
        discount: of later rewards, for each step.
        trace: lambda of advantages ("a2c", "ppo"); at 1 the whole return.
        entropy: weight of the entropy bonus.
        value: weight of the baseline's squared error.
        clip: how far a probability may move in one round ("ppo").
        updates: updates a round ("ppo").
        explore: part of the operations that are tried at random ("dqn").
        replay: sentences in the replay memory ("dqn"); 0 for none.
        seed: of the "fixed" operations.
    """

    operations: str = "given"
    agent: str = "none"
    told: float = 0.0
    merge: str = "mlp"
    stack_cell: bool = False
    stack: int = 16
    hidden: list[int] = field(default_factory=list)
    detach: bool = False
    reward: str = "accuracy"
    weight: float = 1.0
    discount: float = 0.99
    trace: float = 0.95
    entropy: float = 0.02
    value: float = 0.5
    clip: float = 0.2
    updates: int = 4
    explore: float = 0.1
    replay: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        check("model.policy", self, _POLICY)
