"""Sequences to vectors by a recurrent-recursive network, whoever says what it does."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional, Union

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.cells.rrnet import RRNetCell
from dgltrees.errors import ConfigError, TreeError
from dgltrees.models.inputs import GivenVectors, NodeInput
from dgltrees.models.rrnet.agents import Agent, Decisions
from dgltrees.models.rrnet.fixed import FixedOperations, OnlyRecur
from dgltrees.models.rrnet.policy import Policy, legal
from dgltrees.models.rrnet.readings import OPERATION, Reading, Rollout
from dgltrees.models.rrnet.replay import Remembered, Replay
from dgltrees.models.rrnet.sequences import (
    given_fields,
    most_open,
    state_after,
    step_sizes,
    steps_of,
    with_starts,
)
from dgltrees.models.rrnet.stepping import ReaderState, advance, begin
from dgltrees.models.rrnet.told import told_tokens
from dgltrees.traversal import traverse
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.operations import Operation
from dgltrees.trees.segments import lasts, starts

__all__ = ["RRNetEncoder"]


class RRNetEncoder(nn.Module):
    """A recurrent-recursive network over sentences, one operation a token.

    Jacob et al. (2018). A batch has the words of every sentence one after the other; the edges do
    not matter. Without a policy the operations are those of the node column :data:`OPERATION`. With
    one they are its own: drawn as its agent does in training, the highest score in evaluation.

    Arguments:
        inputs: gives every token its vector.
        cell: split, recur and merge.
        policy: chooses operations.
        agent: how it learns from rewards; without it, from given operations alone.
        replay: what was read before and is learned from again, with an agent.
        told: the part of the sentences whose given operations the policy is told in training: it
            learns from them and they are followed. In evaluation it decides itself.
        fixed: operations that nobody decides on, instead of a policy.
        limit: how many sub-trees can be open where it is not given.
        dropout: of the token vectors and of h between steps, with one mask for all steps of a
            sequence (Gal and Ghahramani, 2016).
        backend: ``"levels"`` or ``"dgl"``.

    Attributes:
        size: d.

    Raises:
        ConfigError: there is an agent, or a part to tell, and no policy; or fixed operations and a
            policy; or a replay memory, and no agent or no ids of tokens.
    """

    def __init__(
        self,
        inputs: Union[NodeInput, GivenVectors],
        cell: RRNetCell,
        *,
        policy: Optional[Policy] = None,
        agent: Optional[Agent] = None,
        replay: Optional[Replay] = None,
        fixed: Optional[Union[FixedOperations, OnlyRecur]] = None,
        told: float = 0.0,
        limit: int = 16,
        dropout: float = 0.0,
        backend: str = "levels",
    ) -> None:
        super().__init__()
        if policy is None and (agent is not None or told):
            raise ConfigError("expected a policy with an agent, or to tell operations, got none")
        if policy is not None and fixed is not None:
            raise ConfigError("expected a policy or fixed operations, got both")
        self.input, self.cell, self.policy, self.agent = inputs, cell, policy, agent
        if replay is not None and (agent is None or not isinstance(inputs, NodeInput)):
            raise ConfigError("expected an agent and token ids with a replay memory, got none")
        self.replay = replay
        self.fixed, self.told, self.limit = fixed, told, limit
        self.dropout, self.backend = dropout, backend
        self.size = cell.hidden_size

    @property
    def updates(self) -> int:
        """How often to learn from one rollout; see :class:`Agent`."""
        return 1 if self.agent is None else self.agent.updates

    def forward(self, batch: Union[TreeBatch, Rollout]) -> Reading:
        """Read sentences, as a rollout says or as is decided now.

        Raises:
            TreeError: an operation is missing and there is no policy, or it is to be told; a
                merge has no split, or a given split no merge; or more sub-trees are open than a
                policy may open.
        """
        rollout = batch if isinstance(batch, Rollout) else self.rollout(batch)
        graph, start = rollout.graph, rollout.start
        x = self._inputs(graph, rollout.x_mask)
        ndata = {"x": x, OPERATION: graph.ndata[OPERATION]}
        if start is not None:
            ndata.update(given_fields(graph, start))
        if rollout.h_mask is not None:
            ndata["mask"] = rollout.h_mask.index_select(0, graph.tree_of_node)
        wanted = ["h"] if start is None else list(self.cell.state_fields)
        states = traverse(self.cell, graph, ndata, outputs=wanted, backend=self.backend)
        after = None if start is None else state_after(graph, states, self.limit)
        decisions = self._decisions(rollout, states["h"], x)
        return Reading(graph, states["h"], decisions, after)

    def _decisions(self, rollout: Rollout, h: Tensor, x: Tensor) -> Optional[Decisions]:
        """The policy's, of states and inputs at all nodes."""
        if self.policy is None:
            return None
        graph = rollout.graph
        steps = steps_of(graph)
        before = steps - 1
        possible = legal(graph.ndata["open"].index_select(0, before), self.limit)
        seen = h.index_select(0, before), x.index_select(0, steps)
        scores, values = self.policy(*seen, possible)
        actions = graph.ndata[OPERATION].index_select(0, steps) - 1
        sizes = step_sizes(graph)
        return Decisions(scores, values, actions, sizes, rollout.then, rollout.beyond)

    @torch.no_grad()
    def going_on(self, reading: Reading, rollout: Rollout, tokens: Tensor) -> Reading:
        """A reading whose decisions know what they lead to after the last step.

        Arguments:
            reading: of sentences that began in a given state.
            rollout: what was read.
            tokens: ``(T,)`` the ids of the tokens that come next.
        """
        if reading.decisions is None or reading.after is None or self.policy is None:
            return reading
        one = torch.ones(len(tokens), dtype=torch.long)
        none = torch.empty(0, dtype=torch.long)
        following = TreeBatch(none, none, one, ndata={self.input.column: tokens})
        e = self._inputs(following, rollout.x_mask)
        open_trees = reading.after.size.to(e.device)
        beyond = self.policy(reading.after.h, e, legal(open_trees, self.limit))
        return replace(reading, decisions=reading.decisions._replace(beyond=beyond))

    def begin(self, count: int) -> ReaderState:
        """The state before the first token of ``count`` sentences."""
        return begin(self.cell, count, self.limit)

    @torch.no_grad()
    def rollout(self, batch: TreeBatch, start: Optional[ReaderState] = None) -> Rollout:
        """The operations of sentences; drawn, where the policy is asked in training.

        Arguments:
            batch: the sentences, or windows of longer ones.
            start: the state in which they begin, of :meth:`begin` or at the end of a reading.
        """
        masks = self._masks(batch)
        operations = self._known(batch, start)
        known = batch.on_host(operations) != Operation.START
        deepest = most_open(batch, operations)
        if self.policy is not None and deepest > self.limit:
            raise TreeError(
                f"expected at most {self.limit} open sub-trees, the limit of the policy's stack, "
                f"got {deepest}; raise the limit (model.policy.stack)"
            )
        if self.policy is not None and not known.all():
            operations = self._choose(batch, operations, masks, start)
        elif not known.all():
            raise TreeError(
                f"expected a node column {OPERATION!r} with the operation of every token, got none "
                f"for token {int(known.byte().argmin())} of the batch; give them, or let a policy "
                "decide"
            )
        given = self.policy is None and self.fixed is None and start is None
        graph = with_starts(batch, operations, known, start, complete=given)
        return Rollout(graph, *masks, start)

    def decision_losses(self, reading: Reading, rewards: Tensor) -> Tensor:
        """``(T,)`` what the policy learns to make small, in sum over each sentence's steps.

        Arguments:
            reading: with decisions.
            rewards: ``(T,)`` what came of reading each sentence, or ``(S,)`` of each step.
        """
        graph, losses = reading.graph, self.step_losses(reading, rewards)
        tree = graph.tree_of_node.index_select(0, steps_of(graph))
        return losses.new_zeros(graph.num_trees).index_add(0, tree, losses)

    def step_losses(self, reading: Reading, rewards: Tensor) -> Tensor:
        """``(S,)`` what the policy learns to make small.

        Of operations that were given their negative log-likelihood, of others what the agent says.

        Arguments:
            reading, rewards: see :meth:`decision_losses`.
        """
        made, graph = reading.decisions, reading.graph
        if made is None:
            raise ConfigError("expected a reading with decisions, got one without a policy")
        steps = steps_of(graph)
        given = graph.ndata["given"].index_select(0, steps)
        supervised = nn.functional.cross_entropy(made.scores, made.actions, reduction="none")
        losses = supervised * given
        if self.agent is None:
            return losses
        return losses + self.agent.losses(made, _every_step(rewards, made.sizes)) * ~given

    def again(self, reading: Reading, rewards: Tensor) -> Tensor:
        """What the agent makes of as many sentences from the replay memory, their mean; a scalar.

        Then those of this reading are remembered.

        Arguments:
            reading, rewards: see :meth:`decision_losses`.
        """
        losses = rewards.new_zeros(())
        if self.replay is None or self.agent is None or reading.decisions is None:
            return losses
        earlier = self.replay.draw(reading.graph.num_trees, rewards.device)
        if earlier is not None:
            made = self(self._followed(earlier)).decisions
            known = earlier.rewards.to(rewards)
            losses = self.agent.losses(made, known).sum() / len(earlier.sizes)
        steps, sizes = steps_of(reading.graph), reading.decisions.sizes
        tokens = reading.graph.ndata[self.input.column].index_select(0, steps)
        earned = _every_step(rewards, sizes)
        self.replay.remember(Remembered(tokens, reading.operations, earned, sizes))
        return losses

    def _followed(self, earlier: Remembered) -> Rollout:
        """Earlier sentences, with what was done then."""
        none = torch.empty(0, dtype=torch.long)
        ndata = {self.input.column: earlier.tokens}
        batch = TreeBatch(none, none, earlier.sizes, ndata=ndata)
        given = torch.zeros(len(earlier.tokens), dtype=torch.bool)
        return Rollout(with_starts(batch, earlier.operations, given), None, None)

    def _known(self, batch: TreeBatch, start: Optional[ReaderState]) -> Tensor:
        """``(S,)`` the operations that the policy has no say in, START where it has."""
        if self.fixed is not None:
            opened = None if start is None else start.size
            return self.fixed(batch, self.limit, opened)  # type: ignore[no-any-return]
        given, tells = batch.ndata.get(OPERATION), self.training and self.told
        if given is None and self.policy is not None and tells:
            raise TreeError(
                f"expected a node column {OPERATION!r} with the operations that the policy is told "
                "in training, got none; let an agent learn them (model.policy.agent), told nothing"
            )
        nothing = torch.zeros(batch.num_nodes, dtype=torch.long, device=batch.device)
        if given is None or (self.policy is not None and not tells):
            return nothing
        if self.policy is None:
            return given.long()
        return torch.where(told_tokens(batch, self.input.column, self.told), given.long(), nothing)

    def _masks(self, batch: TreeBatch) -> tuple[Optional[Tensor], Optional[Tensor]]:
        """Dropout's for token vectors and for h, ``(T, m)`` and ``(T, d)``."""
        if not self.training or not self.dropout:
            return None, None
        like = self.cell.U
        ones = (like.new_ones(batch.num_trees, n) for n in (self.input.size, self.size))
        x_mask, h_mask = (nn.functional.dropout(each, self.dropout) for each in ones)
        return x_mask, h_mask

    def _inputs(self, batch: TreeBatch, mask: Optional[Tensor]) -> Tensor:
        """``(N, m)`` token vectors, times the mask of each sentence."""
        x: Tensor = self.input(batch)
        return x if mask is None else x * mask.index_select(0, batch.tree_of_node)

    def _choose(
        self,
        batch: TreeBatch,
        told: Tensor,
        masks: tuple[Optional[Tensor], Optional[Tensor]],
        start: Optional[ReaderState],
    ) -> Tensor:
        """``(S,)`` operations, those told and the policy's, step by step over all sentences."""
        assert self.policy is not None
        explore = self.training and self.agent is not None
        x = self._inputs(batch, masks[0])
        order = torch.argsort(batch.sizes, descending=True, stable=True)  # the longest first
        begins = starts(batch.sizes)[order]
        active = _active(batch.sizes.numpy())
        h_mask = None if masks[1] is None else masks[1].index_select(0, order.to(x.device))
        state = self.begin(batch.num_trees) if start is None else start.select(order)
        chosen = told.clone()
        for step, count in enumerate(active):
            if count < len(state.size):
                state = state.first(count)
            at = (begins[:count] + step).to(x.device)
            e = x.index_select(0, at)
            possible = legal(state.size.to(x.device), self.limit)
            scores = self.policy.score(state.h, e, possible)
            if explore and self.agent is not None:
                action = self.agent.choose(scores)
            else:
                action = scores.argmax(1)
            asked = told.index_select(0, at)
            operation = torch.where(asked > 0, asked, action + 1)
            chosen.index_copy_(0, at, operation)
            own_mask = None if h_mask is None else h_mask[:count]
            state = advance(self.cell, e, operation, state, own_mask, in_place=True)
        return chosen


def _active(sizes: NDArray[np.int64]) -> list[int]:
    """How many sentences have a step 0, 1, ..."""
    ended = np.bincount(sizes)
    counts: list[int] = (len(sizes) - np.cumsum(ended))[:-1].tolist()
    return counts


def _every_step(rewards: Tensor, sizes: Tensor) -> Tensor:
    """``(S,)`` rewards of steps; those of sentences, ``(T,)``, come with the last step."""
    count = int(sizes.sum())
    if len(rewards) == count:
        return rewards
    ends = lasts(sizes).to(rewards.device)
    return rewards.new_zeros(count).index_copy(0, ends, rewards)
