"""Attachment scores: the share of words with the right head and label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import TreeError

__all__ = ["PUNCT", "attachment", "punctuation"]

PUNCT = "PUNCT"
"""The part of speech (UPOS) of punctuation."""

Ids = NDArray[np.integer]


def punctuation(upos: Ids, names: list[str]) -> NDArray[np.int8]:
    """Whether each word is punctuation, ``(N,)``: 1, or 0, or -1 without a part of speech.

    Arguments:
        upos: ``(N,)``, ids of parts of speech, -1 for none.
        names: the names of these ids.
    """
    punct = names.index(PUNCT) if PUNCT in names else -2
    return np.where(upos < 0, -1, upos == punct).astype(np.int8)


def attachment(
    heads: Ids, labels: Ids, gold_heads: Ids, gold_labels: Ids, punct: Ids
) -> dict[str, float]:
    """The share of words with the right head (UAS), and with the right head and label (LAS).

    The label is the whole relation, including its subtype. Both scores are computed over all words
    and, if the words have parts of speech, also without punctuation; LAS only if the words have
    labels.

    Arguments:
        heads, labels: ``(N,)``, the predictions for all nodes.
        gold_heads, gold_labels: ``(N,)``, the true ones. A negative head marks ROOT, which does not
            count; a negative label marks a word without one.
        punct: ``(N,)``, the result of :func:`punctuation`.

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
    scores = {name: float(hit[words].mean()) for name, hit in right.items()}
    no_punct = words & (punct == 0)
    if no_punct.any() and (punct[words] >= 0).all():
        scores.update(
            {f"{name}_no_punct": float(hit[no_punct].mean()) for name, hit in right.items()}
        )
    return scores
