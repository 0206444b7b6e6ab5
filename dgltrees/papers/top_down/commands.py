"""Commands of top-down TreeLSTMs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

from dgltrees.commands.arguments import resumable
from dgltrees.commands.runs import write_lines
from dgltrees.errors import ConfigError
from dgltrees.papers.top_down.analyses import edge_classifier, scoring
from dgltrees.papers.top_down.analyses import parse as parsing
from dgltrees.papers.top_down.analyses import rerank as reranking
from dgltrees.papers.top_down.analyses import sample as sampling
from dgltrees.papers.top_down.analyses.sample import GeneratedTrees, TreeFormat, format_of
from dgltrees.papers.top_down.data.kbest import read_kbest
from dgltrees.papers.top_down.data.questions import read_answers, read_questions
from dgltrees.papers.top_down.models.sample_trees import Sampling
from dgltrees.settings import Count, Fraction, NonNegative, Positive, PositiveShare, Seed
from dgltrees.training.trained import load


def parse(
    run: str,
    *,
    input: list[str],
    out: str,
    k: Count = 1,
    format: parsing.SentenceFormat | None = None,
    encoding: str = "utf-8",
    after: str | None = None,
    max_words: Count | None = None,
) -> None:
    """Write the k best trees of sentences: parse DIR --input FILE --k 20 --out FILE.

    Prints one JSON object per written file: its name, and the numbers of sentences, words and
    trees.

    Arguments:
        run: the run directory of a parser.
        input: files of sentences.
        out: CoNLL-U file to write, or a folder (ending in /) for one file per input. Files that
            exist in the folder are not rewritten.
        k: number of trees per sentence.
        format: format of the input: conllu; lines, one tokenized sentence per line; or text, which
            is split into sentences and words. By default conllu or lines, depending on the file
            name.
        encoding: encoding of the formats lines and text.
        after: skip everything up to the first line that contains this string.
        max_words: skip sentences with more words.
    """
    parser = load(run)
    for path, sources in _outputs(input, out):
        sentences = chain.from_iterable(
            parsing.read_sentences(source, format, encoding=encoding, after=after)
            for source in sources
        )
        counts = parsing.parse_files(parser, sentences, path, k=k, max_words=max_words)
        print(json.dumps({"out": str(path), **counts}), flush=True)


def _outputs(inputs: Sequence[str], out: str) -> list[tuple[Path, list[str]]]:
    """Return the files to write, and the inputs of each."""
    if not (out.endswith("/") or Path(out).is_dir()):
        return [(Path(out), list(inputs))]
    outputs = [(Path(out) / f"{Path(path).stem}.conllu", [path]) for path in inputs]
    names = [path for path, _ in outputs]
    for path, source in outputs:
        if names.count(path) > 1:
            raise ConfigError(
                f"expected --input files with different names, got {Path(source[0]).name} twice"
            )
    if there := ", ".join(str(path) for path in names if path.exists()):
        print(f"dgltrees: parsed before, remove to parse again: {there}", file=sys.stderr)
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
        input: k-best lists as CoNLL-U, as written by ``dgltrees parse``.
        k: choose from the first K trees of each sentence; by default from all.
        tune: CoNLL-U file of gold trees: print UAS and LAS for every K, and choose by the best K.
        weight: weight of the parser's score, which is added to log P.
        out: CoNLL-U file to write the chosen trees to.
    """
    if not math.isfinite(weight):
        raise ConfigError(f"expected --weight to be a finite number, got {weight}")
    if k is not None and tune is not None:
        raise ConfigError("expected either --k or --tune, got both")
    if out is None and tune is None:
        raise ConfigError("expected --out FILE or --tune GOLD, got neither")
    loaded = load(run)
    single_root = scoring.language_model_settings(loaded).single_root
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


def cloze(
    run: str,
    *,
    questions: str,
    answers: str | None = None,
    parser: str | None = None,
    ngram: Count | None = None,
    out: str | None = None,
) -> None:
    """Fill blanks with the most probable candidate: cloze DIR --questions FILE --answers FILE.

    A candidate with an unknown word is not the answer if another candidate has none. A question has
    no answer if several candidates have the highest probability; ``ties`` is the number of such
    questions.

    Arguments:
        run: the run directory of a language model.
        questions: CSV file with the columns id,question,a),b),c),d),e).
        answers: CSV file with the columns id,answer; prints the accuracy.
        parser: run directory of a parser, required by language models over trees.
        ngram: train a Kneser-Ney model of this order on the data of the run, and use it instead;
            prints its perplexity on the validation sentences too.
        out: file to write the answers to, as JSON Lines.
    """
    if answers is None and out is None:
        raise ConfigError("expected --answers FILE or --out FILE, got neither")
    if ngram is not None and parser is not None:
        raise ConfigError("expected no --parser with --ngram, which reads only words; remove it")
    loaded, loaded_parser = load(run), None if parser is None else load(parser)
    scoring.check(loaded, loaded_parser, ngram is not None)
    asked = read_questions(questions)
    correct = None if answers is None else read_answers(answers, asked)
    model, perplexity = (None, None) if ngram is None else scoring.train_ngram(loaded, ngram)
    scores = scoring.candidate_scores(loaded, asked, loaded_parser, ngram=model)
    if out is not None:
        write_lines(scoring.answers(asked, scores), out)
    if correct is not None:
        of_ngram = {} if perplexity is None else {"perplexity": perplexity}
        print(json.dumps({**scoring.accuracy_of(scores, correct), **of_ngram}))


@resumable
def train_edge_classifier(
    run: str,
    *,
    state: Literal["own", "source"] | None = None,
    vectors: Literal["output", "input"] = "output",
    hidden: list[Count] | None = None,
    dropout: Fraction | None = None,
    lr: Positive | None = None,
    batch_size: Count | None = None,
    epochs: Count | None = None,
    seed: Seed | None = None,
    dir: str | None = None,
) -> None:
    """Train classifiers that add edges to trees: train-edge-classifier DIR.

    They extend a language model of words. Prints their metrics on the validation trees as JSON. The
    same command resumes interrupted training. Defaults are those of the preset edge-classifier
    (``dgltrees show edge-classifier``).

    Arguments:
        run: the run directory of a language model over trees.
        state: use the state that predicted the node's own word (own), or the state of its source
            (source).
        vectors: use the output embedding of the node's word (output), or its word vector (input).
        hidden: sizes of the classifiers' hidden layers.
        dropout: probability of dropout before every layer.
        lr: learning rate of AdaGrad.
        batch_size: number of nodes in a batch.
        epochs: number of passes over the training trees.
        seed: seed of the initial parameters, the order of the nodes and dropout.
        dir: folder of the data sets; by default that of the run.
    """
    loop = {"lr": lr, "batch_size": batch_size, "epochs": epochs, "seed": seed}
    loaded, embedding = load(run), None
    if vectors == "input":
        embedding = scoring.tree_language_model(loaded).embed.size
    model = {"state": state, "embedding": embedding, "hidden": hidden, "dropout": dropout}
    result = edge_classifier.train_edge_classifier(
        loaded, model=_given(model), training=_given(loop), dir=dir
    )
    print(json.dumps(result))


def _given(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def sample(
    run: str,
    *,
    number: Count = 10,
    seed: Seed = 0,
    temperature: NonNegative = 1.0,
    top_k: Count | None = None,
    top_p: PositiveShare = 1.0,
    max_words: Count = 100,
    sample_decisions: bool = False,
    unknown: bool = True,
    format: TreeFormat | None = None,
    out: str | None = None,
) -> None:
    """Sample trees from a language model: sample DIR --number 20 --out FILE.

    A model without START and STOP (``model.stops``) needs ``dgltrees train-edge-classifier`` first.

    Arguments:
        run: the run directory of a language model over trees.
        number: number of trees.
        seed: seed of the random numbers; the same seed gives the same trees.
        temperature: divisor of the scores before the softmax; 0 always chooses the most probable
            word.
        top_k: draw each word from the K most probable words; by default from all.
        top_p: draw each word from the fewest most probable words whose probabilities sum to this.
        max_words: largest number of words of a tree.
        sample_decisions: add another dependent with the predicted probability; by default it is
            added if the probability is above 0.5.
        unknown: allow the unknown word.
        format: format of the file; by default the suffix of --out determines it.
        out: file to write; by default sentences are printed.
    """
    form = format_of(format, out)
    trees = sampling.sample(
        load(run),
        number,
        seed=seed,
        sampling=Sampling(temperature, top_k, top_p),
        sample_decisions=sample_decisions,
        max_words=max_words,
        unknown=unknown,
    )
    _write(trees, out, form)


def _write(trees: GeneratedTrees, out: str | None, form: str) -> None:
    """Write the trees, or print their sentences."""
    if out is None:
        print("\n".join(trees.sentences))
    else:
        trees.write(out, form)
