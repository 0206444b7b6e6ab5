"""Forests from Python objects that link to their children, and back."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import methodcaller
from typing import Any, Literal

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.builders.values import KINDS, shown, typed_columns
from dgltrees.trees.builders.walk import NodeLists, walk
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary, check_vocabs

Getter = Callable[[Any], Any] | Hashable
"""A function of an object, or an attribute, key or index."""

CHILDREN = "children"
"""The key of the children, unless another one is given or found in records."""
_PLAIN = (str, bytes, int, float, complex, list, tuple, type(None))
"""Types whose objects have no attributes for children or columns, unless a subclass adds them."""
_MOST_KEYS = 8
"""Keys from a record to its root; a longer path may be that of a cycle."""


def from_objects(
    roots: Iterable[Any],
    children: Getter | Sequence[Getter] = "children",
    columns: Sequence[str] | Mapping[str, Getter] | None = None,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    kinds: Mapping[str, str] | None = None,
    share: Literal[False] | None = None,
    source: Getter | None = None,
    file: PathLike | None = None,
) -> Forest:
    """Build a forest from objects that link to their children: dictionaries, or any objects.

    Nodes are in preorder. A *getter* selects a value of an object:

    =========== ====================================================================
    getter      value
    =========== ====================================================================
    a function  its result for the object
    a string    the value of that key (mappings), or that attribute (other objects)
    an integer  that item (lists and tuples), or the value of that key (mappings)
    =========== ====================================================================

    A missing key, attribute or item and None are missing values. The dtype of a column depends on
    its values:

    ============================== ==========================================================
    values                         column
    ============================== ==========================================================
    strings                        ``(N,)`` ids with a vocabulary, -1 where missing
    integers                       ``(N,)`` int64
    floats, or some missing        ``(N,)`` float, NaN where missing
    booleans                       ``(N,)`` bool; float if one is missing
    vectors of ``k`` numbers each  ``(N, k)``, NaN where missing
    ============================== ==========================================================

    Arguments:
        roots: the root object of each tree.
        children: the getter of the children. Its value is an iterable of objects, missing or empty
            at leaves; None in it is a missing child, whose position stays empty. A list of getters,
            such as ``["left", "right"]``, has one for each child.
        columns: the names of columns, which are getters too; or a mapping from names to getters;
            default: all keys of dictionaries except the children, and none of other objects.
        vocabs: vocabularies of columns of strings to use.
        kinds: ``"name"``, ``"number"``, ``"truth value"`` or ``"vector"`` for columns that must be
            of this kind. A column that is named here, or in ``vocabs``, may be missing everywhere,
            except for vectors, whose length would be unknown.
        share: False writes an object that occurs several times in a tree out at each place;
            default: an error. Immutable values such as strings and tuples are written out always.
        source: the getter of the origin of a node, for the errors: a line number or a string.
        file: the file of the objects, for the errors.

    Returns:
        the forest.

    Raises:
        TreeError: there is no tree, a root is None, an object contains itself or occurs several
            times in a tree, the children are not iterable, or a getter does not fit an object or
            fails; the values of a column have several kinds or an unsupported type, its vectors
            have different lengths, or it has no value at all; or a string is not in a frozen
            vocabulary.
        ConfigError: ``columns`` is neither a list of names nor a mapping from names to getters;
            ``vocabs`` or ``kinds`` has an unknown column or kind; or ``share`` is another value.

    Warns:
        UserWarning: every tree is a single node although dictionaries have lists of dictionaries,
            as with a wrong ``children``; or keys are left out by default, because their values do
            not form a column.

    Example:
        >>> plan = {"op": "join", "inputs": [{"op": "scan", "rows": 10}, {"op": "scan"}]}
        >>> from_objects([plan], "inputs", {"op": "op", "big": lambda node: "rows" in node})
        Forest(1 tree, 3 nodes, columns: op (2 names), big (bool))
    """
    getters = None if columns is None else _getters(columns, vocabs, kinds)
    if isinstance(roots, (str, bytes, Mapping)) or not isinstance(roots, Iterable):
        raise TreeError(f"expected a list of roots, got one {type(roots).__name__}; write [root]")
    lists = NodeLists(file=file)
    try:
        walk(roots, _children(children), share=share, lists=lists)
        lists.check_any()
        if len(lists.objects) == len(lists.offsets) - 1:
            _warn_of_single_nodes(lists.objects)
        if getters is None:
            names = _keys(lists.objects, children)
            getters = _getters(_readable(names, lists), vocabs, kinds)
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
    """Return the function of a getter, which resolves the access once per type of object."""
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
    """Return the result of a user's function for an object; its exceptions become TreeErrors."""
    try:
        return function(node)
    except TreeError:
        raise
    except Exception as error:
        raise TreeError(f"its function failed with {type(error).__name__}: {error}") from error


def _function_of_type(name: Hashable, kind: type) -> Callable[[Any], Any]:
    """Return the function that gets a key, an attribute or an item of objects of a type."""
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


def _keys(nodes: Sequence[Any], children: Getter | Sequence[Getter]) -> list[str]:
    """Return the keys of dictionaries that have a value, except for those of children."""
    below = children if isinstance(children, (list, tuple)) else [children]
    return list(
        dict.fromkeys(
            key
            for node in nodes
            if isinstance(node, Mapping)
            for key, value in node.items()
            if isinstance(key, str) and key not in below and value is not None
        )
    )


def _readable(names: Sequence[str], lists: NodeLists) -> list[str]:
    """Return the names whose values make a column; a warning names the others."""
    readable = []
    for name in names:
        with suppress(TreeError):
            typed_columns({name: _values(name, name, lists)}, lists.error)
            readable.append(name)
    if others := [name for name in names if name not in readable]:
        warnings.warn(
            f"keys with lists, dictionaries or values of several kinds are left out: "
            f"{', '.join(map(repr, others))}; give columns to read them with functions",
            stacklevel=5,
        )
    return readable


def nested_lists(
    records: Iterable[Any],
    paths: Collection[str] = (),
    children: str | None = None,
    *,
    recursive: bool = False,
    common: bool = False,
) -> tuple[str, str] | None:
    """Find the trees in records of JSON: the place with the most objects in lists under one key."""
    nodes: Counter[tuple[str, str]] = Counter()
    repeated: set[tuple[str, str]] = set()
    having: Counter[str] = Counter()  # the number of records with an object at a place
    total = 0
    most_keys = max([_MOST_KEYS, *(path.count(".") + 1 for path in paths)])
    for record in records:
        stack: list[tuple[tuple[str, ...], Any]] = [((), record)]
        visited: set[tuple[tuple[str, ...], int]] = set()  # an object may have several parents
        while stack:
            place, value = stack.pop()
            if not isinstance(value, Mapping) or (place, id(value)) in visited:
                continue
            visited.add((place, id(value)))
            path = ".".join(place)
            having[path] += 1
            for key, member in value.items():
                if isinstance(member, (list, tuple)):
                    if children in (None, key) and (not paths or path in paths):
                        below = _nodes_below(member, key)
                        nodes[path, key] += len(below)
                        if key == CHILDREN or any(key in node for node in below):
                            repeated.add((path, key))
                    member = member[0] if len(member) == 1 else None  # a list of one root
                if isinstance(member, Mapping) and "." not in key and len(place) < most_keys:
                    stack.append(((*place, key), member))
        total += 1
    found = [
        each
        for each, count in nodes.items()
        if count
        and (each in repeated or not recursive)
        and (2 * having[each[0]] >= total or not common)
    ]
    if not found:
        return None
    depths = {each: each[0].count(".") + bool(each[0]) for each in found}
    return max(found, key=lambda each: (nodes[each], each in repeated, -depths[each]))


def _nodes_below(members: Sequence[Any], key: str) -> list[Mapping[str, Any]]:
    """Return the objects in lists under one key, each once."""
    nodes: list[Mapping[str, Any]] = []
    visited: set[int] = set()
    stack = [members]
    while stack:
        for node in stack.pop():
            if isinstance(node, Mapping) and id(node) not in visited:
                visited.add(id(node))
                nodes.append(node)
                children = node.get(key)
                if isinstance(children, (list, tuple)):
                    stack.append(children)
    return nodes


def _warn_of_single_nodes(roots: Sequence[Any]) -> None:
    """Warn if trees of a single node contain lists of dictionaries."""
    found = nested_lists(roots)
    if found is not None:
        path, key = found
        where = f", in the value of {path!r}" if path else ""
        warnings.warn(
            "every tree is a single node, although objects have lists of objects; did you mean "
            f"children={key!r}{where}?",
            stacklevel=5,
        )


def _getters(
    columns: Sequence[str] | Mapping[str, Getter],
    vocabs: Mapping[str, Vocabulary] | None,
    kinds: Mapping[str, str] | None,
) -> dict[str, Getter]:
    """Return the getter of each column, and check that vocabularies and kinds are of columns."""
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
    check_vocabs(vocabs or {}, getters)
    for name, kind in (kinds or {}).items():
        if name not in getters or kind not in KINDS:
            raise ConfigError(
                f"kinds: expected columns of {', '.join(getters)} with one of {', '.join(KINDS)}, "
                f"got {name}: {kind}"
            )
    return getters


def _children(children: Getter | Sequence[Getter]) -> Callable[[Any], Iterable[Any]]:
    """Return the function of the children for ``walk``."""
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
    get, values = getter_function(getter), []
    try:
        for node in lists.objects:
            values.append(get(node))
    except TreeError as error:
        message = f"column {name!r}: {error.message}"
        raise lists.error(message, len(values)) from error.__cause__
    return values


def to_objects(forest: Forest, tree: int = 0, children: str = "children") -> dict[str, Any]:
    """Convert a tree to nested dictionaries of its columns, the inverse of :func:`from_objects`.

    Ids become names, and vectors become lists. A missing name has no key, and a missing child is
    None in the list of children. Leaves have no list.

    Arguments:
        forest: the trees.
        tree: the index of the tree.
        children: the key of the children.

    Returns:
        the root.

    Raises:
        ConfigError: a column has the name ``children`` too.
        IndexError: the tree does not exist.

    Example:
        >>> from dgltrees.trees import Forest
        >>> to_objects(Forest.build([-1, 0], columns={"x": [1, 2]}))
        {'x': 1, 'children': [{'x': 2}]}
    """
    chosen = forest[tree]
    if children in chosen.columns:
        raise ConfigError(f"children: expected another key than the columns have, got {children!r}")
    nodes, up, pos = records(chosen), chosen.parent, chosen.pos
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
    """Convert the columns of each node to a dictionary; ids become names, missing names no key."""
    nodes: list[dict[str, Any]] = [{} for _ in range(forest.num_nodes)]
    for name, column in forest.columns.items():
        values: Iterable[Any] = column.tolist()
        if name in forest.vocabs:
            values = map([*forest.vocabs[name].names, None].__getitem__, values)
        for node, value in zip(nodes, values):
            if value is not None:
                node[name] = value
    return nodes
