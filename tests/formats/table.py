"""A small file of every format, and lines that break its rules."""

from typing import NamedTuple

from tests.installed import installed_formats


class Sample(NamedTuple):
    """A file of a format.

    Arguments:
        text: the file.
        examples: how many examples it holds.
        damage: what makes the file wrong when it stands behind the text.
        error: a part of the error.
    """

    text: str
    examples: int
    damage: bytes
    error: str


PAIR = "( ( A dog ) runs )\t( Rain )\n"
GO = "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n"

SAMPLES = {
    "jsonl": Sample(
        '{"op": "add", "size": 2, "children": [{"op": "x"}, null, {"op": "y", "size": 0.5}]}\n'
        '{"op": "neg", "at": [1, 2.5], "children": [{"size": 3, "last": true}]}\n'
        '[{"children": []}]\n',
        3,
        b'{"op": 3}\n',
        "expected one kind of value in column 'op', got names (\"add\" in line 1) and 3 in line 4",
    ),
    "nodes": Sample(
        "tree,id,parent,op,size\n"
        'a,1,,add,2\na,2,1,"x\ny",\na,3,1,y,0.5\nb,1,2,neg,\nb,2,,neg,3\nc,7,-1,x,NA\n',
        3,
        b"d,1,9,x,1\n",
        "expected a value of 'id' in the tree 'd' as 'parent', got 9; leave it empty at roots",
    ),
    "rows": Sample(
        'id\ttree\tseconds\na\t{"op": "add", "children": [{"op": "x"}]}\t3\n\nb\t[{"op": "y"}]\t\n',
        2,
        b'c\t{"op": 1\t2\n',
        "expected JSON, got expecting",
    ),
    "json": Sample('{"a": [1, null]}\n', 1, b"}", "expected JSON"),
    "json-records": Sample(
        '[\n{"op": "add", "children": [{"op": "x", "children": []}]}, {"op": "neg", "n": 3}]\n',
        2,
        b"]",
        "expected JSON",
    ),
    "xml": Sample("<a><b>text</b><c/></a>\n", 1, b"<d>", "expected"),
    "python": Sample("x = 1\n", 1, b"y = (", "expected Python"),
    "conllu": Sample(
        f"# sent_id = 1\n{GO}\n{GO}2\t!\t!\tPUNCT\t.\t_\t1\tpunct\t_\t_\n\n{GO}\n",
        3,
        b"2\tb\t_\t1\tdep\n",
        "expected ten columns",
    ),
    "dp": Sample(
        "Go\tVB\t0\n\nMr.\tNN\t2\nLake\tNN\t0\n\n", 2, b"a\tNN\n", "expected word TAB tag"
    ),
    "listops": Sample(
        "2\t[MAX 1 2 ]\n\n7\t7\n0\t[MIN 0 [SM 5 6 ] ]\n3\t( ( ( [MAX 3 ) 2 ) ] )\n",
        4,
        b"3\t[MAX 1 3\n",
        "expected a ']' for every '['",
    ),
    "lrt": Sample(
        "#\ta\tb\n<\t( not ( a ( and b ) ) )\t( not c )\n\n^\ta\t( not a )\n",
        3,
        b"#\t( or a )\tb\n",
        "begins the second bracket of a pair",
    ),
    "inex": Sample(
        "1:3(4($) 3($))\n3:1($)\n1:9(8(7(6($))) 5($))\n", 3, b"1:3(4)\n", "a bracket after every"
    ),
    "boolsent": Sample(
        "(1_AND  1 (1_OR  0  1 ) )\n(0_XOR  1  1 )\n 1\n", 3, b"(2_AND 1)\n", "got '2_AND'"
    ),
    "sst": Sample("(3 (2 so) (4 good))\n(0 bad)\n", 2, b"(5 a)\n", "expected a label, one of"),
    "mrg": Sample(
        "( (S (NN rain)\n  (VBZ falls)) )\n( (S (VB Go) ))\n(FRAG (UH Yes))\n",
        3,
        b"hello\n",
        "expected a tree in brackets",
    ),
    "mee": Sample("12\t(3*4)\n40\t((1+9)*(2+2))\n", 2, b"12\t(3*5)\n", "of the expression, 15"),
    "entailment": Sample(f"NEUTRAL\t{PAIR}ENTAILMENT\t{PAIR}", 2, b"MAYBE\ta\tb\n", "got 'maybe'"),
    "wikiqa": Sample("who ?\tAda\t1\nwho ?\tno\t0\nwhy ?\tno\t0\n", 3, b"q\ts\n", "got 2"),
    "text": Sample(" the cat \n\nit 's a caf\u00e9\n", 2, b"caf\xe9\n", "expected text in utf-8"),
}

MANY = 100_000
CHAINS = {
    "boolsent": "(1_AND " * MANY + "1" + ")" * MANY,
    "conllu": "".join(f"{i + 1}\ta\t_\t_\t_\t_\t{i}\t_\t_\t_\n" for i in range(MANY)) + "\n",
    "dp": "".join(f"a\tNN\t{head}\n" for head in range(MANY)),
    "inex": "1:" + "3(" * MANY + "3($)" + ")" * MANY,
    "listops": "1\t" + "( ( [MAX " * MANY + "1" + " ) ] )" * MANY + "\n",
    "lrt": "#\ta\t" + "( not " * MANY + "a" + " )" * MANY + "\n",
    "mrg": "(S " * MANY + "(S a)" + ")" * MANY,
    "sst": "(2 " * MANY + "(2 a)" + ")" * MANY,
}
"""Files whose last tree has one child per node, as the writers lay them out."""

STARS = {
    "boolsent": "(1_AND" + " 1" * MANY + ")",
    "dp": "a\tNN\t0\n" * MANY,
    "inex": "1:3(" + "3($) " * MANY + ")",
    "listops": "1\t[MAX" + " 1" * MANY + " ]",
    "mrg": "(S " + "(S a)" * MANY + ")",
    "sst": "(2 " + "(2 a)" * MANY + ")",
}
"""Files of one tree whose nodes are children of the root; CoNLL-U's rows are built as DP's are."""

SAMPLES, CHAINS, STARS = map(installed_formats, (SAMPLES, CHAINS, STARS))
