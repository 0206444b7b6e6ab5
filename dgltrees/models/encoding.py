"""The base class of encoders, and the encoding that they return: states of nodes and trees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from dgltrees.models.inputs import Input
from dgltrees.trees.batch import TreeBatch

__all__ = ["Encoder", "Encoding"]


@dataclass(frozen=True)
class Encoding:
    """The states that an encoder computes for ``T`` trees or sentences.

    All encoders return ``batch``, ``states`` and ``roots``; the other attributes are None if an
    encoder does not compute them. An encoder with more to say returns a subclass.

    Attributes:
        batch: the graph of the ``N`` nodes that have a state: the encoded trees, or the graph that
            the encoder built over sentences.
        states: ``(N, c)``, the states of all nodes.
        vectors: ``(T, c)``, the vector of each tree, if that is not the state of its root.
        token_nodes: ``(S,)`` int64, the node of each encoded token, if the encoder built the graph.
        final: the recurrent state after the last token of each sentence, from which another
            sentence can continue; its type is the encoder's.
    """

    batch: TreeBatch
    states: Tensor
    vectors: Tensor | None = None
    token_nodes: Tensor | None = None
    final: Any | None = None

    @property
    def roots(self) -> Tensor:
        """The vector of each tree, ``(T, c)``: ``vectors``, or else the state of its root."""
        if self.vectors is not None:
            return self.vectors
        return self.states.index_select(0, self.batch.roots.to(self.states.device))

    @property
    def tokens(self) -> Tensor:
        """The states of the encoded tokens, ``(S, c)``; of trees, those of all nodes."""
        if self.token_nodes is None:
            return self.states
        return self.states.index_select(0, self.token_nodes.to(self.states.device))


class Encoder(nn.Module, ABC):
    """The base class of modules that map a batch to its :class:`Encoding`.

    Attributes:
        input: maps each node or token to its vector.
        size: c, the size of a state.
    """

    hidden: ClassVar[tuple[str, ...]] = ("inputs",)
    """The arguments that are no settings."""
    input: Input
    size: int
    __call__: Callable[..., Encoding]

    @abstractmethod
    def forward(self, batch: Any) -> Encoding:
        """Encode a batch."""
