"""K-best lists: several analyses per sentence, as parsers write them for a reranker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.formats.conllu import CONLLU_COLUMNS, conllu_sentences
from dgltrees.formats.lines import LineError, error_in, files_of
from dgltrees.formats.sentences import Sentence, forest_of
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import offsets_of
from dgltrees.trees.vocabulary import Vocabulary, vocabs_for


@dataclass(frozen=True)
class KBest:
    """The analyses of ``G`` sentences, in the order of the file.

    Arguments:
        forest: all ``T`` analyses as dependency trees.
        offsets: ``(G + 1,)`` int64; sentence ``g`` has the trees ``offsets[g]:offsets[g + 1]``.
        score: ``(T,)`` float64, the parser's score of each analysis, NaN where the file has none.
        ids: ``(G,)`` the sentences' ids, None where the file has none.
    """

    forest: Forest
    offsets: NDArray[np.int64]
    score: NDArray[np.float64]
    ids: Sequence[str | None]

    def __len__(self) -> int:
        return len(self.offsets) - 1


def read_kbest(
    paths: PathLike | Sequence[PathLike],
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    lower: bool = False,
    single_root: bool = True,
    scored: bool = False,
) -> KBest:
    """Read the k-best lists of CoNLL-U files.

    Each analysis is a CoNLL-U sentence. Successive analyses with the same comment
    ``# sent_id = ...`` belong to one sentence; without this comment, ``# analysis = 1`` begins a
    sentence and ``# analysis = 2`` and so on continue it. ``# score = -12.3`` is an analysis's
    score.
    """
    vocabs = vocabs_for(vocabs, *CONLLU_COLUMNS)
    forests: list[Forest] = []
    sizes: list[int] = []
    scores: list[float] = []
    ids: list[str | None] = []
    for file in files_of(paths):
        sentences, error = list[Sentence](), error_in(file)
        for group in _groups(conllu_sentences(file), error):
            sizes.append(len(group))
            ids.append(group[0].comments.get("sent_id"))
            scores += [_score(analysis, scored, error) for analysis in group]
            sentences += group
        forests.append(
            forest_of(sentences, vocabs=vocabs, lower=lower, single_root=single_root, file=file)
        )
    return KBest(Forest.concat(forests), offsets_of(sizes), np.array(scores), ids)


def _groups(analyses: Iterable[Sentence], error: LineError) -> Iterator[list[Sentence]]:
    """Yield the analyses of each sentence."""
    group: list[Sentence] = []
    ids: set[str] = set()
    for analysis in analyses:
        if group and _continues(analysis, group, error):
            _check_words(analysis, group[0], error)
            group.append(analysis)
            continue
        sentence_id = analysis.comments.get("sent_id")
        if sentence_id in ids:
            raise error(
                f"expected the analyses of a sentence one after the other, got {sentence_id!r} "
                "again",
                analysis.line,
            )
        if sentence_id is not None:
            ids.add(sentence_id)
        if sentence_id is None or "analysis" in analysis.comments:
            _check_number(analysis, 1, error)
        if group:
            yield group
        group = [analysis]
    yield group


def _continues(analysis: Sentence, group: Sequence[Sentence], error: LineError) -> bool:
    """Return whether an analysis is of the same sentence as the group before it."""
    sentence_id, previous = (one.comments.get("sent_id") for one in (analysis, group[0]))
    number = analysis.comments.get("analysis")
    if sentence_id is not None or previous is not None or number == "1":
        if sentence_id is None or sentence_id != previous:
            return False
        if number is None:
            return True
    _check_number(analysis, len(group) + 1, error)
    return True


def _check_number(analysis: Sentence, expected: int, error: LineError) -> None:
    number = analysis.comments.get("analysis")
    if number != str(expected):
        raise error(
            f"expected the comment '# sent_id = ...' or '# analysis = {expected}', "
            f"got {'neither' if number is None else f'# analysis = {number}'}",
            analysis.line,
        )


def _check_words(analysis: Sentence, first: Sentence, error: LineError) -> None:
    if analysis.words == first.words:
        return
    pairs = enumerate(zip(analysis.words, first.words))
    place = next((i for i, (word, other) in pairs if word != other), None)
    if place is None:
        got, line = f"{len(analysis.words)} for {len(first.words)} words", analysis.line
    else:
        got = f"{analysis.words[place]!r} for {first.words[place]!r}"
        line = analysis.lines[place]
    raise error(
        f"expected the words of the sentence's first analysis (line {first.line}), got {got}", line
    )


def _score(analysis: Sentence, required: bool, error: LineError) -> float:
    """Return the score in an analysis's comment, NaN if there is none."""
    text = analysis.comments.get("score")
    if text is None:
        if required:
            raise error(
                "expected '# score = ...', the parser's score, above each analysis, got none",
                analysis.line,
            )
        return float("nan")
    try:
        score = float(text)
    except ValueError:
        score = float("nan")
    if not np.isfinite(score):
        raise error(f"expected a number in '# score = ...', got {text!r}", analysis.line)
    return score
