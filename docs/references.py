"""Links to Python names: from the module that defines a name to the page that documents it."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import docstring_parser
import generate
from docutils.nodes import Element, Node
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.napoleon.docstring import GoogleDocstring
from sphinx.util.inspect import TypeAliasForwardRef
from torch import nn

from dgltrees.settings import options_of
from dgltrees.settings.options import GOOGLE, collects

PUBLIC = {
    id(generate.public(name)): name for group in generate.API.values() for name in group["names"]
}

NUMBERS = {
    **dict.fromkeys(("Count", "NonNegativeInt", "Seed"), "int"),
    **dict.fromkeys(("Fraction", "NonNegative", "Positive", "PositiveShare", "Share"), "float"),
}
"""Types with a range, which are shown without it; the sentence of an argument has the range."""


def found(name: str) -> Any:
    """Return the object called ``package.module.Class.method``.

    Raises:
        ImportError, AttributeError: there is none.
    """
    module, attributes = name, []
    while True:
        try:
            value = import_module(module)
            break
        except ModuleNotFoundError:
            module, _, attribute = module.rpartition(".")
            if not module:
                raise
            attributes.insert(0, attribute)
    for attribute in attributes:
        value = getattr(value, attribute)
    return value


def candidates(node: Element) -> list[str]:
    """Return the full names that the target of a link may mean, the nearest first."""
    target, modules = node["reftarget"], []
    page = node["refdoc"].rpartition("/")[2]
    if page in PUBLIC.values():
        value = generate.public(page)
        modules = [page, page.rpartition(".")[0]]
        modules += [base.__module__ for base in getattr(value, "__mro__", [value])]
    names = [target, *(f"{module}.{target}" for module in modules)]
    return names + [name for name in PUBLIC.values() if name.endswith(f".{target}")]


def resolve(app: Sphinx, env: BuildEnvironment, node: Element, contnode: Element) -> Node | None:
    """Link a name of the package to its page, also where its module or a base class is named.

    A name that is not public is shown without a link. One that does not exist is reported.
    """
    if node.get("refdomain") != "py":
        return None
    for name in candidates(node):
        owner, attribute = name, ""
        try:
            value = found(name)
            if id(value) not in PUBLIC and "." in name:  # a method of a public class
                owner, _, attribute = name.rpartition(".")
                value = found(owner)
        except (ImportError, AttributeError, ValueError):
            continue
        target = ".".join(filter(None, [PUBLIC.get(id(value), ""), attribute]))
        domain, page = env.get_domain("py"), node["refdoc"]
        link = domain.resolve_xref(env, page, app.builder, "obj", target, node, contnode)
        return link or contnode
    is_group = node["refdoc"].startswith("reference/api/") and "." not in node["refdoc"]
    return contnode if is_group else None  # the page of the name reports it


def attribute(docstring: GoogleDocstring) -> tuple[str, list[str]]:
    """Return no type and the lines of the docstring of an attribute."""
    return "", docstring._dedent(docstring._consume_to_end())


def returns(docstring: GoogleDocstring, **options: Any) -> list[tuple[str, str, list[str]]]:
    """Return no name, no type and the lines of a section Returns."""
    lines = docstring._dedent(docstring._consume_to_next_section())
    return [("", "", lines)] if lines else []


def arguments(
    app: Sphinx, what: str, name: str, value: Any, options: dict[str, Any], lines: list[str]
) -> None:
    """Add the arguments that a module passes on to its base classes (``**options``)."""
    if what != "class" or not issubclass(value, nn.Module) or not collects(value):
        return
    parsed = docstring_parser.parse("\n".join(lines), GOOGLE).params
    own = {each for param in parsed for each in param.arg_name.split(", ")}
    others = {key: each for key, each in options_of(value).items() if key not in own}
    lines[:] = [line for line in lines if not line.startswith("    options: the other arguments")]
    rows = [f"    {key}: {each.sentence}" for key, each in others.items()]
    if "Arguments:" in lines:
        at = lines.index("Arguments:") + 1
    else:
        sections = [
            lines.index(each) for each in ("Shapes:", "Raises:", "Example:") if each in lines
        ]
        at, rows = min(sections, default=len(lines)), ["Arguments:", *rows, ""] if rows else []
    lines[at:at] = rows


def indexed(alias: TypeAliasForwardRef, index: Any) -> TypeAliasForwardRef:
    """Return an alias with an index, such as ``NDArray[float64]``."""
    return TypeAliasForwardRef(f"{alias.name}[~{index.__module__}.{index.__name__}]")


def plain_types(app: Sphinx, *where: Any) -> None:
    """Replace types with a range in annotations that Sphinx does not evaluate."""
    for types in app.env.temp_data.get("annotations", {}).values():
        for name, text in types.items():
            types[name] = re.sub(r"\w+", lambda word: NUMBERS.get(word[0], word[0]), text)
