"""The laws of tasks, for models of one paper in the tasks of another."""

# ruff: noqa: F403

from dgltrees.settings.catalog import preset_names
from dgltrees.settings.tasks import TASKS
from tests.tasks.table import Row, accuracies
from tests.tasks.test_laws import *

_LRT = {"valid": ["lrt/test0", "lrt/test3", "lrt/test12"]}
ROWS = [
    row
    for task, row in {
        "lrt": Row("lrt-tree", accuracies, _LRT),
        "nli": Row("sick-rrnet", accuracies, learns="valid_loss"),
        # Section 3 of Munkhdalai and Yu: the digits of a number, which an LSTM generates.
        "wikiqa": Row("mee-lstm", accuracies, model={"encoder": "nti", "leaves": "bilstm"}),
    }.items()
    if task in TASKS and row.preset in preset_names()
]
