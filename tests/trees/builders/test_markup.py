"""Forests of XML documents, and of parsed XML and HTML."""

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from dgltrees import TreeError, Vocabulary
from dgltrees.trees.builders import from_elements, from_xml
from tests.trees.nested import names_of

PAGE = """<?xml version="1.0"?>
<!DOCTYPE page>
<page id="7" lang="fr"><!-- a note -->
  <t:head xmlns:t="u">Un  &amp;
    deux</t:head>
  <body>avant <b/> apr\xe8s<![CDATA[ <fin> ]]></body>
</page>"""


def test_a_document_by_hand() -> None:
    forest = from_xml(PAGE, PAGE.encode())
    assert forest.sizes.tolist() == [4, 4]
    assert forest.parent.tolist() == [-1, 0, 0, 2] * 2
    assert forest.pos.tolist() == [0, 0, 1, 0] * 2
    assert names_of(forest, "label") == ["page", "t:head", "body", "b"] * 2
    assert names_of(forest, "value") == [None, "Un & deux", "avant apr\xe8s <fin>", None] * 2


def test_attributes_are_the_first_children() -> None:
    forest = from_xml(PAGE, attributes=True)
    assert names_of(forest, "label") == [
        *("page", "@id", "@lang", "t:head", "@xmlns:t", "body", "b")
    ]
    assert names_of(forest, "value")[1:5] == ["7", "fr", "Un & deux", "u"]
    assert forest.parent.tolist() == [-1, 0, 0, 0, 3, 0, 5]
    assert forest.pos.tolist() == [0, 0, 1, 2, 0, 3, 0]


def test_the_declared_encoding_counts() -> None:
    text = "<?xml version='1.0' encoding='latin-1'?><a>\xe9</a>"
    for encoding in ("latin-1", "utf-16"):
        document = text.replace("latin-1", encoding).encode(encoding)
        assert names_of(from_xml(document), "value") == ["\xe9"]


def test_deep_and_wide() -> None:
    many = 100_000
    forest = from_xml("<a>" * many + "</a>" * many, "<a>" + "<b/>" * many + "</a>")
    np.testing.assert_array_equal(forest.parent[:many], np.arange(-1, many - 1))
    np.testing.assert_array_equal(forest.pos[many + 1 :], np.arange(many))


BOMB = """<!DOCTYPE lolz [
 <!ENTITY lol "lol">
 <!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">
]>
<lolz>&lol2;</lolz>"""
OUTSIDE = '<!DOCTYPE a [\n<!ENTITY x SYSTEM "file:///etc/hostname">\n]><a>&x;</a>'
PARAMETER = '<!DOCTYPE a [\n\n<!ENTITY % p "x">\n]><a/>'


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            BOMB,
            "d.xml:2: tree 1: expected a document without entity declarations, got one of 'lol'",
        ),
        (OUTSIDE, "d.xml:2: tree 1: expected a document without entity declarations, got one of"),
        (PARAMETER, "d.xml:3: tree 1: expected a document without entity declarations, got one of"),
        (
            '<!DOCTYPE html PUBLIC "x" "http://x/y.dtd">\n<a>&nbsp;</a>',
            "d.xml:2: tree 1: expected only the predefined entities of XML, got &nbsp;",
        ),
        ("<a>\n&nbsp;</a>", "d.xml:2: tree 1: expected well-formed XML, got: undefined entity"),
        ("<a>\n<b>\n", "d.xml:3: tree 1: expected well-formed XML, got: no element found"),
        ("<a>\n</b>", "d.xml:2: tree 1: expected well-formed XML, got: mismatched tag"),
        ("", "d.xml:1: tree 1: expected well-formed XML, got: no element found"),
        ("<a/>\n<b/>", "d.xml:2: tree 1: expected well-formed XML, got: junk after document"),
        (b"<a>\n\xff</a>", "d.xml:2: tree 1: expected well-formed XML, got: not well-formed"),
        (
            b'<?xml version="1.0" encoding="big5"?><a/>',
            "d.xml:1: tree 1: expected an encoding that Python's expat reads, got:",
        ),
        (
            b'<?xml version="1.0" encoding="no-such"?><a/>',
            "d.xml:1: tree 1: expected an encoding that Python's expat reads, got:",
        ),
        (
            "<a><zz/></a>",
            "d.xml: tree 1, node 1: expected one of the 1 known names ('a'), got 'zz'",
        ),
    ],
)
def test_bad_documents(document: str | bytes, message: str) -> None:
    known = {"label": Vocabulary(["a"], frozen=True)}
    with pytest.raises(TreeError) as caught:
        from_xml("<a/>", document, file="d.xml", vocabs=known)
    assert str(caught.value).startswith(message)


def test_defaults_of_attributes_are_refused_where_attributes_are_nodes() -> None:
    """A default of a megabyte at a thousand elements would be a gigabyte."""
    document = '<!DOCTYPE a [<!ATTLIST b c CDATA "long">]><a><b/><b/></a>'
    with pytest.raises(TreeError, match=r"without default attributes, got one of <b> for 'c'"):
        from_xml(document, attributes=True)
    assert from_xml(document).num_nodes == 3
    declared = "<!DOCTYPE a [<!ATTLIST b c CDATA #IMPLIED>]><a><b/></a>"
    assert from_xml(declared, attributes=True).num_nodes == 2


ELEMENTS = """<r a="1">x <!-- no --> y<b>bold</b>
  tail <?pi no?><c k="v  w" l="m" e=""><d/>more</c></r>"""


def etree(text: str) -> Any:
    return ElementTree.fromstring(text)


def lxml(text: str) -> Any:
    return pytest.importorskip("lxml.etree", reason="needs lxml").fromstring(text)


LIBRARIES = pytest.mark.parametrize("parse", [etree, lxml])


@LIBRARIES
@pytest.mark.parametrize("attributes", [False, True])
def test_as_from_the_text(parse: Any, attributes: bool) -> None:
    forest = from_elements(parse(ELEMENTS), parse("<s/>"), attributes=attributes)
    expected = from_xml(ELEMENTS, "<s/>", attributes=attributes)
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
        (shared, "tree 0, node 3: expected each object once in a tree, got the Element of"),
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
