"""Pairs of sentences and their lines in files of logical relations, good and bad."""

from collections.abc import Sequence

from hypothesis import strategies as st

from dgltrees.formats.lrt import LRT_RELATIONS
from tests.trees.nested import Tree

SENTENCES: st.SearchStrategy[Tree] = st.recursive(
    st.sampled_from("abcdef"),
    lambda below: (
        st.tuples(st.just("not"), below) | st.tuples(st.sampled_from(["and", "or"]), below, below)
    ),
    max_leaves=8,
)
Pair = tuple[str, Tree, Tree]  # relation, left and right sentence

PAIRS = st.lists(
    st.tuples(st.sampled_from(LRT_RELATIONS), SENTENCES, SENTENCES), min_size=1, max_size=5
)


def text_of(tree: Tree) -> str:
    if isinstance(tree, str):
        return tree
    if tree[0] == "not":
        return f"( not {text_of(tree[1])} )"
    return f"( {text_of(tree[1])} ( {tree[0]} {text_of(tree[2])} ) )"


def operators(tree: Tree) -> int:
    return 0 if isinstance(tree, str) else 1 + sum(map(operators, tree[1:]))


def lines(pairs: Sequence[Pair]) -> str:
    return "".join(f"{r}\t{text_of(left)}\t{text_of(right)}\n" for r, left, right in pairs)


PAIR = "'and' or 'or' begins the second bracket of a pair"

BAD_LINES = [
    ("#\ta", "expected a line of the form relation TAB sentence TAB sentence"),
    ("x\ta\tb", "expected a relation, one of # < > v | = ^, got 'x'"),
    ("( not a )\tb\tc", "expected a relation, one of # < > v | = ^, got an opening bracket"),
    ("#\ta\tg", "one of a b c d e f and not or, got 'g'"),
    ("#\t( a ( xor b ) )\tb", "one of a b c d e f and not or, got 'xor'"),
    ("#\t( a ( or b )\tb", "expected a ')' for every '(', got 1 left open"),
    ("#\t( not a b )\tc", "expected '( not S )' or '( S ( or S ) )', got a bracket of 3"),
    ("#\t( )\tc", "expected '( not S )' or '( S ( or S ) )', got a bracket of 0"),
    ("#\t( a or )\tc", "expected 'or' at the beginning of a bracket"),
    ("#\tnot\tb", "expected 'not' at the beginning of a bracket"),
    ("#\t( or a )\tc", PAIR),
    ("#\t( a b )\tc", PAIR),
    ("#\t( not ( or a ) )\tb", PAIR),
    ("#\t( ( or a ) b )\ta", PAIR),
    ("#\t( a ( not b ) )\tc", PAIR),
    ("#\t( a ( or ( or b ) ) )\tc", PAIR),
]
