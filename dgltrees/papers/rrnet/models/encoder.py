"""The encoder of recurrent-recursive networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from dgltrees.cells.rrnet import RRNetCell
from dgltrees.errors import ConfigError, TreeError
from dgltrees.models.encoder import Encoder, Encoding
from dgltrees.models.inputs import GivenVectors, NodeInput
from dgltrees.papers.rrnet.graphs import word_operations
from dgltrees.papers.rrnet.models.objectives import Reinforce
from dgltrees.papers.rrnet.models.policy import (
    Decisions,
    OnlyRecur,
    Policy,
    RandomOperations,
    legal,
)
from dgltrees.papers.rrnet.models.sequences import (
    OPERATION,
    Rollout,
    final_state,
    largest_stack,
    legal_steps,
    readers_of,
    start_fields,
    step_sizes,
    steps_of,
    supervised_tokens,
    with_starts,
    with_tokens,
)
from dgltrees.papers.rrnet.models.stepping import Consume, RRNetState, Steps, choose, initial_state
from dgltrees.settings import Count, Fraction, Share, checked
from dgltrees.traversal import run_cell
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.constituents import MERGES, SPLITS
from dgltrees.trees.kinds import Operation
from dgltrees.trees.segments import lasts


@dataclass(frozen=True)
class RRNetEncoding(Encoding):
    """The states of the operations on ``T`` sentences.

    Attributes:
        operations: ``(S,)`` int64, the operation at each token.
        decisions: the decisions of the policy.
        memories: ``(T, c)``, the LSTM's memory after the last step of each sentence, if asked for.
    """

    operations: Tensor | None = None
    decisions: Decisions | None = None
    memories: Tensor | None = None


@checked
class RRNetEncoder(Encoder):
    """A recurrent-recursive network over sentences.

    Jacob et al. (2018). A batch holds the words of every sentence in order; its edges are not used.
    With a policy, the policy chooses the operations: in training with the exploration of its
    objective, in evaluation by the highest score. Without a policy, the operations come from the
    data, in one of two forms:

    - every step consumes its token, for texts in which brackets are tokens: the node column
      :data:`OPERATION` has the operation at each token;
    - only RECUR consumes a token, and any number of operations come between two tokens: the node
      columns :data:`~dgltrees.trees.constituents.MERGES` and
      :data:`~dgltrees.trees.constituents.SPLITS` have the merges and then the splits before each
      token. SPLIT and MERGE read the next token as x; after the last one x is 0. At the end of a
      sentence, but not of a window of a longer text, all open subtrees are merged.

    Arguments:
        inputs: the module that computes the vector of every token.
        cell: the cell, with split, recur and merge.
        policy: the network that chooses operations.
        objective: how the policy learns from rewards; without it, the policy learns only from
            operations in the data.
        fixed: operations in place of a policy.
        consume: the operations that consume their token: all (``"step"``), or only ``"recur"``.
        supervised_fraction: the fraction of the training sentences for which the policy follows
            the operations in the data, and learns from them.
        max_open: the largest number of subtrees that can be open at a time, if operations do not
            come from the data.
        dropout: the probability of dropout on the token vectors and on h between steps, with one
            mask for all steps of a sentence (Gal and Ghahramani, 2016).

    Attributes:
        size: d, the size of a state.
        returns_memories: whether encodings have the memories of sentences; by default not.

    Raises:
        ConfigError: there is an objective or a supervised fraction without a policy; fixed
            operations with a policy; or an operation for each token id while only RECUR consumes.
    """

    input: NodeInput | GivenVectors
    __call__: Callable[..., RRNetEncoding]

    def __init__(
        self,
        inputs: NodeInput | GivenVectors,
        cell: RRNetCell,
        *,
        policy: Policy | None = None,
        objective: Reinforce | None = None,
        fixed: RandomOperations | OnlyRecur | None = None,
        consume: Consume = "step",
        supervised_fraction: Share = 0.0,
        max_open: Count = 16,
        dropout: Fraction = 0.0,
    ) -> None:
        super().__init__()
        if policy is None and (objective is not None or supervised_fraction):
            raise ConfigError("missing policy for the objective or the supervised fraction")
        if policy is not None and fixed is not None:
            raise ConfigError("expected a policy or fixed operations, got both")
        if isinstance(fixed, RandomOperations) and consume == "recur":
            raise ConfigError(
                "expected consume='step' with an operation for each token id, got consume='recur'"
            )
        self.input, self.cell, self.policy, self.objective = inputs, cell, policy, objective
        self.fixed, self.supervised_fraction, self.max_open = fixed, supervised_fraction, max_open
        self.consume, self.dropout = consume, dropout
        self.size, self.returns_memories = cell.hidden_size, False

    def forward(self, batch: TreeBatch | Rollout) -> RRNetEncoding:
        """Encode sentences with the operations of a rollout, by default of :meth:`rollout`.

        Returns:
            the encoding.

        Raises:
            TreeError: an operation is missing although there is no policy, or it should supervise
                the policy; a merge has no split, or a split in the data no merge; or too many
                subtrees are open for a policy, or for a window of a longer text.
        """
        rollout = batch if isinstance(batch, Rollout) else self.rollout(batch)
        graph, start = rollout.graph, rollout.start
        x = self._inputs(graph, rollout.x_mask)
        ndata = {"x": x, OPERATION: graph.ndata[OPERATION]}
        if start is not None:
            ndata.update(start_fields(graph, start))
        if rollout.h_mask is not None:
            ndata["mask"] = rollout.h_mask.index_select(0, graph.tree_of_node)
        outputs = ["h", "c"] if self.returns_memories else ["h"]
        outputs = outputs if start is None else list(self.cell.state_fields)
        states = run_cell(self.cell, graph, ndata, outputs=outputs)
        h, steps = states["h"], steps_of(graph)
        operations = graph.ndata[OPERATION].index_select(0, steps)
        decisions: Decisions | None = None
        if self.policy is not None:
            before, e = h.index_select(0, steps - 1), x.index_select(0, steps)
            output = self.policy(before, e, legal_steps(graph, self.max_open, self.consume))
            decisions = Decisions(*output, operations - 1, step_sizes(graph))
        last = lasts(graph.sizes).to(h.device)
        return RRNetEncoding(
            graph,
            h,
            vectors=h.index_select(0, last),
            token_nodes=steps.index_select(0, readers_of(graph, self.consume)),
            final=None if start is None else final_state(graph, states, self.max_open),
            operations=operations,
            decisions=decisions,
            memories=states["c"].index_select(0, last) if self.returns_memories else None,
        )

    @torch.no_grad()
    def with_bootstrap(
        self, encoding: RRNetEncoding, rollout: Rollout, tokens: Tensor
    ) -> RRNetEncoding:
        """Add the policy's output for the states after the last steps to an encoding's decisions.

        Arguments:
            encoding: an encoding of windows that started from a state.
            rollout: the rollout that was encoded.
            tokens: ``(T,)``, the ids of the next tokens.

        Returns:
            the encoding; unchanged without a policy.
        """
        decisions, final = encoding.decisions, encoding.final
        if decisions is None or final is None or self.policy is None:
            return encoding
        sizes = torch.ones(len(tokens), dtype=torch.long)
        e = self._inputs(self._tokens(tokens, sizes), rollout.x_mask)
        is_legal = legal(final.size.to(e.device), self.max_open)
        bootstrap = self.policy(final.h, e, is_legal)
        return replace(encoding, decisions=decisions._replace(bootstrap=bootstrap))

    def initial_state(self, count: int) -> RRNetState:
        """Return the state before the first token of ``count`` sentences."""
        return initial_state(self.cell, count, self.max_open)

    @torch.no_grad()
    def rollout(self, batch: TreeBatch, start: RRNetState | None = None) -> Rollout:
        """Decide the operations of sentences, from the data or by the policy.

        Arguments:
            batch: the sentences, or windows of longer ones.
            start: the state in which they begin: :meth:`initial_state` or the final state of an
                encoding.

        Returns:
            the graph of the operations, with dropout masks.
        """
        masks = self._masks(batch)
        steps = self._data_operations(batch, start)
        from_data = batch.on_host(steps.operations) != Operation.START
        stack = largest_stack(steps, start)
        limited = self.policy is not None or start is not None
        if limited and stack > self.max_open:
            raise TreeError(
                f"expected at most {self.max_open} open subtrees, the limit of the stack, got "
                f"{stack}; increase model.policy.stack"
            )
        if self.policy is not None and not from_data.all():
            explores = self.objective if self.training else None
            steps, from_data = choose(
                self.policy,
                self.cell,
                _highest if explores is None else explores.choose,
                self._inputs(batch, masks[0]),
                batch.sizes,
                steps,
                self.initial_state(batch.num_trees) if start is None else start,
                masks[1],
                consume=self.consume,
                ends=start is None,
            )
        elif not from_data.all():
            step = int(from_data.byte().argmin())
            raise TreeError(
                f"missing {self._columns} of every token; this model needs sentences with trees in "
                "brackets, for plain sentences train one with model.policy.operations policy",
                tree=int(torch.searchsorted(steps.sizes.cumsum(0), step, right=True)),
            )
        complete = self.policy is None and self.fixed is None and start is None
        nodes = with_tokens(batch, steps) if self.consume == "recur" else batch
        graph = with_starts(nodes, steps.operations, from_data, start, complete=complete)
        return Rollout(graph, *masks, start)

    def decision_losses(self, encoding: RRNetEncoding, rewards: Tensor) -> Tensor:
        """Compute the policy's loss, summed over the steps of each sentence, ``(T,)``.

        Arguments:
            encoding: an encoding with decisions.
            rewards: ``(T,)``, the reward of each sentence, or ``(L,)``, that of each step.
        """
        graph, losses = encoding.batch, self.step_losses(encoding, rewards)
        tree = graph.tree_of_node.index_select(0, steps_of(graph))
        return losses.new_zeros(graph.num_trees).index_add(0, tree, losses)

    def token_losses(self, encoding: RRNetEncoding, rewards: Tensor) -> Tensor:
        """Compute the policy's loss, summed over the steps up to each token of windows, ``(S,)``.

        Arguments:
            encoding: see :meth:`decision_losses`.
            rewards: ``(S,)``, the reward of each token, which is that of the step that consumes it.
        """
        readers = readers_of(encoding.batch, self.consume)
        steps = rewards.new_zeros(len(steps_of(encoding.batch)))
        losses = self.step_losses(encoding, steps.index_copy(0, readers, rewards))
        return self._of_tokens(encoding, losses)

    def token_operations(self, encoding: RRNetEncoding) -> dict[str, Tensor]:
        """Count the operations between the previous and each token of windows, ``(S,)`` each.

        The counts are ``splits`` and ``merges``, and ``gave``, the operations from the data.
        """
        operations, graph = encoding.operations, encoding.batch
        assert operations is not None
        flags = {
            "splits": operations == Operation.SPLIT,
            "merges": operations == Operation.MERGE,
            "gave": graph.ndata["from_data"].index_select(0, steps_of(graph)),
        }
        if self.fixed is not None:  # these do not know what comes
            flags["gave"] = torch.zeros_like(flags["gave"])
        return {name: self._of_tokens(encoding, each.long()) for name, each in flags.items()}

    def _of_tokens(self, encoding: RRNetEncoding, values: Tensor) -> Tensor:
        """Sum the values of steps, ``(L,)``, up to the step that consumes each token, ``(S,)``."""
        readers = readers_of(encoding.batch, self.consume)
        token = torch.searchsorted(readers, torch.arange(len(values), device=readers.device))
        return values.new_zeros(len(readers)).index_add(0, token, values)

    def step_losses(self, encoding: RRNetEncoding, rewards: Tensor) -> Tensor:
        """Compute the policy's loss at each step, ``(L,)``.

        For operations from the data it is their negative log-likelihood, for others the loss of the
        objective.

        Arguments:
            encoding, rewards: see :meth:`decision_losses`.
        """
        decisions, graph = encoding.decisions, encoding.batch
        if decisions is None:
            raise ConfigError("expected an encoding with decisions, got one without a policy")
        from_data = graph.ndata["from_data"].index_select(0, steps_of(graph))
        nll = nn.functional.cross_entropy(decisions.scores, decisions.actions, reduction="none")
        losses = nll * from_data
        if self.objective is None:
            return losses
        rewards = _per_step(rewards, decisions.sizes)
        return losses + self.objective.losses(decisions, rewards) * ~from_data

    def _tokens(self, ids: Tensor, sizes: Tensor) -> TreeBatch:
        """Return a batch of sentences with these token ids."""
        none = torch.empty(0, dtype=torch.long)
        return TreeBatch(none, none, sizes, ndata={self.input.column: ids})

    @property
    def _columns(self) -> str:
        """Return the names of the node columns of operations, for errors."""
        if self.consume == "step":
            return f"node column {OPERATION!r} with the operations"
        return f"node columns {MERGES!r} and {SPLITS!r} with the operations"

    def _data_operations(self, batch: TreeBatch, start: RRNetState | None) -> Steps:
        """Return the operations that the policy does not choose; START where it does."""
        opened = None if start is None else start.size
        if self.fixed is not None:
            return Steps(self.fixed(batch, self.max_open, opened), batch.sizes)
        names = (OPERATION,) if self.consume == "step" else (MERGES, SPLITS)
        columns = [batch.ndata[name].long() for name in names if name in batch.ndata]
        recorded = len(columns) == len(names)
        unknown = int(Operation.START) if self.consume == "step" else -1
        supervised = self.training and self.supervised_fraction
        if self.policy is not None and supervised:
            rewarded = self.objective is not None
            if not recorded or not (rewarded or (batch.on_host(columns[0]) > unknown).any()):
                cure = "supervised_fraction 0" if rewarded else "agent reinforce"
                raise TreeError(
                    f"missing {self._columns} that supervise the policy in training; train on "
                    f"trees in brackets, or set model.policy.{cure} to learn from rewards"
                )
        if not recorded or (self.policy is not None and not supervised):
            return Steps(torch.zeros(batch.num_nodes, dtype=torch.long), batch.sizes)
        if self.policy is not None:
            # vectors of a pretrained encoder come with the words
            column = "word" if "word" in batch.ndata else self.input.column
            mask = supervised_tokens(batch, column, self.supervised_fraction)
            columns = [column.where(mask, unknown) for column in columns]
        if self.consume == "step":
            return Steps(columns[0], batch.sizes)
        merges, splits = (batch.on_host(column).numpy() for column in columns)
        operations, sizes = word_operations(
            merges, splits, batch.sizes.numpy(), None if opened is None else opened.numpy()
        )
        return Steps(torch.from_numpy(operations), torch.from_numpy(sizes))

    def _masks(self, batch: TreeBatch) -> tuple[Tensor | None, Tensor | None]:
        """Draw the dropout masks of token vectors and of h, ``(T, m)`` and ``(T, d)``."""
        if not self.training or not self.dropout:
            return None, None
        like = self.cell.U
        ones = (like.new_ones(batch.num_trees, n) for n in (self.input.size, self.size))
        x_mask, h_mask = (nn.functional.dropout(each, self.dropout) for each in ones)
        return x_mask, h_mask

    def _inputs(self, batch: TreeBatch, mask: Tensor | None) -> Tensor:
        """Return the token vectors times the mask of each sentence, ``(N, m)``."""
        x: Tensor = self.input(batch)
        return x if mask is None else x * mask.index_select(0, batch.tree_of_node)


def _highest(scores: Tensor) -> Tensor:
    """Return the actions with the highest scores, ``(n,)``."""
    return scores.argmax(1)


def _per_step(rewards: Tensor, sizes: Tensor) -> Tensor:
    """Return the rewards of steps, ``(L,)``; those of sentences, ``(T,)``, are at the last step."""
    count = int(sizes.sum())
    if len(rewards) == count:
        return rewards
    ends = lasts(sizes).to(rewards.device)
    return rewards.new_zeros(count).index_copy(0, ends, rewards)
