"""The laws of tasks, for ListOps and logical relations."""

# ruff: noqa: F403

from tests.tasks.table import Row, accuracies, match
from tests.tasks.test_laws import *

_LISTOPS = {"valid": "listops/valid.tsv"}
_LRT = {"train": "lrt/train*", "valid": ["lrt/test0", "lrt/test3", "lrt/test12"]}
_LOOP = {"lr": 1.0}
ROWS = [
    Row(
        "listops-sum-c25",
        accuracies,
        _LISTOPS,
        training=_LOOP,
        unlabel=match(r"^\d\t"),
        texts=((["Source", "[MAX 1 2 ]"], None, 1),),
        errors=(("[MAX 1", None, "<lines>:1: "),),
    ),
    Row("listops-hosvd-c10-r3", accuracies, _LISTOPS, {"rank": 2}, _LOOP),
    Row("lrt-sum-c5", accuracies, _LRT, training=_LOOP, unlabel=match(r"^\S+\t")),
    Row("lrt-full-c5", accuracies, _LRT, training=_LOOP),
]
