"""Forests of any Python objects that link to their children."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from operator import methodcaller
from typing import Any

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.builders.values import KINDS, shown, typed_columns
from dgltrees.trees.builders.walk import NodeLists, walk
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary, check_vocabs

Getter = Callable[[Any], Any] | Hashable
"""A function of an object, or the name of an attribute, a key or an index."""

_PLAIN = (str, bytes, int, float, complex, list, tuple, type(None))
"""Types of objects that have no children and columns as attributes, unless a subclass adds them."""


def from_objects(
    roots: Iterable[Any],
    children: Getter | Sequence[Getter] = "children",
    columns: Sequence[str] | Mapping[str, Getter] = (),
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    kinds: Mapping[str, str] | None = None,
    repeat_shared: bool = False,
    source: Getter | None = None,
    file: PathLike | None = None,
) -> Forest:
    """A forest of objects that link to their children: dictionaries, or objects of any class.

    The query plans that PostgreSQL prints for ``EXPLAIN (FORMAT JSON)``, for example::

        plans = json.loads(text)
        forest = from_objects(
            [plan["Plan"] for plan in plans], "Plans", ["Node Type", "Plan Rows", "Total Cost"]
        )

    Nodes are in preorder. What an object holds is said by a *getter*:

    =========== ====================================================================
    getter      value
    =========== ====================================================================
    a function  what it returns for the object
    a text      of a mapping the value of that key; of any other object that attribute
    an integer  of a list or tuple that item; of a mapping the value of that key
    =========== ====================================================================

    A mapping without the key, an object without the attribute, a short list and None are missing
    values. The kind of a column follows from its values:

    ============================== ==========================================================
    values                         column
    ============================== ==========================================================
    texts, some missing            ``(N,)`` ids with a vocabulary, -1 where missing
    integers                       ``(N,)`` int64
    floats, or some missing        ``(N,)`` float, NaN where missing
    truth values                   ``(N,)`` bool; as floats where one is missing
    vectors of ``k`` numbers each  ``(N, k)``, NaN where missing
    ============================== ==========================================================

    Arguments:
        roots: the root object of each tree.
        children: where an object has its children. The value is an iterable of objects, of which
            None is a missing child, whose position no other child takes; missing or empty at
            leaves. A list of getters, such as ``["left", "right"]``, is one child each.
        columns: the names of columns, which are getters too; or a mapping from names to getters.
        vocabs: vocabularies of columns of texts to use.
        kinds: ``"name"``, ``"number"``, ``"truth value"`` or ``"vector"`` for columns that have to
            be of this kind. A column that is named here, or in ``vocabs``, may be missing
            everywhere; but for vectors, of which nobody knows the length then.
        repeat_shared: an object at several places of a tree is a node at each, instead of an error.
            Immutable values such as strings and tuples always are.
        source: where a node comes from, its line as an integer or a text, for the errors.
        file: the file of the objects, for the errors.

    Raises:
        TreeError: with tree and node: there is no tree, a root is None, an object contains itself
            or is at several places of a tree, the children are no iterable, a getter does not fit
            an object or fails; the values of a column are of several kinds or of none of these,
            vectors have unlike lengths, no node has a value; a text is not in a frozen vocabulary.
        ConfigError: ``columns`` is no list of names and no mapping of names to getters; ``vocabs``
            or ``kinds`` has another column, or ``kinds`` another kind.
    """
    getters = _getters(columns)
    check_vocabs(vocabs or {}, getters)
    for name, kind in (kinds or {}).items():
        if name not in getters or kind not in KINDS:
            raise ConfigError(
                f"kinds: expected columns of {', '.join(getters)} with one of {', '.join(KINDS)}, "
                f"got {name}: {kind}"
            )
    if isinstance(roots, (str, bytes, Mapping)) or not isinstance(roots, Iterable):
        raise TreeError(f"expected a list of roots, got one {type(roots).__name__}; write [root]")
    lists = NodeLists(file=file)
    try:
        walk(roots, _children(children), repeat_shared=repeat_shared, lists=lists)
        lists.check_any()
        values = {name: _values(name, getter, lists) for name, getter in getters.items()}
        return lists.walked(*typed_columns(values, lists.error, vocabs, kinds))
    except TreeError as error:
        if source is None or error.node is None:
            raise
        row = lists.offsets[error.tree or 0] + error.node
        place = getter_function(source)(lists.objects[row])
        line, text = (place, "") if isinstance(place, int) else (None, f"{place}: ")
        raise TreeError(
            text + error.message, file=file, line=line, tree=error.tree, node=error.node
        ) from error.__cause__


def getter_function(getter: Getter) -> Callable[[Any], Any]:
    """The function of a getter, which finds out once per type of objects how it gets the value."""
    if callable(getter):
        return partial(_result_of, getter)
    functions: dict[type, Callable[[Any], Any]] = {}

    def get(node: Any) -> Any:
        kind = type(node)
        if kind not in functions:
            functions[kind] = _function_of_type(getter, kind)
        return functions[kind](node)

    return get


def _result_of(function: Callable[[Any], Any], node: Any) -> Any:
    """What a user's function returns for an object; its failure is an error of ours."""
    try:
        return function(node)
    except TreeError:
        raise
    except Exception as error:
        raise TreeError(f"its function failed with {type(error).__name__}: {error}") from error


def _function_of_type(name: Hashable, kind: type) -> Callable[[Any], Any]:
    """The function that gets a key, an attribute or an item of objects of a type."""
    if issubclass(kind, Mapping):
        return methodcaller("get", name)
    if isinstance(name, int) and issubclass(kind, (list, tuple)):
        return lambda node: node[name] if -len(node) <= name < len(node) else None
    if isinstance(name, str) and (hasattr(kind, name) or not issubclass(kind, _PLAIN)):
        return lambda node: getattr(node, name, None)

    def refuse(node: Any) -> Any:
        kinds = "an object or mapping" if isinstance(name, str) else "a list, tuple or mapping"
        raise TreeError(
            f"expected {kinds} to get {name!r} from, got {shown(node)}; give a function instead"
        )

    return refuse


def _getters(columns: Sequence[str] | Mapping[str, Getter]) -> dict[str, Getter]:
    if isinstance(columns, str):
        raise ConfigError(
            f"columns: expected a list of names, got {columns!r}; write [{columns!r}]"
        )
    names = list(columns)
    getters = dict(zip(names, columns.values() if isinstance(columns, Mapping) else names))
    for name in getters:
        if not isinstance(name, str):
            raise ConfigError(
                f"columns: expected names, got {name!r}; write {{'name': {name!r}}} for a column "
                "of this key or index"
            )
    return getters


def _children(children: Getter | Sequence[Getter]) -> Callable[[Any], Iterable[Any]]:
    """The function that ``walk`` needs."""
    if isinstance(children, (list, tuple)):
        places = [getter_function(getter) for getter in children]
        return lambda node: [place(node) for place in places]
    get = getter_function(children)

    def children_of(node: Any) -> Iterable[Any]:
        below = get(node)
        if below is None:
            return ()
        if isinstance(below, (list, tuple)):
            return below
        if isinstance(below, Iterable) and not isinstance(below, (str, bytes, Mapping)):
            return list(below)
        raise TreeError(
            f"expected a list of children, got {shown(below)}; give a function that makes one"
        )

    return children_of


def _values(name: str, getter: Getter, lists: NodeLists) -> list[Any]:
    """The values of a column."""
    get, values, kinds = getter_function(getter), [], set(map(type, lists.objects))
    if len(kinds) == 1 and not callable(getter):
        get = _function_of_type(getter, kinds.pop())
    try:
        for node in lists.objects:
            values.append(get(node))
    except TreeError as error:
        message = f"column {name!r}: {error.message}"
        raise lists.error(message, len(values)) from error.__cause__
    return values


def to_objects(forest: Forest, tree: int = 0, children: str = "children") -> dict[str, Any]:
    """One tree as nested dictionaries: its columns, and under ``children`` a list where it has any.

    Ids are names again, and vectors are lists. A missing name has no entry, a missing child is
    None in the list. ``from_objects([to_objects(forest)], columns=list(forest.columns))`` is the
    tree again, with nodes in preorder.

    Arguments:
        forest: the trees.
        tree: the index of the tree.
        children: the key of the children.

    Raises:
        ConfigError: a column has the name ``children`` too.
        IndexError: there is no such tree.
    """
    chosen = forest[tree]
    if children in chosen.columns:
        raise ConfigError(f"children: expected another key than the columns have, got {children!r}")
    nodes = records(chosen)
    up, pos = chosen.parent, chosen.pos
    widths = np.zeros(len(nodes), np.int64)
    np.maximum.at(widths, up[up >= 0], pos[up >= 0] + 1)
    for node, width in zip(nodes, widths.tolist()):
        if width:
            node[children] = [None] * width
    for node, parent, place in zip(nodes, up.tolist(), pos.tolist()):
        if parent >= 0:
            nodes[parent][children][place] = node
    return nodes[int(chosen.roots[0])]


def records(forest: Forest) -> list[dict[str, Any]]:
    """The columns of each node as a dictionary; ids are names, and a missing name has no entry."""
    nodes: list[dict[str, Any]] = [{} for _ in range(forest.num_nodes)]
    for name, column in forest.columns.items():
        values: Iterable[Any] = column.tolist()
        if name in forest.vocabs:
            values = map([*forest.vocabs[name].names, None].__getitem__, values)
        for node, value in zip(nodes, values):
            if value is not None:
                node[name] = value
    return nodes
