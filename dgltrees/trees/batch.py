"""Batches of trees: the graph and the tensors that a model reads, and a cache of results."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.errors import TreeError
from dgltrees.trees.segments import owner

if TYPE_CHECKING:
    from dgl import DGLGraph


T = TypeVar("T")
Values = Sequence[NDArray[Any] | None]

_CPU = torch.device("cpu")


class Cache:
    """Results that depend only on the structure of a batch, each computed once.

    Every batch has one as ``batch.cache``. Batches of the same structure share it: those that
    ``batch.to``, ``batch.with_data`` and ``batch.pin_memory`` return.

    >>> from dgltrees.trees import Forest
    >>> batch = Forest.build([-1, 0, 0]).batch()
    >>> batch.cache.get("in_degree", lambda: torch.bincount(batch.dst, minlength=batch.num_nodes))
    tensor([2, 0, 0])
    """

    def __init__(self) -> None:
        self._entries: dict[Hashable, list[_Entry]] = {}

    def get(
        self,
        key: Hashable,
        make: Callable[[], T],
        *,
        values: Values = (),
        device: str | torch.device | None = None,
    ) -> T:
        """The cached result of ``make()``, which is only called the first time.

        Arguments:
            key: the name of the result and the options it depends on, such as
                ``("schedule", slots)``.
            make: computes the result on the CPU; the result may be None.
            values: arrays (or None) that the result depends on besides the structure; there is one
                result for each combination of their values.
            device: the device to which the result's method ``to`` moves it, once per device; None
                for no move.
        """
        entries = self._entries.setdefault(key, [])
        entry = next((entry for entry in entries if entry.depends_on(values)), None)
        if entry is None:
            if torch.is_inference_mode_enabled():  # training may need the same tensors later
                make = torch.inference_mode(False)(make)
            entry = _Entry([None if v is None else v.copy() for v in values], {_CPU: make()})
            entries.append(entry)
        result: T = entry.on(_CPU if device is None else torch.device(device))
        return result


class _Entry(NamedTuple):
    """The copies of one result by device, and the values it depends on."""

    values: Values
    by_device: dict[torch.device, Any]

    def depends_on(self, values: Values) -> bool:
        """Whether the result was computed for ``values``."""
        return all(map(_equal, self.values, values))

    def on(self, device: torch.device) -> Any:
        """The result on a device."""
        if device not in self.by_device:
            result = self.by_device[_CPU]
            self.by_device[device] = None if result is None else result.to(device)
        return self.by_device[device]


def _equal(first: NDArray[Any] | None, second: NDArray[Any] | None) -> bool:
    if first is None or second is None:
        return first is second
    return first.shape == second.shape and bool((first == second).all())


class TreeBatch:
    """One graph of several trees (or other acyclic graphs), with node and edge tensors.

    ``N`` nodes, ``E`` edges, ``T`` trees. The structure (edges and sizes) is always on the CPU;
    the node and edge tensors are where :meth:`to` puts them, so CUDA works with a DGL built for
    the CPU.

    Arguments:
        src: ``(E,)`` int64, the node each edge leaves.
        dst: ``(E,)`` int64, the node each edge enters. The mailbox of a node holds its messages in
            the order of its edges here.
        sizes: ``(T,)`` int64, the number of nodes of each tree; the nodes of the first tree come
            first, and so on.
        ndata: node tensors, each ``(N, ...)``.
        edata: edge tensors, each ``(E, ...)``.
        depth: ``(N,)``, the number of edges between each node and its root; None if it was not
            computed or a node has several parents.

    Attributes:
        cache: results that depend only on the structure, such as schedules
            (:class:`~dgltrees.trees.batch.Cache`); shared by all batches of the same structure.
    """

    def __init__(
        self,
        src: Tensor,
        dst: Tensor,
        sizes: Tensor,
        *,
        ndata: Mapping[str, Tensor] | None = None,
        edata: Mapping[str, Tensor] | None = None,
        depth: NDArray[np.int32] | None = None,
    ) -> None:
        self.src, self.dst, self.sizes = src, dst, sizes
        self.ndata: dict[str, Tensor] = dict(ndata or {})
        self.edata: dict[str, Tensor] = dict(edata or {})
        self.depth = depth
        self.num_nodes = int(sizes.sum()) if depth is None else len(depth)
        self.cache = Cache()
        self._moved: list[_Moved] = []  # tensors on another device, and their originals here

    @classmethod
    def from_graph(cls, graph: DGLGraph) -> TreeBatch:
        """A batch with the edges, sizes and data of a homogeneous DGL graph, batched or not.

        Raises:
            TreeError: it is no such graph.
        """
        if not getattr(graph, "is_homogeneous", False):
            several = hasattr(graph, "is_homogeneous")
            got = "one with several types of nodes or edges" if several else type(graph).__name__
            raise TreeError(
                f"expected a DGLGraph with one type of nodes and edges, or a TreeBatch, got {got}; "
                "builders such as from_networkx make a Forest, and forest.batch() a TreeBatch"
            )
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
        """Pickle structure and data as arrays on the CPU, without the cache."""
        structure = [_array(tensor) for tensor in (self.src, self.dst, self.sizes, self.roots)]
        data = ({name: _array(t) for name, t in d.items()} for d in (self.ndata, self.edata))
        return _unpickle, (structure, *data, self.depth)

    @property
    def num_trees(self) -> int:
        """The number of trees."""
        return len(self.sizes)

    @property
    def device(self) -> torch.device:
        """The device of the node and edge tensors."""
        for tensor in (*self.ndata.values(), *self.edata.values()):
            return tensor.device
        return torch.device("cpu")

    @cached_property
    def roots(self) -> Tensor:
        """``(T,)`` int64 on :attr:`device`: the root of each tree, the node that no edge leaves.

        Graphs that are not trees may have several, so that there are more than ``T``.
        """
        depth: NDArray[Any] | None = self.depth
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
            ConfigError: DGL is not installed.
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
        """Copy the node tensors to :attr:`graph`, if it exists already."""
        if "graph" in self.__dict__ and self.device.type == "cpu":
            self.graph.ndata.update(self.ndata)

    def _like(self, ndata: Mapping[str, Tensor], edata: Mapping[str, Tensor]) -> TreeBatch:
        """A batch with the same structure and cache, and other data."""
        batch = TreeBatch(
            self.src, self.dst, self.sizes, ndata=ndata, edata=edata, depth=self.depth
        )
        batch.cache, batch._moved = self.cache, list(self._moved)
        if "roots" in self.__dict__:  # they cannot be told from reversed edges
            batch.__dict__["roots"] = self.roots.to(batch.device)
        return batch

    def with_data(self, ndata: Mapping[str, Tensor]) -> TreeBatch:
        """The same batch with other node tensors, each ``(N, ...)``."""
        return self._like(ndata, self.edata)

    def on_host(self, tensor: Tensor) -> Tensor:
        """An integer tensor on the CPU; one that :meth:`to` moved is not copied back."""
        if tensor.device.type == "cpu":
            return tensor
        for pair in self._moved:
            if pair.moved is tensor and pair.still_equal():
                return pair.original
        return tensor.cpu()

    def reversed(self) -> TreeBatch:
        """The same batch with ``src`` and ``dst`` exchanged: edges from parent to child.

        :attr:`roots` stay the roots of the trees. All reversed batches of one structure share a
        cache, so that a traversal of them is planned once.
        """
        batch = TreeBatch(self.dst, self.src, self.sizes, ndata=self.ndata, edata=self.edata)
        batch.cache = self.cache.get("reversed", Cache)
        batch.cache.get("reversed", lambda: self.cache)  # reversed twice is this batch again
        batch._moved = self._moved
        batch.__dict__["roots"] = self.roots
        return batch

    def to(self, device: str | torch.device) -> TreeBatch:
        """The same batch with node and edge tensors on ``device``; itself if they are there.

        Copies from page-locked memory (:meth:`pin_memory`) do not block.
        """
        tensors = (*self.ndata.values(), *self.edata.values())
        if tensors and all(tensor.device == torch.device(device) for tensor in tensors):
            return self

        def move(data: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return {name: tensor.to(device, non_blocking=True) for name, tensor in data.items()}

        batch = self._like(move(self.ndata), move(self.edata))
        for originals, moved in ((self.ndata, batch.ndata), (self.edata, batch.edata)):
            for name, tensor in originals.items():
                if tensor.device.type == "cpu" and not tensor.is_floating_point():
                    batch._moved.append(_Moved.pair(tensor, moved[name]))
        return batch

    def pin_memory(self) -> TreeBatch:
        """The same batch with node and edge tensors in page-locked memory, for copies to a GPU."""
        return self._like(
            {name: tensor.pin_memory() for name, tensor in self.ndata.items()},
            {name: tensor.pin_memory() for name, tensor in self.edata.items()},
        )


def _array(tensor: Tensor) -> NDArray[Any]:
    return np.asarray(tensor.detach().cpu().numpy())


def _unpickle(
    structure: list[NDArray[np.int64]],
    ndata: dict[str, NDArray[Any]],
    edata: dict[str, NDArray[Any]],
    depth: NDArray[np.int32] | None,
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
    batch.__dict__["roots"] = roots  # they cannot be told from reversed edges
    return batch


class _Moved(NamedTuple):
    """A tensor on the CPU, its copy on a device, and both versions when it was copied."""

    original: Tensor
    moved: Tensor
    versions: tuple[int, int]

    @classmethod
    def pair(cls, original: Tensor, moved: Tensor) -> _Moved:
        return cls(original, moved, (_version(original), _version(moved)))

    def still_equal(self) -> bool:
        """Whether neither tensor has been written to since the copy."""
        return self.versions == (_version(self.original), _version(self.moved))


def _version(tensor: Tensor) -> int:
    """How often a tensor has been written to; 0 for inference tensors, which do not count."""
    return 0 if tensor.is_inference() else tensor._version
