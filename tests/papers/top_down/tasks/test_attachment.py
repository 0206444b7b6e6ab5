from __future__ import annotations

import numpy as np
import pytest
from torch.testing import assert_close

from dgltrees import TreeError
from dgltrees.papers.top_down.tasks.parser import attachment
from dgltrees.papers.top_down.tasks.reading import punctuation

GOLD = np.array([-1, 2, 0, 2, 2])  # ROOT and four words, the last one a full stop
LABELS = np.array([-1, 4, 5, 6, 7])
PUNCT = np.array([-1, 0, 0, 0, 1])


def test_words_count_and_punctuation_does_not() -> None:
    heads = np.array([-1, 2, 0, 1, 2])
    labels = np.array([-1, 4, 9, 6, 7])
    found = attachment(heads, labels, GOLD, LABELS, PUNCT)
    assert_close(found, {"uas": 3 / 4, "las": 2 / 4, "uas_no_punct": 2 / 3, "las_no_punct": 1 / 3})


def test_what_the_data_do_not_say_is_not_reported() -> None:
    none = np.full(5, -1)
    assert attachment(GOLD, LABELS, GOLD, LABELS, none) == {"uas": 1.0, "las": 1.0}
    assert attachment(GOLD, none, GOLD, none, PUNCT) == {"uas": 1.0, "uas_no_punct": 1.0}
    some = np.array([-1, 4, -1, 6, 7])  # a word without a label has no right one
    assert attachment(GOLD, some, GOLD, some, none)["las"] == 0.75
    with pytest.raises(TreeError, match="expected words with heads to compare with, got none"):
        attachment(none, none, none, none, none)


def test_punctuation_is_a_part_of_speech() -> None:
    upos = np.array([-1, 0, 1, -1])
    assert punctuation(upos, ["NOUN", "PUNCT"]).tolist() == [-1, 0, 1, -1]
    assert punctuation(upos, ["NOUN", "VERB"]).tolist() == [-1, 0, 0, -1]
