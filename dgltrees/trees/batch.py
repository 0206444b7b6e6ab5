"""Batches of trees: the graph and the tensors that a model reads, and a cache of results."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees._dgl import need_dgl
from dgltrees.errors import TreeError
from dgltrees.trees.heterographs import from_heterograph, to_heterograph
from dgltrees.trees.segments import owner

if TYPE_CHECKING:
    from dgl import DGLGraph

    from dgltrees.trees.vocabulary import Vocabulary


T = TypeVar("T")
Values = Sequence[NDArray[Any] | None]

_CPU = torch.device("cpu")


class Cache:
    """Results that depend only on the structure of a batch, each computed once.

    Every batch has one as ``batch.cache``. Batches with the same structure share it, such as those
    that ``batch.to``, ``batch.with_data`` and ``batch.pin_memory`` return.

    Example:
        >>> from dgltrees.trees import Forest
        >>> batch = Forest.build([-1, 0, 0]).batch()
        >>> batch.cache.get("in_degree", lambda: torch.bincount(batch.dst, minlength=3))
        tensor([2, 0, 0])
    """

    def __init__(self) -> None:
        # by key, with the values of each result and its copies by device
        self._entries: dict[Hashable, list[tuple[Values, dict[torch.device, Any]]]] = {}

    def get(
        self,
        key: Hashable,
        make: Callable[[], T],
        *,
        values: Values = (),
        device: str | torch.device | None = None,
    ) -> T:
        """Return the result of ``make()``, which is called only the first time."""
        entries = self._entries.setdefault(key, [])
        by_device: dict[torch.device, Any] | None = None
        for earlier, copies in entries:
            if all(map(np.array_equal, cast(Any, earlier), cast(Any, values))):
                by_device = copies
                break
        if by_device is None:
            with torch.inference_mode(False):  # training may need the same tensors later
                by_device = {_CPU: make()}
            entries.append(([None if v is None else v.copy() for v in values], by_device))
        place = _CPU if device is None else torch.device(device)
        if place not in by_device:
            result: Any = by_device[_CPU]
            with torch.inference_mode(False):
                by_device[place] = None if result is None else result.to(place)
        return cast(T, by_device[place])


class TreeBatch:
    """One graph of several trees (or of other acyclic graphs), with node and edge tensors.

    A batch has ``T`` trees, ``N`` nodes and ``E`` edges. Its structure (edges and sizes) is always
    on the CPU. Only the node and edge tensors move with :meth:`to`, so a GPU needs no CUDA build of
    DGL. :meth:`Forest.batch <dgltrees.trees.forest.Forest.batch>` makes batches.

    Arguments:
        src: ``(E,)`` int64, the node that each edge leaves.
        dst: ``(E,)`` int64, the node that each edge enters. The mailbox of a node holds its
            messages in the order of its edges here.
        sizes: ``(T,)`` int64, the number of nodes of each tree. The nodes of the first tree come
            first, then those of the second, and so on.
        ndata: node tensors, each ``(N, ...)``.
        edata: edge tensors, each ``(E, ...)``.
        depth: ``(N,)``, the number of edges between each node and its root; None if unknown, or if
            a node has several parents.
        etype_names: the names of the edge types that ``edata["etype"]`` (or, if that is missing,
            ``edata["pos"]``) holds as numbers; None if the type of an edge is the position of its
            child.

    Attributes:
        cache: results that depend only on the structure, such as schedules
            (:class:`~dgltrees.trees.batch.Cache`).
        vocabs: the vocabularies of a forest's columns of ids; none after pickling.

    Example:
        >>> from dgltrees.trees import Forest
        >>> forest = Forest.build([-1, 0, 0, -1, 0], offsets=[0, 3, 5], columns={"x": range(5)})
        >>> batch = forest.batch()
        >>> batch.src, batch.dst  # edges from child to parent
        (tensor([1, 2, 4]), tensor([0, 0, 3]))
        >>> batch.ndata["x"]
        tensor([0, 1, 2, 3, 4])
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
        etype_names: Sequence[str] | None = None,
    ) -> None:
        self.src, self.dst, self.sizes = src, dst, sizes
        self.ndata: dict[str, Tensor] = dict(ndata or {})
        self.edata: dict[str, Tensor] = dict(edata or {})
        self.depth = depth
        self.etype_names = None if etype_names is None else tuple(etype_names)
        self.num_nodes = int(sizes.sum()) if depth is None else len(depth)
        self.cache = Cache()
        self.vocabs: Mapping[str, Vocabulary] = {}
        self._moved: list[_Moved] = []  # tensors on another device, and their originals here

    @classmethod
    def from_graph(cls, graph: DGLGraph, etype_names: Sequence[str] | None = None) -> TreeBatch:
        """Make a batch from a DGL graph with one type of nodes, batched or not.

        The edge types of a heterograph become numbers in ``edata["etype"]``, with their names in
        ``etype_names``; those of ``child0``, ``child1``, ... become ``edata["pos"]`` too. The
        messages in a mailbox are in the order of ``edata["pos"]`` or, if that is missing, of edge
        types. Positions may have gaps; from 1, position 0 is empty. :meth:`heterograph` converts
        back.

        Arguments:
            graph: the graph; its edges, batch sizes, node data and edge data are used.
            etype_names: the names of the edge types in the order of their numbers; default: child
                positions by position, other types by the numbers in ``edata["etype"]`` or, if that
                is missing, in the order of ``graph.etypes``.

        Returns:
            the batch.

        Raises:
            TreeError: the argument is no such graph, edges of a type lack the data of another one,
                or edge data contradict the type of an edge.
            ConfigError: an edge type is not in ``etype_names``.

        Example:
            >>> import dgl
            >>> left, right = ("node", "LEFT", "node"), ("node", "RIGHT", "node")
            >>> graph = dgl.heterograph({left: ([0], [1]), right: ([0, 1], [2, 3])})
            >>> batch = TreeBatch.from_graph(graph)
            >>> batch.etype_names, batch.edata["etype"]
            (('LEFT', 'RIGHT'), tensor([0, 1, 1]))
        """
        if not hasattr(graph, "is_homogeneous"):
            raise TreeError(
                f"expected a DGLGraph or a TreeBatch, got {type(graph).__name__}; builders such as "
                "from_networkx make a Forest, and forest.batch() a TreeBatch"
            )
        edges = from_heterograph(graph, etype_names)
        return cls(
            edges.src,
            edges.dst,
            graph.batch_num_nodes().long().cpu(),
            ndata=dict(graph.ndata),
            edata=edges.edata,
            etype_names=edges.names,
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
        return _unpickle, (structure, *data, self.depth, self.etype_names)

    def __deepcopy__(self, memo: dict[int, Any]) -> TreeBatch:
        """Copy the data; tensors with a history are detached."""
        ndata, edata = (
            {name: deepcopy(t if t.is_leaf else t.detach(), memo) for name, t in data.items()}
            for data in (self.ndata, self.edata)
        )
        return self._like(ndata, edata)

    @property
    def num_trees(self) -> int:
        """The number of trees."""
        return len(self.sizes)

    @property
    def device(self) -> torch.device:
        """The device of the node and edge tensors."""
        for tensor in (*self.ndata.values(), *self.edata.values()):
            return tensor.device
        return _CPU

    @cached_property
    def roots(self) -> Tensor:
        """``(T,)`` int64 on :attr:`device`: the root of each tree, the node that no edge leaves.

        An acyclic graph that is not a tree may have several roots; then there are more than ``T``.
        """
        depth: NDArray[Any] | None = self.depth
        if depth is None:
            depth = np.bincount(self.src.numpy(), minlength=self.num_nodes)
        with torch.inference_mode(False):  # training may need them later
            roots = torch.from_numpy(np.equal(depth, 0).nonzero()[0])
            return roots.to(self.device, non_blocking=True)

    @cached_property
    def tree_of_node(self) -> Tensor:
        """``(N,)`` int64 on :attr:`device`: the index of the tree that each node belongs to."""
        with torch.inference_mode(False):  # training may need it later
            return owner(self.sizes).to(self.device, non_blocking=True)

    @property
    def graph(self) -> DGLGraph:
        """The batch as a DGL graph on the CPU, which shares the node and edge tensors on the CPU.

        Raises:
            TreeError: a tensor is on another device.
            ConfigError: DGL is not installed.
        """
        if self.device.type != "cpu":
            raise TreeError(
                f"expected tensors on the CPU, where DGL's graph is, got {self.device}; use "
                'batch.to("cpu")'
            )
        graph = self._built[0]
        self.refresh_graph()
        return graph

    @cached_property
    def _built(self) -> tuple[DGLGraph, dict[str, Tensor], dict[str, Tensor]]:
        """The DGL graph, and the node and edge tensors that were put into it."""
        graph = need_dgl("TreeBatch.graph").graph((self.src, self.dst), num_nodes=self.num_nodes)
        graph.set_batch_num_nodes(self.sizes)
        tree_of_edge = owner(self.sizes)[self.dst]
        graph.set_batch_num_edges(torch.bincount(tree_of_edge, minlength=self.num_trees))
        return graph, {}, {}

    def refresh_graph(self) -> None:
        """Put tensors that are new here into :attr:`graph`, if that was already built."""
        if "_built" in self.__dict__ and self.device.type == "cpu":
            graph, *shared = self._built
            pairs = (self.ndata, graph.ndata), (self.edata, graph.edata)
            for (here, there), put in zip(pairs, shared):
                new = {name: t for name, t in here.items() if put.get(name) is not t}
                there.update(new)
                put.update(new)

    def heterograph(self) -> DGLGraph:
        """Make a DGL graph with named edge types, ``("node", NAME, "node")``.

        The names are ``etype_names`` or, if that is None, ``child0``, ``child1``, ..., the
        positions of the children. The types are in the order of their numbers, so
        ``dgl.to_homogeneous`` writes ``edata["etype"]`` as ``edata[dgl.ETYPE]``. All node and edge
        data are carried, and the graph is batched. :meth:`from_graph` converts back.

        Returns:
            the graph, on the CPU.

        Raises:
            TreeError: the number of an edge type has no name, there are more than 1,000 types, or
                a tensor is on another device.
            ConfigError: DGL is not installed.

        Example:
            >>> from dgltrees.trees import Forest
            >>> Forest.build([-1, 0, 0, 1]).batch().heterograph().num_edges("child0")
            2
        """
        now = self.with_data(self.ndata)  # the graph of this batch may have other data
        return to_heterograph(now.graph, self.etype_names)

    def _like(self, ndata: Mapping[str, Tensor], edata: Mapping[str, Tensor]) -> TreeBatch:
        """Return a batch with the same structure and cache, and other data."""
        batch = TreeBatch(
            self.src,
            self.dst,
            self.sizes,
            ndata=ndata,
            edata=edata,
            depth=self.depth,
            etype_names=self.etype_names,
        )
        batch.cache, batch._moved = self.cache, list(self._moved)
        batch.vocabs = self.vocabs
        if "roots" in self.__dict__:  # they cannot be told from reversed edges
            batch.__dict__["roots"] = self.roots.to(batch.device)
        return batch

    def with_data(self, ndata: Mapping[str, Tensor]) -> TreeBatch:
        """Return the same batch with other node tensors.

        Arguments:
            ndata: node tensors, each ``(N, ...)``; they replace all node tensors.

        Returns:
            a batch that shares structure, edge tensors and cache with this one.
        """
        return self._like(ndata, self.edata)

    def on_host(self, tensor: Tensor) -> Tensor:
        """Return an integer tensor on the CPU.

        Arguments:
            tensor: the tensor. If :meth:`to` moved it, the original is returned without a copy.

        Returns:
            the tensor on the CPU.
        """
        if tensor.device.type == "cpu":
            return tensor
        for pair in self._moved:
            if pair.moved is tensor and pair.versions == _versions(pair.original, tensor):
                return pair.original
        return tensor.cpu()

    def reversed(self) -> TreeBatch:
        """Return the same batch with edges from parent to child: ``src`` and ``dst`` are exchanged.

        :attr:`roots` do not change. All reversed batches of one structure share a cache, so a
        traversal of them is planned once.

        Returns:
            a batch that shares the tensors of this one.
        """
        batch = self._like(self.ndata, self.edata)
        batch.src, batch.dst, batch.depth = self.dst, self.src, None
        batch.cache = self.cache.get("reversed", Cache)
        batch.cache.get("reversed", lambda: self.cache)  # reversed twice is this batch again
        batch.__dict__["roots"] = self.roots
        return batch

    def to(self, device: str | torch.device) -> TreeBatch:
        """Return the same batch with node and edge tensors on a device.

        Arguments:
            device: the device. Copies from page-locked memory (:meth:`pin_memory`) do not block.

        Returns:
            a batch with the same structure and cache, or this batch if all tensors are on the
            device.
        """
        tensors = (*self.ndata.values(), *self.edata.values())
        if tensors and all(tensor.device == torch.device(device) for tensor in tensors):
            return self

        ahead = torch.device(device).type != "cpu"  # on the CPU they could be read too early

        def move(data: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return {name: tensor.to(device, non_blocking=ahead) for name, tensor in data.items()}

        batch = self._like(move(self.ndata), move(self.edata))
        for originals, moved in ((self.ndata, batch.ndata), (self.edata, batch.edata)):
            for name, tensor in originals.items():
                if tensor.device.type == "cpu" and not tensor.is_floating_point():
                    copy = moved[name]
                    batch._moved.append(_Moved(tensor, copy, _versions(tensor, copy)))
        return batch

    def pin_memory(self) -> TreeBatch:
        """Move node and edge tensors to page-locked memory, for faster copies to a GPU.

        Returns:
            a batch with the same structure and cache.
        """
        return self._like(
            {name: tensor.pin_memory() for name, tensor in self.ndata.items()},
            {name: tensor.pin_memory() for name, tensor in self.edata.items()},
        )


def _array(tensor: Tensor) -> Any:
    plain = tensor.detach().cpu()
    try:
        return np.asarray(plain.numpy())
    except TypeError:  # numpy has no bfloat16
        return plain


def _unpickle(
    structure: list[NDArray[np.int64]],
    ndata: dict[str, NDArray[Any]],
    edata: dict[str, NDArray[Any]],
    depth: NDArray[np.int32] | None,
    etype_names: tuple[str, ...] | None,
) -> TreeBatch:
    src, dst, sizes, roots = map(torch.from_numpy, structure)
    batch = TreeBatch(
        src,
        dst,
        sizes,
        ndata={name: torch.as_tensor(array) for name, array in ndata.items()},
        edata={name: torch.as_tensor(array) for name, array in edata.items()},
        depth=depth,
        etype_names=etype_names,
    )
    batch.__dict__["roots"] = roots  # they cannot be told from reversed edges
    return batch


class _Moved(NamedTuple):
    """A tensor on the CPU, its copy on a device, and both versions at the time of the copy."""

    original: Tensor
    moved: Tensor
    versions: list[int]


def _versions(*tensors: Tensor) -> list[int]:
    """Count the writes to tensors; 0 for inference tensors, which have no version counter."""
    return [0 if tensor.is_inference() else tensor._version for tensor in tensors]
