"""Forests of walks, whatever is walked."""

from collections.abc import Callable
from typing import Any

import pytest

from dgltrees import ConfigError, Forest, TreeError, Vocabulary
from dgltrees.trees.builders import from_json, from_nested, from_python, from_xml

BUILDERS: dict[Callable[..., Forest], tuple[Any, Any]] = {
    from_json: ('{"a": 1}', '{"zz": 1}'),
    from_nested: ("a", ["zz"]),
    from_python: ("", "zz = 1"),
    from_xml: ("<a/>", "<a><zz/></a>"),
}
WITH_FILES = (from_json, from_python, from_xml)


@pytest.mark.parametrize("builder", BUILDERS)
def test_an_unknown_name_is_an_error_with_tree_and_node(builder: Callable[..., Forest]) -> None:
    known = {"label": Vocabulary(["a", "Module"], frozen=True)}
    options = {"file": "d.txt"} if builder in WITH_FILES else {}
    place = "d.txt: tree 1, node 1: " if options else "tree 1, node 1: "
    with pytest.raises(TreeError) as caught:
        builder(*BUILDERS[builder], vocabs=known, **options)
    assert str(caught.value).startswith(f"{place}expected one of the 2 known names ('a', 'Module')")


@pytest.mark.parametrize("builder", BUILDERS)
def test_no_trees_and_vocabularies_of_other_columns(builder: Callable[..., Forest]) -> None:
    with pytest.raises(TreeError, match="expected at least one tree, got none"):
        builder()
    with pytest.raises(ConfigError, match="expected vocabularies for the columns label.*kinds"):
        builder(*BUILDERS[builder], vocabs={"kinds": Vocabulary()})
