"""Several analyses of each sentence, as a parser gives them to be reranked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional, Union

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.conllu import CONLLU_COLUMNS, conllu_sentences
from dgltrees.formats.sentences import Sentence, files_of, forest_of
from dgltrees.trees.builders.vocabs import own_vocabs
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["KBest", "read_kbest"]


@dataclass(frozen=True)
class KBest:
    """The analyses of ``G`` sentences, of each in the order of the file.

    Arguments:
        forest: all ``T`` analyses as dependency trees.
        offsets: ``(G + 1,)`` int64; group ``g`` owns the trees ``offsets[g]:offsets[g + 1]``.
        score: ``(T,)`` float64, the parser's score of each analysis, NaN where the file has none.
        ids: ``G`` names of sentences, None where the file has none.
    """

    forest: Forest
    offsets: NDArray[np.int64]
    score: NDArray[np.float64]
    ids: Sequence[Optional[str]]

    def __len__(self) -> int:
        return len(self.offsets) - 1


def read_kbest(
    paths: Union[PathLike, Sequence[PathLike]],
    *,
    vocabs: Optional[Mapping[str, Vocabulary]] = None,
    lower: bool = False,
    single_root: bool = True,
    scored: bool = False,
) -> KBest:
    """The k-best lists of one or many CoNLL-U files.

    Each analysis is a CoNLL-U sentence. Those that follow each other with the same comment
    ``# sent_id = ...`` make a group; without these, ``# analysis = 1`` begins one and
    ``# analysis = 2`` and so on continue it. ``# score = -12.3`` is an analysis's score.

    Arguments:
        paths, vocabs, lower, single_root: see :func:`~dgltrees.formats.stream_conllu`, also
            for the node columns.
        scored: whether every analysis must have a score.

    Raises:
        TreeError: with file and line: an analysis has other words than the first of its group, an
            analysis has neither comment, a group is continued after another, analyses are not
            numbered 1, 2, 3, a score is no number, or missing where it must not; or what
            ``stream_conllu`` raises.
        ConfigError: no file.
    """
    known = own_vocabs(vocabs, *CONLLU_COLUMNS)
    forests: list[Forest] = []
    sizes: list[int] = []
    scores: list[float] = []
    ids: list[Optional[str]] = []
    for file in files_of(paths):
        sentences: list[Sentence] = []
        for group in _groups(conllu_sentences(file), file):
            sizes.append(len(group))
            ids.append(group[0].comments.get("sent_id"))
            scores += [_score(one, file, scored) for one in group]
            sentences += group
        forests.append(
            forest_of(sentences, vocabs=known, lower=lower, single_root=single_root, file=file)
        )
    return KBest(Forest.concat(forests), np.cumsum([0, *sizes]), np.array(scores), ids)


def _groups(sentences: Iterable[Sentence], file: PathLike) -> Iterator[list[Sentence]]:
    group: list[Sentence] = []
    seen: set[str] = set()
    for one in sentences:
        if group and _continues(one, group, file):
            _check_words(one, group[0], file)
            group.append(one)
            continue
        name = one.comments.get("sent_id")
        if name in seen:
            raise TreeError(
                f"expected the analyses of a sentence one after the other, got {name!r} again",
                file=file,
                line=one.line,
            )
        if name is not None:
            seen.add(name)
        else:
            _check_number(one, 1, file)
        if group:
            yield group
        group = [one]
    yield group


def _continues(one: Sentence, group: Sequence[Sentence], file: PathLike) -> bool:
    """Whether an analysis is one more of the group before it."""
    name, before = (sentence.comments.get("sent_id") for sentence in (one, group[0]))
    if name is not None or before is not None or one.comments.get("analysis") == "1":
        return name is not None and name == before
    _check_number(one, len(group) + 1, file)
    return True


def _check_number(one: Sentence, wanted: int, file: PathLike) -> None:
    number = one.comments.get("analysis")
    if number != str(wanted):
        raise TreeError(
            f"expected the comment '# sent_id = ...' or '# analysis = {wanted}', "
            f"got {'neither' if number is None else f'# analysis = {number}'}",
            file=file,
            line=one.line,
        )


def _check_words(one: Sentence, first: Sentence, file: PathLike) -> None:
    if one.words == first.words:
        return
    pairs = zip(one.words, first.words)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
    if at is None:
        got, line = f"{len(one.words)} for {len(first.words)} words", one.line
    else:
        got, line = f"{one.words[at]!r} for {first.words[at]!r}", one.lines[at]
    raise TreeError(
        f"expected the words of the sentence's first analysis (line {first.line}), got {got}",
        file=file,
        line=line,
    )


def _score(one: Sentence, file: PathLike, needed: bool) -> float:
    text = one.comments.get("score")
    if text is None and needed:
        raise TreeError(
            "expected '# score = ...', the parser's score, above each analysis, got none",
            file=file,
            line=one.line,
        )
    try:
        return float("nan") if text is None else float(text)
    except ValueError:
        raise TreeError(
            f"expected a number in '# score = ...', got {text!r}", file=file, line=one.line
        ) from None
