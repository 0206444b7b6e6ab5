"""The registry: objects that settings and the command line name, and their locations.

A registry holds the objects of one kind by name: cells, formats, commands. Those of the core are
listed where the registry is defined, as ``"name": "module:attribute"``. Those of the papers and of
other packages are entry points in the group ``dgltrees.KIND``::

    [options.entry_points]
    dgltrees.cells =
        mine = my_package.cells:MaxTreeRNN

An object is imported when it is first used.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Collection, ItemsView, Iterator, MutableMapping, ValuesView
from contextlib import suppress
from functools import cache, cached_property
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from dgltrees.errors import ConfigError

T = TypeVar("T")

read: Callable[[EntryPoint], Any] | None = None
"""Function that reads objects from source (:mod:`dgltrees.settings.source`) or None: import."""

PAPERS = {
    "tensor_tree_lstm": "listops lrt",
    "top_down": "edge-classifier parser tree-lm",
    "nti": "nli sick snli sst-phrases sst-tree wikiqa",
    "rrnet": "lrt-bilstm lrt-lstm lrt-rrnet lrt-sequence lrt-transformer lrt-tree "
    "mee ptb sick-rrnet sst-phrases-rrnet",
}
"""The tasks and presets of each paper, or the beginnings of their names, for errors."""


class Registry(MutableMapping[str, T], Generic[T]):
    """A mapping from names to objects of one kind; each object is imported when it is first used.

    Objects of the core come first, in the given order, then those of entry points, the papers'
    before other packages'. Objects can be added: ``CELLS["mine"] = MaxTreeRNN``.

    Arguments:
        kind: the kind in the plural, ``"cells"``; entry points are in the group ``dgltrees.cells``.
        core: the locations of the core's objects, ``"module:attribute"``, by name.
        check: a function from name and object to a problem, such as ``"it is not a subclass of
            BaseCell"``, or to an empty string; or its location, ``"module:attribute"``.

    Warns:
        UserWarning: two packages announce one name (the first one keeps it); or, in a loop over all
            objects, one cannot be imported and is skipped.
    """

    def __init__(
        self, kind: str, core: dict[str, str], check: Callable[[str, Any], str] | str | None = None
    ) -> None:
        self.kind, self.check, self._core = kind, check, core
        self._objects: dict[str, T] = {}
        self._removed: set[str] = set()

    @cached_property
    def _entries(self) -> dict[str, EntryPoint]:
        """The entries by name: the core's, then those of packages."""
        group = f"dgltrees.{self.kind}"
        core = {name: EntryPoint(name, place, group) for name, place in self._core.items()}
        return {**core, **_announced(group, core)}

    def __iter__(self) -> Iterator[str]:
        names = dict.fromkeys([*self._entries, *self._objects])
        return (name for name in names if name not in self._removed)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return (name in self._objects or name in self._entries) and name not in self._removed

    def __getitem__(self, name: str) -> T:
        """Return an object by name."""
        if name not in self:
            raise KeyError(name)
        if name not in self._objects:
            if read is not None:
                # executed without the libraries that it imports, a source may raise anything
                with suppress(Exception):
                    return cast(T, read(self._entries[name]))
            self._objects[name] = cast(T, _load(self._entries[name], self.check))
        return self._objects[name]

    def __setitem__(self, name: str, value: T) -> None:
        self._removed.discard(name)
        self._objects[name] = value

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._objects.pop(name, None)
        self._removed.add(name)

    def items(self) -> ItemsView[str, T]:
        """Return names and objects; those that cannot be imported are skipped with a warning."""
        objects: dict[str, T] = {}
        for name in self:
            try:
                objects[name] = self[name]
            except ConfigError as error:
                warnings.warn(f"{error}; it is left out", stacklevel=2)
        return objects.items()

    def values(self) -> ValuesView[T]:
        """Return all objects, see :meth:`items`."""
        return dict(self.items()).values()

    def origin(self, name: str) -> str:
        """Return the owner of a name: ``"'mine' of the package my_package"``."""
        entry = self._entries.get(name)
        return f"{name!r} of {f'the package {_package(entry)}' if entry else 'this program'}"

    def summary(self, name: str) -> str:
        """Return the first line of an object's docstring, read from its source."""
        if name not in self._entries:  # a script has added it
            return first_line(getattr(self._objects[name], "__doc__", None) or "")
        try:
            docstring = _docstring(self._entries[name])
        except (ImportError, OSError, SyntaxError, LookupError) as error:
            raise ConfigError(_broken(self._entries[name], error)) from None
        return first_line(docstring)


def subclass_of(*bases: type) -> Callable[[str, Any], str]:
    """Return a check for registries of classes: each must be a subclass of one of ``bases``."""

    def check(name: str, value: Any) -> str:
        fits = isinstance(value, type) and issubclass(value, bases)
        return "" if fits else f"it is not a subclass of {bases[-1].__name__}"

    return check


def instance_of(base: type) -> Callable[[str, Any], str]:
    """Return a check for registries of objects: each must be an instance of ``base``."""

    def check(name: str, value: Any) -> str:
        return "" if isinstance(value, base) else f"it is not a {base.__name__}"

    return check


@cache
def _all_entry_points() -> Any:
    """Return the entry points of all packages, which are read once, as that takes long."""
    return entry_points()


def _announced(group: str, taken: Collection[str]) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name: the papers', then those of other packages."""
    found: dict[str, EntryPoint] = {}
    entries = _all_entry_points().select(group=group)
    for entry in sorted(entries, key=_order):
        if entry.name in taken or entry.name in found:
            holder = _package(found[entry.name]) if entry.name in found else "dgltrees"
            warnings.warn(
                f"the package {_package(entry)} announces {entry.name!r} in {group} "
                f"({entry.value}), a name that {holder} has; it is left out",
                stacklevel=2,
            )
        else:
            found[entry.name] = entry
    return found


def has_others() -> bool:
    """Return whether another package announces parts."""
    groups = [name for name in _all_entry_points().groups if name.startswith("dgltrees.")]
    entries = (entry for name in groups for entry in _all_entry_points().select(group=name))
    return any(_package(entry) != "dgltrees" for entry in entries)


def _order(entry: EntryPoint) -> tuple[bool, str, str]:
    """Return the sort key of an entry: the papers first, then by package and name."""
    return _package(entry) != "dgltrees", _package(entry), entry.name


def _package(entry: EntryPoint) -> str:
    """Return the name of the distribution that announces an entry."""
    return _distribution_name(entry.dist) if entry.dist is not None else "dgltrees"


@cache
def _distribution_name(distribution: Distribution) -> str:
    """Return the name of a distribution, for which all its metadata are parsed."""
    return distribution.name


def _load(entry: EntryPoint, check: Callable[[str, Any], str] | str | None) -> Any:
    if entry.dist is None:  # of the core, where an error is a bug and keeps its traceback
        return entry.load()
    try:
        value = entry.load()
    except Exception as error:  # code of another package may raise anything
        raise ConfigError(_broken(entry, f"{type(error).__name__}: {error}")) from error
    if isinstance(check, str):
        check = cast(Callable[[str, Any], str], EntryPoint("check", check, entry.group).load())
    wrong = check(entry.name, value) if check is not None else ""
    if wrong:
        raise ConfigError(_broken(entry, wrong))
    return value


def _broken(entry: EntryPoint, reason: object) -> str:
    return (
        f"the package {_package(entry)} announces {entry.name!r} in {entry.group} as "
        f"{entry.value}, which cannot be used: {reason}"
    )


def _docstring(entry: EntryPoint) -> str:
    """Return the docstring of a function or class, or the string below an assignment."""
    body = ast.parse(source_file(entry.module).read_text(encoding="utf-8")).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == entry.attr:
            return ast.get_docstring(node) or ""
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        if any(ast.unparse(target) == entry.attr for target in targets):
            constant = following.value if isinstance(following, ast.Expr) else None
            if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                return constant.value
    raise LookupError(f"{entry.attr} has no docstring in {entry.module}")


def first_line(docstring: str) -> str:
    """Return the first line of a docstring as plain text, without the full stop."""
    return docstring.partition("\n")[0].replace("``", "").rstrip(".")


def source_file(module: str) -> Path:
    """Return the file of a module without importing it or its packages."""
    first, *rest = module.split(".")
    spec, name = find_spec(first), first
    for part in rest:
        name = f"{name}.{part}"
        spec = spec and PathFinder.find_spec(name, spec.submodule_search_locations)
    if spec is None or spec.origin is None:
        raise ImportError(f"no module named {module!r}")
    return Path(spec.origin)


def missing_paper(name: str) -> str:
    """Return the missing paper that a task or preset needs: ``"the paper rrnet (...), which"``."""
    matches = [
        (len(start), paper)
        for paper, starts in PAPERS.items()
        for start in starts.split()
        if name == start or name.startswith(f"{start}-")
    ]
    if not matches:
        return ""
    paper = max(matches)[1]
    module = f"dgltrees.papers.{paper}"
    try:
        source_file(module)
    except ImportError:
        return f"the paper {paper} ({module}), which is not installed"
    presets = _all_entry_points().select(group="dgltrees.presets")
    if any(entry.value.startswith(f"{module}.") for entry in presets):
        return ""
    return (
        f"the paper {paper} ({module}), which this installation does not announce; "
        "install dgltrees again: python -m pip install --editable ."
    )
