"""A batch of trees on its way through a model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.trees.segments import owner

if TYPE_CHECKING:
    from dgl import DGLGraph

__all__ = ["TreeBatch"]


class TreeBatch:
    """The structure of some trees (or other acyclic graphs) and the tensors on it.

    The structure stays on the CPU; the tensors are wherever :meth:`to` puts them, so a CUDA device
    works although DGL's wheels are for the CPU. ``N`` nodes, ``E`` edges, ``T`` trees.

    Arguments:
        src: ``(E,)`` int64, the node each edge leaves.
        dst: ``(E,)`` int64, the node each edge enters. Edges into one node stand in the order in
            which its mailbox holds their messages.
        sizes: ``(T,)`` int64, the number of nodes of each tree; nodes stand tree after tree.
        ndata: node tensors, each ``(N, ...)``.
        edata: edge tensors, each ``(E, ...)``.
        depth: ``(N,)`` edges between each node and its root, where known already.

    Attributes:
        memo: what has been derived from the structure alone (schedules), by name; shared by all
            batches of the same structure.
    """

    def __init__(
        self,
        src: Tensor,
        dst: Tensor,
        sizes: Tensor,
        *,
        ndata: Optional[Mapping[str, Tensor]] = None,
        edata: Optional[Mapping[str, Tensor]] = None,
        depth: Optional[NDArray[np.int32]] = None,
    ) -> None:
        self.src, self.dst, self.sizes = src, dst, sizes
        self.ndata: dict[str, Tensor] = dict(ndata or {})
        self.edata: dict[str, Tensor] = dict(edata or {})
        self.depth = depth
        self.num_nodes = int(sizes.sum()) if depth is None else len(depth)
        self.memo: dict[Any, Any] = {}
        self._moved: list[_Moved] = []  # tensors that are elsewhere now, and what they were here

    @classmethod
    def from_graph(cls, graph: DGLGraph) -> TreeBatch:
        """The structure and the data of a homogeneous DGL graph, batched or not."""
        src, dst = graph.edges()
        return cls(
            src.long().cpu(),
            dst.long().cpu(),
            graph.batch_num_nodes().long().cpu(),
            ndata=dict(graph.ndata),
            edata=dict(graph.edata),
        )

    def __repr__(self) -> str:
        return (
            f"TreeBatch({self.num_trees} trees, {self.num_nodes} nodes, "
            f"ndata: {list(self.ndata)}, edata: {list(self.edata)})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled is what a batch is, on the CPU and as arrays, and little of what is derived."""
        structure = [_array(each) for each in (self.src, self.dst, self.sizes, self.roots)]
        data = ({name: _array(t) for name, t in d.items()} for d in (self.ndata, self.edata))
        return _unpickled, (structure, *data, self.depth)

    @property
    def num_trees(self) -> int:
        """The number of trees."""
        return len(self.sizes)

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        for tensor in (*self.ndata.values(), *self.edata.values()):
            return tensor.device
        return torch.device("cpu")

    @cached_property
    def roots(self) -> Tensor:
        """``(T,)`` int64 on :attr:`device`: of each tree the node that no edge leaves.

        In a batch of graphs that are no trees there may be more than ``T`` of them.
        """
        depth: Optional[NDArray[Any]] = self.depth
        if depth is None:
            depth = np.bincount(self.src.numpy(), minlength=self.num_nodes)
        roots = torch.from_numpy(np.equal(depth, 0).nonzero()[0])
        return roots.to(self.device, non_blocking=True)

    @cached_property
    def tree_of_node(self) -> Tensor:
        """``(N,)`` int64 on :attr:`device`: the tree each node belongs to."""
        return owner(self.sizes).to(self.device, non_blocking=True)

    @cached_property
    def graph(self) -> DGLGraph:
        """The batch as one DGL graph on the CPU, with the CPU's tensors as its data.

        Raises:
            ConfigError: there is no DGL.
        """
        from dgltrees._dgl import need_dgl

        graph = need_dgl("TreeBatch.graph").graph((self.src, self.dst), num_nodes=self.num_nodes)
        graph.set_batch_num_nodes(self.sizes)
        tree_of_edge = owner(self.sizes)[self.dst]
        graph.set_batch_num_edges(torch.bincount(tree_of_edge, minlength=self.num_trees))
        graph.ndata.update(self.ndata)
        graph.edata.update(self.edata)
        return graph

    def refresh_graph(self) -> None:
        """Show node data that have changed since in :attr:`graph`, if it has been made."""
        if "graph" in self.__dict__ and self.device.type == "cpu":
            self.graph.ndata.update(self.ndata)

    def _like(self, ndata: Mapping[str, Tensor], edata: Mapping[str, Tensor]) -> TreeBatch:
        """The same structure, with what has been derived of it, and other data."""
        batch = TreeBatch(
            self.src, self.dst, self.sizes, ndata=ndata, edata=edata, depth=self.depth
        )
        batch.memo, batch._moved = self.memo, list(self._moved)
        if "roots" in self.__dict__:  # of a batch with turned edges the structure does not tell
            batch.__dict__["roots"] = self.roots.to(batch.device)
        return batch

    def with_data(self, ndata: Mapping[str, Tensor]) -> TreeBatch:
        """The same structure and edge data with other node data."""
        return self._like(ndata, self.edata)

    def on_host(self, tensor: Tensor) -> Tensor:
        """A tensor of integers on the CPU; one that :meth:`to` moved is not copied back."""
        if tensor.device.type == "cpu":
            return tensor
        for pair in self._moved:
            if pair.moved is tensor and pair.still_equal():
                return pair.here
        return tensor.cpu()

    def reversed(self) -> TreeBatch:
        """The same nodes with every edge turned: from child-to-parent to parent-to-child.

        What has been derived is kept, so turning a batch at every step costs one schedule, not
        many. :attr:`roots` are still the roots of the trees.
        """
        turned = TreeBatch(self.dst, self.src, self.sizes, ndata=self.ndata, edata=self.edata)
        turned.memo = self.memo.setdefault("reversed", {"reversed": self.memo})
        turned._moved = self._moved
        turned.__dict__["roots"] = self.roots
        return turned

    def to(self, device: Union[str, torch.device]) -> TreeBatch:
        """The same batch with its tensors on ``device``; copies run alongside where pinned."""

        def move(data: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return {name: tensor.to(device, non_blocking=True) for name, tensor in data.items()}

        batch = self._like(move(self.ndata), move(self.edata))
        for ours, theirs in ((self.ndata, batch.ndata), (self.edata, batch.edata)):
            for name, tensor in ours.items():
                if tensor.device.type == "cpu" and not tensor.is_floating_point():
                    batch._moved.append(_Moved.pair(tensor, theirs[name]))
        return batch

    def pin_memory(self) -> TreeBatch:
        """The same batch with its tensors in page-locked memory, for fast copies to a GPU."""
        return self._like(
            {name: tensor.pin_memory() for name, tensor in self.ndata.items()},
            {name: tensor.pin_memory() for name, tensor in self.edata.items()},
        )


def _array(tensor: Tensor) -> NDArray[Any]:
    return np.asarray(tensor.detach().cpu().numpy())


def _unpickled(
    structure: list[NDArray[np.int64]],
    ndata: dict[str, NDArray[Any]],
    edata: dict[str, NDArray[Any]],
    depth: Optional[NDArray[np.int32]],
) -> TreeBatch:
    src, dst, sizes, roots = map(torch.from_numpy, structure)
    batch = TreeBatch(
        src,
        dst,
        sizes,
        ndata={name: torch.from_numpy(array) for name, array in ndata.items()},
        edata={name: torch.from_numpy(array) for name, array in edata.items()},
        depth=depth,
    )
    batch.__dict__["roots"] = roots  # of a batch with turned edges the structure does not tell
    return batch


class _Moved(NamedTuple):
    """A tensor on the CPU and what it became elsewhere, as long as neither is written to."""

    here: Tensor
    moved: Tensor
    versions: tuple[int, int]

    @classmethod
    def pair(cls, here: Tensor, moved: Tensor) -> _Moved:
        return cls(here, moved, (_version(here), _version(moved)))

    def still_equal(self) -> bool:
        return self.versions == (_version(self.here), _version(self.moved))


def _version(tensor: Tensor) -> int:
    """How often a tensor has been written to; inference tensors do not count."""
    return 0 if tensor.is_inference() else tensor._version
