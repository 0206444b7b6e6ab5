"""Pages that are generated: a page per public name, tables, and the notebooks."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from textwrap import indent
from typing import Any

import tables
from sphinx.pycode import ModuleAnalyzer

from dgltrees.registry import Registry

DOCS = Path(__file__).parent
ROOT = DOCS.parent
API = json.loads((DOCS / "public_api.json").read_text(encoding="utf-8"))["groups"]


def public(name: str) -> Any:
    """Return the object that is called ``name`` in the reference."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def members(cls: type) -> Iterator[str]:
    """Yield the public attributes of a class that a class of the package defines, in its order."""
    names: dict[str, None] = {}
    for base in cls.__mro__:
        if base.__module__.startswith("dgltrees"):
            names.update(dict.fromkeys([*vars(base).get("__annotations__", {}), *vars(base)]))
    for name in names:
        kind = type(inspect.getattr_static(cls, name, None)).__name__
        if not name.startswith("_") and kind not in ("RequestMethod", "_tuplegetter"):
            yield name


def heading(text: str) -> str:
    """Return a title in reStructuredText."""
    return f"{text}\n{'=' * len(text)}\n\n"


def api_page(name: str) -> str:
    """Return the page of a public name."""
    value, title = public(name), heading(name.rpartition(".")[2])
    if inspect.isclass(value):
        names = ", ".join(members(value))
        shown = f"   :members: {names}\n" if names else ""
        return f"{title}.. autoclass:: {name}\n{shown}"
    if inspect.isroutine(value):
        return f"{title}.. autofunction:: {name}\n"
    return f"{title}.. py:data:: {name}\n\n" + indent("\n".join(documented(name, value)), "   ")


def documented(name: str, value: Any) -> Iterator[str]:
    """Yield the documentation of a constant: the string below it, and the names in a registry."""
    short = name.rpartition(".")[2]
    modules = [key for key in sys.modules if vars(sys.modules[key]).get(short) is value]
    docs = [ModuleAnalyzer.for_module(key).find_attr_docs().get(("", short)) for key in modules]
    yield from next(filter(None, docs))
    if isinstance(value, Registry):
        yield ".. list-table::"
        yield ""
        for key, member in value.items():
            where = getattr(member, "__module__", "")
            yield f"   * - ``{key}``"
            yield "     - " + (
                f":py:obj:`~{where}.{member.__qualname__}`"
                if inspect.isclass(member)
                else member.description
            )
    elif isinstance(value, tuple):
        yield ", ".join(f"``{member}``" for member in value)


def group_page(group: str) -> str:
    """Return the page of a group: a table of its names."""
    about, names = API[group]["about"], list(API[group]["names"])
    rows = "".join(f"   {name}\n" for name in names)
    return (
        f"{heading(group)}{about}\n\n.. autosummary::\n   :nosignatures:\n\n{rows}\n"
        f".. toctree::\n   :hidden:\n\n{rows}"
    )


def api() -> Iterator[tuple[Path, str]]:
    """Yield the pages of public names and of their groups."""
    folder, files = DOCS / "reference" / "api", {}
    for group in API:
        files[group] = re.sub(r"\W+", "_", group.lower())
        yield folder / f"{files[group]}.rst", group_page(group)
        for name in API[group]["names"]:
            yield folder / f"{name}.rst", api_page(name)
    rows = "".join(f"   {group} <{file}>\n" for group, file in files.items())
    about = "Every public name, with its arguments, results and errors."
    yield (
        folder / "index.rst",
        f"{heading('Python API')}{about}\n\n.. toctree::\n   :maxdepth: 2\n\n{rows}",
    )


def notebooks() -> Iterator[tuple[Path, str]]:
    """Yield the notebooks, which are executed in another folder."""
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        text = path.read_text(encoding="utf-8").replace("../docs/tutorials/", "")
        yield DOCS / "tutorials" / path.name, text.replace("../docs/", "../")


def write() -> None:
    """Write the pages that have changed, and delete those of names that are gone."""
    pages = dict([*api(), *notebooks()])
    for name, lines in tables.PARTS.items():
        pages[DOCS / "generated" / name] = "\n".join(lines()) + "\n"
    for folder in {path.parent for path in pages}:
        folder.mkdir(exist_ok=True)
    for path in [*DOCS.glob("reference/api/*.rst"), *DOCS.glob("tutorials/*.ipynb")]:
        if path not in pages:
            path.unlink()
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
