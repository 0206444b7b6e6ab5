"""The commands that make trees with a language model: decide, generate, compress."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Optional

from jsonargparse import ArgumentParser

from dgltrees.analyses.tree_files import MadeTrees, format_of
from dgltrees.commands.flags import parse_flags

__all__ = ["compress", "decide", "generate"]


def decide(argv: Sequence[str]) -> None:
    """``decide DIR``: trains when to add edges; prints how often that is right, as JSON."""
    from dgltrees.analyses.decisions import DecisionSettings, train_decisions

    made = _parser("decide")
    made.add_class_arguments(DecisionSettings)
    made.add_argument("--root", type=str, help="folder of the data sets; else the run's own")
    values = parse_flags(made, argv).as_dict()
    run, root = values.pop("run"), values.pop("root")
    print(json.dumps(train_decisions(run, DecisionSettings(**values), root=root)))


def generate(argv: Sequence[str]) -> None:
    """``generate DIR [--number N] [--seed S] [--out FILE]``: draws trees."""
    made = _parser("generate")
    made.add_argument("--number", type=int, default=10, help="how many trees")
    made.add_argument("--seed", type=int, default=0, help="the same seed draws the same trees")
    made.add_argument("--temperature", type=float, default=1.0, help="0: the likeliest word always")
    made.add_argument("--top_k", type=int, help="draw among the so many likeliest words")
    made.add_argument(
        "--top_p", type=float, default=1.0, help="... of so much probability together"
    )
    made.add_argument("--max_words", type=int, default=100, help="a tree has no more than these")
    made.add_argument(
        "--sample_decisions", type=bool, default=False, help="draw the edges too; else at p > 0.5"
    )
    made.add_argument("--unknown", type=bool, default=True, help="whether <unk> may be drawn")
    _add_output(made)
    values = parse_flags(made, argv)
    form = format_of(values.format, values.out)
    from dgltrees.analyses.decisions import load_joint
    from dgltrees.analyses.generate import generate as draw_trees
    from dgltrees.models import Sampling

    drawn = draw_trees(
        load_joint(values.run),
        values.number,
        seed=values.seed,
        sampling=Sampling(values.temperature, values.top_k, values.top_p),
        sample_decisions=values.sample_decisions,
        max_words=values.max_words,
        unknown=values.unknown,
    )
    _give(drawn, values.out, form)


def compress(argv: Sequence[str]) -> None:
    """``compress DIR --input FILE ... --max_words N [--out FILE]``: shortens sentences."""
    made = _parser("compress")
    made.add_argument("--input", type=str, nargs="+", required=True, help="trees as CoNLL-U")
    made.add_argument("--max_words", type=int, required=True, help="words to keep of a sentence")
    made.add_argument("--beam", type=int, default=8, help="parts kept of each length meanwhile")
    made.add_argument(
        "--joint", type=bool, default=False, help="score the decisions to add edges too"
    )
    _add_output(made)
    values = parse_flags(made, argv)
    form = format_of(values.format, values.out)
    from dgltrees.analyses.compress import compress_files

    found = compress_files(
        values.run, values.input, values.max_words, beam=values.beam, joint=values.joint
    )
    _give(found, values.out, form)


def _give(trees: MadeTrees, out: Optional[str], form: str) -> None:
    """Write the trees, or print their sentences."""
    if out is None:
        print("\n".join(trees.sentences))
    else:
        trees.write(out, form)


def _add_output(made: ArgumentParser) -> None:
    made.add_argument("--format", type=str, help="text, conllu or svg; without it, by --out's name")
    made.add_argument("--out", type=str, help="file to write; else sentences on standard output")


def _parser(command: str) -> ArgumentParser:
    made = ArgumentParser(prog=f"dgltrees {command}", exit_on_error=False)
    made.add_argument("run", type=str, help="the run directory of a language model over trees")
    return made
