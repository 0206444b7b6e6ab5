"""The commands that use parsers and language models on sentences: parse, rerank, complete."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Optional

from jsonargparse import ArgumentParser

from dgltrees._files import replacing
from dgltrees.commands.flags import parse_flags
from dgltrees.errors import ConfigError

__all__ = ["complete", "parse", "rerank"]


def parse(argv: Sequence[str]) -> None:
    """``parse DIR --input FILE ... --out FILE [--k 20]``: k-best lists as CoNLL-U."""
    made = _parser("parse", "the run directory of a parser")
    made.add_argument("--input", type=str, nargs="+", required=True, help="files of sentences")
    made.add_argument(
        "--out",
        type=str,
        required=True,
        help="the CoNLL-U file to write; or, with / at its end, a folder for a file an input, "
        "where those that are there already are left as they are",
    )
    made.add_argument("--k", type=int, default=1, help="trees a sentence")
    made.add_argument(
        "--format",
        type=str,
        help="conllu; lines, a sentence of words each; text, to be split into sentences and words; "
        "without it, by the file's name, conllu or lines",
    )
    made.add_argument("--encoding", type=str, default="utf-8", help="of lines and text")
    made.add_argument("--after", type=str, help="text begins below the first line with this in it")
    made.add_argument("--max_words", type=int, help="leave out longer sentences")
    made.add_argument("--projective", type=Optional[bool], help="else as the parser was trained")
    values = parse_flags(made, argv)
    if values.k < 1:
        raise ConfigError(f"expected --k to be at least 1, got {values.k}")
    from dgltrees.analyses.parse import TrainedParser, parse_files, read_sentences

    parser = TrainedParser(values.run, projective=values.projective)
    for out, paths in _outputs(values.input, values.out):
        streams = (
            read_sentences(path, values.format, encoding=values.encoding, after=values.after)
            for path in paths
        )
        sentences = chain.from_iterable(streams)
        counts = parse_files(parser, sentences, out, k=values.k, max_words=values.max_words)
        print(json.dumps({"out": str(out), **counts}), flush=True)


def _outputs(inputs: Sequence[str], out: str) -> list[tuple[Path, list[str]]]:
    """The files to write, and what is parsed for each."""
    if not (out.endswith("/") or Path(out).is_dir()):
        return [(Path(out), list(inputs))]
    found = [(Path(out) / f"{Path(path).stem}.conllu", [path]) for path in inputs]
    names = [path for path, _ in found]
    for path, source in found:
        if names.count(path) > 1:
            raise ConfigError(
                f"expected inputs of unlike names, got {source[0]} and another like it"
            )
    return [pair for pair in found if not pair[0].exists()]


def rerank(argv: Sequence[str]) -> None:
    """``rerank DIR --input KBEST [--k K | --tune GOLD] [--out FILE]``."""
    made = _parser("rerank", "the run directory of a language model over trees")
    made.add_argument("--input", type=str, nargs="+", required=True, help="k-best lists as CoNLL-U")
    made.add_argument("--k", type=int, help="choose from the first K trees; else from all")
    made.add_argument("--tune", type=str, help="right trees: print UAS and LAS for every K")
    made.add_argument("--weight", type=float, default=0.0, help="of the parser's score, added")
    made.add_argument("--out", type=str, help="CoNLL-U file to write the chosen trees to")
    values = parse_flags(made, argv)
    if values.k is not None and (values.k < 1 or values.tune is not None):
        raise ConfigError("expected --k of at least 1, or --tune to find it, and not both")
    if values.out is None and values.tune is None:
        raise ConfigError("expected --out FILE, or --tune GOLD, got neither")
    from dgltrees.analyses import rerank as reranking
    from dgltrees.analyses.scoring import TrainedLanguageModel
    from dgltrees.formats import read_kbest

    model = TrainedLanguageModel(values.run)
    single = model.single_root
    kbest = read_kbest(values.input, single_root=single, scored=values.weight != 0.0)
    gold = None
    if values.tune is not None:
        gold = reranking.read_gold(values.tune, kbest, single_root=single)
    scores = reranking.combined(kbest, reranking.scored(model, kbest), values.weight)
    k = values.k or reranking.most(kbest)
    if gold is not None:
        k, rows = reranking.tune(kbest, scores, gold)
        print(reranking.table(rows))
        print(json.dumps({"parser": rows[0], "best": rows[k - 1]}))
    if values.out is not None:
        chosen = reranking.choose(scores, kbest.offsets, k)
        reranking.write_chosen(kbest, chosen, scores, values.out)


def complete(argv: Sequence[str]) -> None:
    """``complete DIR --questions FILE [--answers FILE] [--parser DIR] [--out FILE]``."""
    made = _parser("complete", "the run directory of a language model")
    made.add_argument("--questions", type=str, required=True, help="CSV: id,question,a),...,e)")
    made.add_argument("--answers", type=str, help="CSV: id,answer; prints the accuracy")
    made.add_argument("--parser", type=str, help="run directory of a parser, for models over trees")
    made.add_argument("--out", type=str, help="file to write the answers to, as JSON lines")
    values = parse_flags(made, argv)
    if values.answers is None and values.out is None:
        raise ConfigError("expected --answers FILE to compare with, or --out FILE, got neither")
    from dgltrees.analyses import complete as completion
    from dgltrees.analyses.parse import TrainedParser
    from dgltrees.analyses.scoring import TrainedLanguageModel
    from dgltrees.formats import read_answers, read_questions

    questions = read_questions(values.questions)
    right = None if values.answers is None else read_answers(values.answers, questions)
    parser = None if values.parser is None else TrainedParser(values.parser)
    model = TrainedLanguageModel(values.run)
    scores = completion.candidate_scores(model, questions, parser)
    if values.out is not None:
        with replacing(values.out) as file:
            for line in completion.answers(questions, scores):
                file.write(json.dumps(line) + "\n")
    if right is not None:
        print(json.dumps(completion.accuracy_of(scores, right)))


def _parser(command: str, what: str) -> ArgumentParser:
    made = ArgumentParser(prog=f"dgltrees {command}", exit_on_error=False)
    made.add_argument("run", type=str, help=what)
    return made
