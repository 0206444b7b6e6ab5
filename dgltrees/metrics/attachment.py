"""How many words hang where they should."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import TreeError

__all__ = ["PUNCT", "attachment", "punctuation"]

PUNCT = "PUNCT"
"""The part of speech (UPOS) of punctuation."""

Ids = NDArray[np.integer]


def punctuation(upos: Ids, names: list[str]) -> NDArray[np.int8]:
    """``(N,)`` 1 at punctuation, 0 at other words, -1 where there is no part of speech.

    Arguments:
        upos: ``(N,)`` ids, -1 for none.
        names: what they stand for.
    """
    punct = names.index(PUNCT) if PUNCT in names else -2
    return np.where(upos < 0, -1, upos == punct).astype(np.int8)


def attachment(
    heads: Ids, labels: Ids, gold_heads: Ids, gold_labels: Ids, punct: Ids
) -> dict[str, float]:
    """The parts of words with the right head (UAS), and with the right head and label (LAS).

    The label is the whole relation, its subtype included. Both are given over all words and, where
    the words have parts of speech, without punctuation; LAS only where the words have labels.

    Arguments:
        heads, labels: ``(N,)`` of all nodes.
        gold_heads, gold_labels: ``(N,)`` what they should be; heads are negative at ROOT, which
            does not count, labels where a word has none.
        punct: ``(N,)`` see :func:`punctuation`.

    Returns:
        ``uas``, ``las``, ``uas_no_punct`` and ``las_no_punct``, each from 0 to 1.

    Raises:
        TreeError: there is no word.
    """
    words = gold_heads >= 0
    if not words.any():
        raise TreeError("expected words with heads to compare with, got none")
    right = {"uas": heads == gold_heads}
    if (gold_labels[words] >= 0).any():
        right["las"] = right["uas"] & (labels == gold_labels) & (gold_labels >= 0)
    found = {name: float(hit[words].mean()) for name, hit in right.items()}
    rest = words & (punct == 0)
    if rest.any() and (punct[words] >= 0).all():
        found.update({f"{name}_no_punct": float(hit[rest].mean()) for name, hit in right.items()})
    return found
