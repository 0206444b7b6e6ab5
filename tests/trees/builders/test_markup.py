"""Forests of XML documents."""

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from dgltrees import TreeError, Vocabulary
from dgltrees.trees.builders import from_xml
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
    assert forest.sizes.tolist() == [6, 6]
    assert forest.parent.tolist() == [-1, 0, 0, 2, 2, 2] * 2
    assert forest.pos.tolist() == [0, 0, 1, 0, 1, 2] * 2
    assert names_of(forest, "label") == ["page", "t:head", "body", "#text", "b", "#text"] * 2
    assert (
        names_of(forest, "value")
        == [*(None, "Un & deux", None, "avant", None, "apr\xe8s <fin>")] * 2
    )


@pytest.mark.parametrize(
    ("document", "texts"),
    [
        ("<p>one<br/>two</p>", ["one", "two"]),
        ("<p><b>a</b>b<!-- no -->c<i/></p>", ["bc"]),
        ("<p> <a/> <b/> tail </p>", ["tail"]),
        ("<p x='1'>one<i y='2'/></p>", ["one"]),
        ("<p><a><b>leaf</b></a>z<c>leaf</c></p>", ["z"]),
        ("<p x='1'>only text</p>", []),
    ],
)
@pytest.mark.parametrize("attributes", [False, True])
def test_text_next_to_elements_is_a_child(
    document: str, texts: list[str], attributes: bool
) -> None:
    forest = from_xml(document, attributes=attributes)
    labels, values = names_of(forest, "label"), names_of(forest, "value")
    assert [v for name, v in zip(labels, values) if name == "#text"] == texts
    tags = [name for name in labels if name and name[0] not in "#@"]
    pieces = "".join(v or "" for name, v in zip(labels, values) if name and name[0] != "@")
    root = ElementTree.fromstring(document)
    assert tags == [element.tag for element in root.iter()]
    assert pieces == "".join("".join(piece.split(" ")) for piece in root.itertext()) or not texts


def test_attributes_are_the_first_children() -> None:
    forest = from_xml(PAGE, attributes=True)
    assert names_of(forest, "label") == [
        *("page", "@id", "@lang", "t:head", "body", "#text", "b", "#text")
    ]
    assert names_of(forest, "value")[1:4] == ["7", "fr", "Un & deux"]
    assert forest.parent.tolist() == [-1, 0, 0, 0, 0, 4, 4, 4]
    assert forest.pos.tolist() == [0, 0, 1, 2, 3, 0, 1, 2]


def test_the_declared_encoding_counts() -> None:
    text = "<?xml version='1.0' encoding='latin-1'?><a>\xe9</a>"
    for encoding in ("latin-1", "utf-16"):
        document = text.replace("latin-1", encoding).encode(encoding)
        assert names_of(from_xml(document), "value") == ["\xe9"]
    converted = text.replace("latin-1", "UTF-16").encode(
        "utf-8"
    )  # declared before it was converted
    assert names_of(from_xml(converted), "value") == ["\xe9"]


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


@pytest.mark.parametrize(
    ("document", "got"),
    [
        ("../plans/a.sqlplan", "'../plans/a.sqlplan'; dgltrees.read reads a file"),
        ("no tags", "'no tags'; dgltrees.read reads a file"),
        (ElementTree.fromstring("<a/>"), "\"<Element 'a'"),
        (ElementTree.Comment("a"), '"<Element <function Comment'),
    ],
)
def test_what_is_no_text_of_xml(document: Any, got: str) -> None:
    message = "tree 1: expected XML as text, which tostring of lxml.etree and xml.etree.ElementTree"
    with pytest.raises(TreeError) as caught:
        from_xml("<a/>", document)
    assert str(caught.value).startswith(f"{message} writes, got {got}")


def test_defaults_of_attributes_are_refused_where_attributes_are_nodes() -> None:
    """A default of a megabyte at a thousand elements would be a gigabyte."""
    document = '<!DOCTYPE a [<!ATTLIST b c CDATA "long">]><a><b/><b/></a>'
    with pytest.raises(TreeError, match=r"without default attributes, got one of <b> for 'c'"):
        from_xml(document, attributes=True)
    assert from_xml(document).num_nodes == 3
    declared = "<!DOCTYPE a [<!ATTLIST b c CDATA #IMPLIED>]><a><b/></a>"
    assert from_xml(declared, attributes=True).num_nodes == 2


def test_text_as_nodes() -> None:
    long = "a b " * 5_000  # more than the buffer of expat
    document = f"""<r k="v">x <!-- no --> y<b>bold</b>
  <c> </c>1 &lt;<![CDATA[ 2]]><d/><e>{long}</e></r>"""
    forest = from_xml(document, "<s/>", attributes=True, text_nodes=True)
    texts = list(zip(names_of(forest, "label"), names_of(forest, "value")))
    expected = [("r", None), ("@k", "v"), ("#text", "x y"), ("b", None), ("#text", "bold")]
    expected += [("c", None), ("#text", "1 < 2"), ("d", None), ("e", None), ("#text", long.strip())]
    assert texts == [*expected, ("s", None)]
    assert forest[0].parent.tolist() == [-1, 0, 0, 0, 3, 0, 0, 0, 0, 8]
    assert forest[0].pos.tolist() == [0, 0, 1, 2, 0, 3, 4, 5, 6, 0]
