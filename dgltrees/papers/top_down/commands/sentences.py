"""Commands that use parsers and language models on sentences: parse, rerank, complete."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

from dgltrees.commands.runs import write_lines
from dgltrees.errors import ConfigError
from dgltrees.options import Count
from dgltrees.papers.top_down.analyses import complete as completion
from dgltrees.papers.top_down.analyses import parse as parsing
from dgltrees.papers.top_down.analyses import rerank as reranking
from dgltrees.papers.top_down.analyses.scoring import language_model_settings
from dgltrees.papers.top_down.data.kbest import read_kbest
from dgltrees.papers.top_down.data.questions import read_answers, read_questions
from dgltrees.training.loaded import load

__all__ = ["complete", "parse", "rerank"]


def parse(
    run: str,
    *,
    input: list[str],
    out: str,
    k: Count = 1,
    format: Literal["conllu", "lines", "text"] | None = None,
    encoding: str = "utf-8",
    after: str | None = None,
    max_words: Count | None = None,
    projective: bool | None = None,
) -> None:
    """Write the k best trees of sentences: parse DIR --input FILE --k 20 --out FILE.

    Prints one JSON object per file written: its name, and the numbers of sentences, words and
    trees.

    Arguments:
        run: the run directory of a parser.
        input: files of sentences.
        out: CoNLL-U file to write; or, with / at its end, a folder for one file per input, in which
            files that exist already stay as they are.
        k: trees per sentence.
        format: format of the input: conllu; lines, one sentence of words per line; or text, to be
            split into sentences and words; by default conllu or lines, by the file's name.
        encoding: encoding of lines and text.
        after: text begins below the first line that contains this.
        max_words: leave out sentences of more words than this.
        projective: whether trees are projective; by default as the parser was trained.
    """
    parser = load(run)
    for path, sources in _outputs(input, out):
        sentences = chain.from_iterable(
            parsing.read_sentences(source, format, encoding=encoding, after=after)
            for source in sources
        )
        counts = parsing.parse_files(
            parser, sentences, path, k=k, projective=projective, max_words=max_words
        )
        print(json.dumps({"out": str(path), **counts}), flush=True)


def _outputs(inputs: Sequence[str], out: str) -> list[tuple[Path, list[str]]]:
    """The files to write, and the inputs of each.

    Raises:
        ConfigError: two inputs would be written to the same file of a folder.
    """
    if not (out.endswith("/") or Path(out).is_dir()):
        return [(Path(out), list(inputs))]
    outputs = [(Path(out) / f"{Path(path).stem}.conllu", [path]) for path in inputs]
    names = [path for path, _ in outputs]
    for path, source in outputs:
        if names.count(path) > 1:
            raise ConfigError(
                f"expected inputs of different names, got {source[0]} and another like it"
            )
    return [pair for pair in outputs if not pair[0].exists()]


def rerank(
    run: str,
    *,
    input: list[str],
    k: Count | None = None,
    tune: str | None = None,
    weight: float = 0.0,
    out: str | None = None,
) -> None:
    """Choose among k-best trees by a language model: rerank DIR --input FILE --tune GOLD.

    Arguments:
        run: the run directory of a language model over trees.
        input: k-best lists as CoNLL-U, which ``dgltrees parse`` writes.
        k: choose from the first K trees of each sentence; by default from all.
        tune: CoNLL-U file of gold trees: print UAS and LAS for every K, and choose by the best K.
        weight: weight of the parser's score, which is added to log P.
        out: CoNLL-U file to write the chosen trees to.
    """
    if k is not None and tune is not None:
        raise ConfigError("expected --k, or --tune to find it, and not both")
    if out is None and tune is None:
        raise ConfigError("expected --out FILE, or --tune GOLD, got neither")
    loaded = load(run)
    single_root = language_model_settings(loaded).single_root
    kbest = read_kbest(input, single_root=single_root, scored=weight != 0.0)
    gold = None
    if tune is not None:
        gold = reranking.read_gold(tune, kbest, single_root=single_root)
    scores = reranking.tree_scores(loaded, kbest, weight)
    chosen_k = k or reranking.longest_list(kbest)
    if gold is not None:
        chosen_k, rows = reranking.tune(kbest, scores, gold)
        print(reranking.table(rows))
        print(json.dumps({"parser": rows[0], "best": rows[chosen_k - 1]}))
    if out is not None:
        trees = reranking.choose(scores, kbest.offsets, chosen_k)
        reranking.write_chosen(kbest, trees, scores, out)


def complete(
    run: str,
    *,
    questions: str,
    answers: str | None = None,
    parser: str | None = None,
    out: str | None = None,
) -> None:
    """Fill blanks with the likeliest candidate: complete DIR --questions FILE --answers FILE.

    A question whose likeliest candidates have the same probability has no answer; ``ties`` is the
    number of such questions.

    Arguments:
        run: the run directory of a language model.
        questions: CSV file with the columns id,question,a),b),c),d),e).
        answers: CSV file with the columns id,answer, to print the accuracy.
        parser: run directory of a parser, which language models over trees need.
        out: file to write the answers to, as JSON lines.
    """
    if answers is None and out is None:
        raise ConfigError("expected --answers FILE to compare with, or --out FILE, got neither")
    loaded, loaded_parser = load(run), None if parser is None else load(parser)
    completion.check(loaded, loaded_parser)
    asked = read_questions(questions)
    correct = None if answers is None else read_answers(answers, asked)
    scores = completion.candidate_scores(loaded, asked, loaded_parser)
    if out is not None:
        write_lines(completion.answers(asked, scores), out)
    if correct is not None:
        print(json.dumps(completion.accuracy_of(scores, correct)))
