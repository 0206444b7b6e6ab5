"""Forests of parsed XML and HTML."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from dgltrees import TreeError
from dgltrees.trees.builders import from_elements, from_xml
from tests.trees.nested import names_of

TEXT = """<r a="1">x <!-- no --> y<b>bold</b>
  tail <?pi no?><c k="v  w" l="m"><d/>more</c></r>"""


def etree(text: str) -> Any:
    return ElementTree.fromstring(text)


def lxml(text: str) -> Any:
    return pytest.importorskip("lxml.etree", reason="needs lxml").fromstring(text)


LIBRARIES = pytest.mark.parametrize("parse", [etree, lxml])


@LIBRARIES
@pytest.mark.parametrize("attributes", [False, True])
def test_as_from_the_text(parse: Any, attributes: bool) -> None:
    forest = from_elements(parse(TEXT), parse("<s/>"), attributes=attributes)
    expected = from_xml(TEXT, "<s/>", attributes=attributes)
    for name in ("parent", "pos", "offsets"):
        np.testing.assert_array_equal(getattr(forest, name), getattr(expected, name))
    for name in ("label", "value"):
        assert names_of(forest, name) == names_of(expected, name)


@LIBRARIES
def test_text_as_nodes(parse: Any) -> None:
    forest = from_elements(parse("<r>x <b>bold</b> y<c> </c></r>"), text_nodes=True)
    assert names_of(forest, "label") == ["r", "#text", "b", "#text", "#text", "c"]
    assert names_of(forest, "value") == [None, "x", None, "bold", "y", None]
    assert forest.parent.tolist() == [-1, 0, 0, 2, 0, 0]


def test_trees_of_elements() -> None:
    tree = ElementTree.ElementTree(etree("<r><b/></r>"))
    assert names_of(from_elements(tree), "label") == ["r", "b"]


def cycle() -> Any:
    root = etree("<r><b/></r>")
    root[0].append(root)
    return root


def shared() -> Any:
    root = etree("<r><b/><c/></r>")
    root[1].append(root[0])
    return root


def with_entity() -> Any:
    module = pytest.importorskip("lxml.etree", reason="needs lxml")
    parser = module.XMLParser(resolve_entities=False)
    return module.fromstring("<!DOCTYPE r [<!ENTITY e 'x'>]><r>&e;</r>", parser)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (cycle, "tree 0, node 2: expected a tree, got an object that contains itself (a cycle)"),
        (shared, "tree 0, node 3: expected an object at one place of the tree, got the Element of"),
        (with_entity, "tree 0, node 0: expected entities replaced by their text, got &e;"),
        (lambda: "<r/>", "tree 0, node 0: expected an element of xml.etree or lxml"),
    ],
)
def test_bad_elements(make: Any, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        from_elements(make())
    assert str(caught.value).startswith(message)


def test_a_deep_document() -> None:
    root = element = ElementTree.Element("a")
    for _ in range(100_000):
        element = ElementTree.SubElement(element, "a")
    assert from_elements(root).depths.tolist() == [100_000]
    while len(root):  # freed one by one: xml.etree frees what is nested by recursion
        root = root[0]
