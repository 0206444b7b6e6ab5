"""Forests from Python objects that link to their children, and back."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from operator import methodcaller
from typing import Any, Literal

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError, settings_called
from dgltrees.trees.builders.walk import NodeLists, walk
from dgltrees.trees.columns_of import columns_of, columns_of_values, shown, with_numbers
from dgltrees.trees.forest import Forest
from dgltrees.trees.layout import CHILDREN, Evidence, at_path, single
from dgltrees.trees.vocabulary import Vocabulary, check_vocabs, freeze_new

Getter = Callable[[Any], Any] | Hashable
"""A function of an object, or an attribute, key or index."""

_PLAIN = (str, bytes, int, float, complex, list, tuple, type(None))
"""Types whose objects have no attributes for children or columns, unless a subclass adds them."""


def from_objects(
    roots: Iterable[Any],
    children: Getter | Sequence[Getter] | None = None,
    columns: Sequence[str] | Mapping[str, Getter] | None = None,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    categorical_columns: Collection[str] = (),
    share: Literal[False] | None = None,
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

    A missing key, attribute or item, None, NaN and an empty list are missing values. The dtype of a
    column depends on its values, which have one kind:

    ============================== ==========================================================
    values                         column
    ============================== ==========================================================
    strings                        ``(N,)`` ids with a vocabulary, -1 where missing
    integers                       ``(N,)`` int64
    floats, or some missing        ``(N,)`` float, NaN where missing
    booleans                       ``(N,)`` bool; float if one is missing
    vectors of ``k`` numbers each  ``(N, k)``, NaN where missing
    other lists                    as strings: their JSON text
    strings which are all numbers  numbers, unless one has leading zeros
    ============================== ==========================================================

    Members of dictionaries in dictionaries are columns such as ``cost.cpu``. Columns are the same
    as those of :func:`dgltrees.read` and of the estimators.

    Arguments:
        roots: the root object of each tree, or dictionaries that contain it.
        children: the getter of the children. Its value is an iterable of objects, missing or empty
            at leaves; None in it is a missing child, whose position stays empty. A list of getters,
            such as ``["left", "right"]``, has one for each child. Default: ``children`` for
            objects; for dictionaries, the key of the children and the path to the root are
            inferred, see :func:`~dgltrees.trees.layout.infer_layout`.
        columns: the names of columns, which are getters too; or a mapping from names to getters;
            default: all keys of dictionaries except the children, and none of other objects.
        vocabs: vocabularies of columns of strings to use.
        categorical_columns: columns to read as strings, even if their values are numbers, or have
            several kinds.
        share: False writes an object that occurs several times in a tree out at each place;
            default: an error. Immutable values such as strings and tuples are written out always.
        file: the file of the objects, for the errors.

    Returns:
        the forest.

    Raises:
        TreeError: there is no tree, a root is None, an object contains itself or occurs several
            times in a tree, the children are not iterable, or the dictionaries do not decide where
            they are; a getter does not fit an object or fails; the values of a column have several
            kinds or an unsupported type, or its vectors have different lengths; or a string is not
            in a frozen vocabulary.
        ConfigError: ``columns`` is neither a list of names nor a mapping from names to getters;
            ``vocabs`` has an unknown column; or ``share`` is another value.

    Warns:
        UserWarning: every tree is a single node although dictionaries have lists of dictionaries,
            as with a wrong ``children``; or a column that is named has no value.

    Example:
        >>> plan = {"op": "join", "inputs": [{"op": "scan", "rows": 10}, {"op": "scan"}]}
        >>> from_objects([plan], "inputs", {"op": "op", "big": lambda node: "rows" in node})
        Forest(1 tree, 3 nodes, columns: op (2 names), big (bool))
    """
    getters = None if columns is None else _getters(columns)
    if isinstance(roots, (str, bytes, Mapping)) or not isinstance(roots, Iterable):
        raise TreeError(f"expected a list of roots, got one {type(roots).__name__}; write [root]")
    if children is None:
        roots, children = _located([*roots])
    lists = NodeLists(file=file)
    walk(roots, _children(children), share=share, lists=lists)
    lists.check_any()
    if len(lists.objects) == len(lists.offsets) - 1:
        _warn_of_single_nodes(lists.objects)
    known, chosen = dict(vocabs or {}), list(getters or ())
    with settings_called({"data.categorical_columns": "categorical_columns"}):
        if getters is None or (
            all(name == getter for name, getter in getters.items())
            and all(isinstance(node, Mapping) for node in lists.objects)
        ):
            below = children if isinstance(children, (list, tuple)) else [children]
            arrays, found = columns_of(
                [node if isinstance(node, Mapping) else {} for node in lists.objects],
                lists.error,
                vocabs=known,
                names=categorical_columns,
                without=[(key,) for key in below if getters is None],
                wanted=None if getters is None else chosen,
            )
            chosen = chosen or list(arrays)
            check_vocabs(vocabs or {}, chosen)
        else:
            check_vocabs(known, chosen)
            arrays, found = {}, {}
        values = {n: _values(n, (getters or {})[n], lists) for n in chosen if n not in arrays}
        own = {name: vocab for name, vocab in known.items() if name in values}
        more, of_more = columns_of_values(values, lists.error, own, categorical_columns)
        arrays, found = {**arrays, **more}, {**found, **of_more}
        freeze_new(found, vocabs)
        forest = lists.walked({name: arrays[name] for name in chosen}, found)
    functions = [name for name, getter in (getters or {}).items() if callable(getter)]
    return with_numbers(forest, [*(vocabs or {}), *categorical_columns, *functions])[0]


def _located(records: list[Any]) -> tuple[list[Any], str | list[str]]:
    """Return the roots in records, and the key of the children."""
    if not any(isinstance(single(each), Mapping) for each in records):
        return records, CHILDREN
    evidence = Evidence(argument="children")
    for each in records:
        evidence.add(each)
    path, keys = evidence.layout() or ("", (CHILDREN,))
    roots = [at_path(each, path.split(".") if path else []) for each in records]
    for tree, (root, record) in enumerate(zip(roots, records)):
        if root is None and record is not None:
            raise TreeError(
                f"expected the root under {path!r}, got {shown(record)}; pass the roots themselves",
                tree=tree,
            )
    return roots, keys[0]


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


def _warn_of_single_nodes(roots: Sequence[Any]) -> None:
    """Warn if trees of a single node contain lists of dictionaries that may be nodes."""
    evidence = Evidence(argument="children")
    for root in roots:
        evidence.add(root)
    try:
        found = evidence.layout() if evidence.is_sure() else None
    except TreeError:
        return
    if found is not None and found[1]:
        path, keys = found
        where = f", in the value of {path!r}" if path else ""
        warnings.warn(
            "every tree is a single node, although objects have lists of objects; did you mean "
            f"children={keys[0]!r}{where}?",
            stacklevel=4,
        )


def _getters(columns: Sequence[str] | Mapping[str, Getter]) -> dict[str, Getter]:
    """Return the getter of each column."""
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
