"""Where the trees of records are: the path from a record to its root, and the keys of children."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from dgltrees.errors import TreeError

CHILDREN = "children"
"""The key of the children where no record has any."""
KNOWN = (CHILDREN, "Children", "Plans", "plans", "inputs", "Inputs", "subplans", "childNodes")
"""Names of keys that hold children in formats of many programs."""
PREORDER = "num-children"
"""The key of the number of children in a list of nodes in preorder, as Spark writes plans."""

_PLAN, _OF_PLANS, _PLANS = "Plan", "Node Type", "Plans"
"""PostgreSQL's keys of a plan, of the type of its nodes, and of their children, which a plan of a
single node does not have."""
_MOST_KEYS = 8  # in an inferred path; a longer one may be that of a cycle
_SCALARS = {str, int, float, bool, type(None)}


def infer_layout(
    records: Iterable[Any],
    paths: Sequence[str] = (),
    keys: Sequence[str] = (),
    *,
    sure: float = 0.0,
) -> tuple[str, tuple[str, ...]] | None:
    """Find the path to the root and the keys of the children that are not given.

    Candidates are the keys whose lists hold objects. Children are under the key that occurs again
    in the objects of its own lists; of several such keys, under the one with a known name
    (:data:`KNOWN`). If none recurs, they are under the known name; without one, under the only
    candidate, if its objects share a key with their parent. The root is the object with the topmost
    list. Any other case with candidates is an error. None: no record has children; or, with a share
    ``sure`` above 0, fewer records have them, or only that last rule decides.
    """
    evidence = Evidence(paths, keys)
    for record in records:
        evidence.add(record)
    if not sure:
        return evidence.layout()
    try:
        return evidence.layout() if evidence.is_sure(sure) else None
    except TreeError:
        return None


class Evidence:
    """What the records so far show of their layout.

    Arguments:
        paths: the paths to the roots, if they are given.
        keys: the keys of the children, if they are given.
        argument: the name of the caller's argument for the key of the children.
    """

    def __init__(
        self, paths: Sequence[str] = (), keys: Sequence[str] = (), argument: str = "children_key"
    ) -> None:
        self.paths = [path.split(".") if path else [] for path in paths]
        self.keys, self.argument = keys, argument
        self.objects = Counter[Any]()  # in lists, by their key
        self.recurring: set[Any] = set()
        self.sharing: set[Any] = set()  # keys whose objects share a key with their parent
        self.nested: dict[Any, Any] = {}  # keys that recur below another key of a node, and this
        self.similar: dict[Any, set[str | None]] = {}  # keys of objects like their parents' places
        self.lists: dict[Any, str] = {}  # the path of the first list of a key
        self.flat: dict[str, str] = {}  # keys of the children in lists of nodes, and their path
        self.roots: dict[Any, Counter[str | None]] = {}  # by key: the places of the topmost lists
        self.empty: dict[Any, Counter[str | None]] = {}  # the same for lists without objects
        self.records = self.plans = 0  # the latter are PostgreSQL's
        self._inside: dict[tuple[frozenset[Any], Any], frozenset[Any]] = {}

    def facts(self) -> tuple[Any, ...]:
        """Return everything on which the layout depends, without the counts."""
        sets = self.objects, self.recurring, self.sharing, self.nested, self.similar, self.flat
        places = {key: set(of) for key, of in self.roots.items()}
        return (*(set(each) for each in sets), places, bool(self.plans))

    def add(self, record: Any) -> None:
        """Look at all objects of a record."""
        self.records += 1
        # an object, its place, the key of it or of its list, whether it is in a list, and the keys
        # of the lists around it; an object in a list of several has no place
        stack: list[tuple[Any, str | None, Any, bool, frozenset[Any]]] = []
        for path in self.paths or [[]]:
            root = at_path(record, path)
            if isinstance(root, Mapping):
                stack.append((root, "", None, False, frozenset()))
                plan = root if path[-1:] == [_PLAN] else root.get(_PLAN)
                self.plans += isinstance(plan, Mapping) and _OF_PLANS in plan
            elif isinstance(root, (list, np.ndarray)):
                self.lists.setdefault(None, ".".join(path))
                for node in root:
                    if isinstance(node, Mapping):
                        stack.append((node, None, None, True, frozenset()))
        seen: set[tuple[int, str | None]] = set()  # an object may have several parents
        tops: dict[Any, set[str | None]] = {}
        while stack:
            node, place, by, in_list, inside = stack.pop()
            if (id(node), place) in seen:
                continue
            seen.add((id(node), place))
            similar = []
            if in_list and type(node.get(PREORDER)) is int:
                self.flat.setdefault(PREORDER, self.lists[by])
            for key, value in node.items():
                if type(value) in _SCALARS:
                    continue
                if isinstance(value, Mapping) and key not in self.keys:
                    stack.append((value, _below(place, key), key, False, inside))
                    if isinstance(value.get(key), Mapping):
                        self.similar.setdefault(key, set()).add(place)
                    elif value and 2 * len(value.keys() & node.keys()) >= len(value):
                        similar.append(key)
                    continue
                members = as_list(value) if key not in self.keys else children_in(value)
                objects = [each for each in members or () if isinstance(each, Mapping)]
                if key in inside and members is not None:
                    if in_list and (by == key or by in self.keys):
                        self.recurring.add(key)
                    elif objects:
                        self.nested.setdefault(key, by)
                elif objects:
                    tops.setdefault(key, set()).add(place)
                elif members is not None and not len(members):
                    self.empty.setdefault(key, Counter())[place] += 1
                elif members is not None and key in KNOWN and _are_indices(members):
                    self.flat.setdefault(key, self.lists[by] if in_list else "")
                if not objects:
                    continue
                self.objects[key] += len(objects)
                if key not in self.sharing and any(node.keys() & each.keys() for each in objects):
                    self.sharing.add(key)
                below = _below(place, key) if len(objects) == 1 else None
                self.lists.setdefault(key, _below(place, key) or str(key))
                around = self._inside.get((inside, key))
                if around is None:
                    around = inside.union(self.keys if key in self.keys else [key])
                    self._inside[inside, key] = around
                stack += [(each, below, key, True, around) for each in objects]
            for key in similar if len(similar) > 1 else ():
                self.similar.setdefault(key, set()).add(place)
        for key, places in tops.items():
            self.roots.setdefault(key, Counter()).update(sorted(places, key=str))
            for place, other in permutations(places, 2):
                if place is not None and other is not None and _is_below(other, place):
                    self.nested.setdefault(key, other[len(place) :].strip(".").split(".")[0])

    def is_sure(self, share: float = 0.0) -> bool:
        """Return whether recurrence or a known name decides, in a share of the records."""
        keys = {*self.recurring, *({*KNOWN} & self.objects.keys())}
        having = [sum(self.roots.get(k, {}).values()) for k in keys] + [self.plans]
        return max(having) > 0 and max(having) >= share * self.records

    def layout(self) -> tuple[str, tuple[str, ...]] | None:
        """Return the path of the root and the keys of the children, or None without candidates."""
        keys = tuple(self.keys) or self._key()
        if not keys:
            return None
        key = keys[0]
        if not self.keys and key in self.nested:
            raise self._error(
                f"expected all lists under {key!r} in each other, got some in nodes under "
                f"{self.nested[key]!r}",
                f'["{key}", "{self.nested[key]}"] reads these as children too, "{key}" as columns',
            )
        path = self._path(keys)
        if not self.keys:
            self._refuse_objects(path, keys)
        return path, keys

    def _key(self) -> tuple[str, ...]:
        """Choose the key of the children; empty without candidates."""
        counts = Counter({_PLANS: self.plans}) if self.plans else Counter[Any]()
        counts.update(self.objects)
        recurring = [key for key in counts if key in self.recurring]
        some = recurring or [key for key in counts if key in KNOWN]
        if len(some) > 1:
            some = [key for key in some if key in KNOWN]
        if len(some) == 1:
            return (some[0],)
        if len(counts) == 1 and {*counts} <= self.sharing and not self.flat:
            return tuple(counts)
        for key, path in self.flat.items():
            what = "numbers" if key == PREORDER else "indices"
            at = f" under {path!r}" if path else ""
            text = f"expected nodes in each other, got lists of nodes with the {what} of their "
            text += f"children{at}"
            if self.argument != "children_key":
                cure = f'convert each list with dgltrees.trees.builders.nest_nodes(nodes, "{key}")'
                raise TreeError(f"{text}; {cure}")
            where = f' and tree_path="{path}"' if path else ""
            raise self._error(text, f'"{key}"{where} reads them')
        if counts:
            names = ", ".join(f"{key} ({n:,} objects)" for key, n in counts.most_common(8))
            raise self._error(
                f"expected one key whose lists hold the children, got lists of objects under "
                f"{names}",
                f'"{max(counts, key=counts.__getitem__)}" names it',
            )
        self._refuse_objects("", ())
        return ()

    def _refuse_objects(self, path: str, keys: Sequence[str]) -> None:
        """Refuse nodes with single objects that may be children too."""
        names = [
            key
            for key, places in self.similar.items()
            if any(place is None or _is_below(place, path) or place == path for place in places)
        ]
        if names:
            several = ", ".join(f'"{key}"' for key in (*keys, *names))
            raise self._error(
                f"expected children in lists, got objects that are like their parents under "
                f"{', '.join(map(repr, names))}",
                f'[{several}] reads them as children, "{[*keys, CHILDREN][0]}" as columns',
            )

    def _path(self, keys: Sequence[str]) -> str:
        """Choose the path to the root."""
        places = Counter[str | None]()
        for key in keys:
            places.update(self.roots.get(key, {}))
        if not places and not self.paths and keys[0] in self.flat:
            return self.flat[keys[0]]
        for key in keys if not places else ():
            places.update(self.empty.get(key, {}))
        if not places:
            return _PLAN if self.plans and not self.paths and keys == (_PLANS,) else ""
        if self.paths and "" in places:
            return ""
        (path, _), *others = places.most_common()
        wrong = self.paths and path
        if path is None or others or wrong:
            names = ", ".join(f"{_shown(place)} ({n:,} records)" for place, n in places.items())
            known = [place for place in places if place]
            if self.argument != "children_key":
                cure = "pass the roots themselves"
            elif None in places:
                cure = "write a record for each tree"
            else:
                given = f"{'.'.join(self.paths[0])}." if wrong else ""
                cure = f'give tree_path="{given}{path}"' if known else "write one tree a record"
                pairs = len(known) > 1 and not _is_below(known[1], known[0])
                pairs = pairs and not _is_below(known[0], known[1])
                cure += f", or {known[:2]!r} for pairs" if pairs else ""
            what = f"lists under {', '.join(map(repr, keys))}"
            raise TreeError(f"expected one root in each record, got {what} in {names}; {cure}")
        return path

    def _error(self, message: str, cure: str) -> TreeError:
        flag = "" if self.argument != "children_key" else "; on the command line --children_key or "
        flag += "--data.children_key" if flag else ""
        return TreeError(f"{message}; {self.argument}={cure}{flag}")


def at_path(record: Any, path: Sequence[str]) -> Any:
    """Return the value at a path of a record, and of lists of one value that value; or None."""
    value = single(record)
    for key in path:
        value = single(value.get(key)) if isinstance(value, Mapping) else None
    return value


def single(value: Any) -> Any:
    """Return the value of a list of one value, as EXPLAIN has it; another value unchanged."""
    return value[0] if isinstance(value, (list, np.ndarray)) and len(value) == 1 else value


def as_list(value: Any) -> Sequence[Any] | None:
    """Return a list, tuple or array of objects; None for other values."""
    if isinstance(value, np.ndarray):  # as pandas reads lists of Parquet
        return value.tolist() if value.dtype == object and value.ndim == 1 else None
    return value if isinstance(value, (list, tuple)) else None


def children_in(value: Any) -> Sequence[Any] | None:
    """Return the children under a key, a list or one object; None if there are none."""
    return [value] if isinstance(value, Mapping) else as_list(value)


def is_flat(nodes: Sequence[Any], key: str) -> bool:
    """Return whether nodes have the indices or, in preorder, the numbers of their children."""
    values = [node.get(key) for node in nodes if isinstance(node, Mapping)]
    return any(
        (key == PREORDER and type(value) is int) or (type(value) is list and _are_indices(value))
        for value in values
    )


def _are_indices(values: Sequence[Any]) -> bool:
    return len(values) > 0 and all(type(each) is int for each in values)


def nest_nodes(nodes: Sequence[Any], key: str) -> dict[str, Any]:
    """Convert a list of nodes to nested objects, with the children of each under ``key``.

    Under this key, nodes have the indices of their children, as astminer and py150 write them, or
    the number of children, and are in preorder, as Spark writes plans (``num-children``).
    """
    nodes = [node for node in nodes if node != 0]  # py150 ends a list with 0
    for place, node in enumerate(nodes):
        if not isinstance(node, Mapping):
            raise TreeError(f"expected an object for each node, got {node!r:.40}", node=place)
    copies = [{**node, key: []} for node in nodes]
    if any(type(node.get(key)) is int for node in nodes):
        open_nodes: list[tuple[dict[str, Any], int]] = []
        for place, (node, copy) in enumerate(zip(nodes, copies)):
            if place:
                while open_nodes and open_nodes[-1][1] == len(open_nodes[-1][0][key]):
                    open_nodes.pop()
                if not open_nodes:
                    raise TreeError(
                        f"expected {place} nodes by the numbers under {key!r}, got {len(nodes)}",
                        node=place,
                    )
                open_nodes[-1][0][key].append(copy)
            open_nodes.append((copy, int(node.get(key) or 0)))
        missing = next((node for node, count in open_nodes if len(node[key]) < count), None)
        if missing is not None:
            raise TreeError(f"expected more nodes by the numbers under {key!r}, got {len(nodes)}")
        return copies[0]
    is_child = np.zeros(len(nodes), int)
    for place, (node, copy) in enumerate(zip(nodes, copies)):
        for index in node.get(key) or ():
            if type(index) is not int or not 0 <= index < len(nodes):
                raise TreeError(
                    f"expected indices of nodes under {key!r}, from 0 to {len(nodes) - 1}, got "
                    f"{index!r:.40}",
                    node=place,
                )
            is_child[index] += 1
            copy[key].append(copies[index])
    if not nodes or (is_child == 0).sum() != 1 or (is_child > 1).any():
        raise TreeError(
            f"expected one root, and other nodes once under {key!r}, got "
            f"{(is_child == 0).sum()} roots of {len(nodes)} nodes"
        )
    return copies[int(is_child.argmin())]


def _below(place: str | None, key: Any) -> str | None:
    """Return the place below a key; None where no path leads."""
    if place is None or not isinstance(key, str) or "." in key or place.count(".") > _MOST_KEYS:
        return None
    return f"{place}.{key}" if place else key


def _is_below(place: str, path: str) -> bool:
    return place != path and (not path or place.startswith(f"{path}."))


def _shown(place: str | None) -> str:
    return "lists of objects" if place is None else repr(place) if place else "the record itself"
