import inspect
import io
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

import dgltrees
from dgltrees.cli import COMMANDS, main
from dgltrees.formats.synthetic import GENERATORS
from dgltrees.settings import options_of
from dgltrees.settings.catalog import preset_names
from dgltrees.settings.values import expected
from dgltrees.training import loop
from tests.training.samples import CLASSIFY, PLANS_FILE, SAMPLES

Capture = pytest.CaptureFixture[str]
_PLANS = str(PLANS_FILE)
_QUICK = ["--model.hidden_size=4", "--training.epochs=1", "--training.accelerator=cpu"]
_QUICK += ["--data.max_train_examples=40"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "run"
    assert main(["train", *CLASSIFY, *_QUICK, "--out", str(path)]) == 0
    return path


def fails(capsys: Capture, *argv: str) -> str:
    """The one line that a wrong command prints."""
    assert main(list(argv)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dgltrees: ")
    err = "".join(line for line in err.splitlines(True) if "; children: " not in line)
    assert err.count("\n") == 1
    assert len(err) < 1000
    return err


def test_help_names_every_command(capsys: Capture) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {name} " in text for name in COMMANDS)
    assert main([]) == 2


HELP = [
    *COMMANDS,
    *(f"make-data {name}" for name in GENERATORS),
    *(f"train {preset}" for preset in preset_names()[::8]),
]


@pytest.mark.parametrize("command", HELP)
def test_every_flag_of_every_command_has_a_sentence(capsys: Capture, command: str) -> None:
    assert main([*command.split(), "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: dgltrees {command.split()[0]}")
    names = re.findall(r"(?m)^  (--\S+|[A-Z]+)$", text)
    entries = re.findall(r"(?m)^  (?:--\S+|[A-Z]+)\n((?: {6}.*\n?)+)", text)
    assert len(entries) == len(names)
    for name, entry in zip(names, entries):
        sentence = " ".join(entry.split())
        assert re.match(r"[^a-z].{8,}\.( \(.+\))?$", sentence), name


def test_help_says_what_is_required_and_what_each_data_set_is(capsys: Capture) -> None:
    assert main(["train", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert re.search(r"--out The run directory[^(]*\(string; required\)", text)
    assert main(["make-data", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in GENERATORS:
        assert any(re.match(rf"  {name} +Write ", line) for line in lines)


@pytest.mark.skipif(sys.platform == "win32", reason="another signal")
@pytest.mark.parametrize(
    ("module", "status", "said"),
    [
        ("cli", -signal.SIGINT, ""),
        ("settings", 130, "stopped"),
        ("commands.presets", 130, "stopped"),
    ],
)
def test_a_start_that_is_stopped_prints_no_traceback(module: str, status: int, said: str) -> None:
    """With Ctrl-C, while a module is imported."""
    script = f"""
import os, runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs
class Finder:
    def find_spec(self, name, *_):
        if name == "dgltrees.{module}":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["dgltrees", "presets"]
runpy.run_module("dgltrees", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == status
    assert done.stdout == ""
    assert done.stderr == (f"dgltrees: {said}\n" if said else "")


def test_version(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"dgltrees {dgltrees.__version__}\n"


def test_train_evaluate_predict(capsys: Capture, run: Path, tmp_path: Path) -> None:
    assert main(["evaluate", str(run), "--test", _PLANS]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {"accuracy", "loss", "examples"} <= set(report)
    assert report["examples"] == 60

    assert main(["predict", str(run), "--input", _PLANS]) == 0
    lines = capsys.readouterr().out.splitlines()
    targets = [json.loads(line)["speed"] for line in PLANS_FILE.read_text().splitlines()]
    right = [json.loads(p)["prediction"] == t for p, t in zip(lines, targets)]
    assert sum(right) / 60 == report["accuracy"]

    out = tmp_path / "predictions.jsonl"
    assert main(["predict", str(run), "--input", _PLANS, "--out", str(out)]) == 0
    assert out.read_text().splitlines() == lines
    assert main(["predict", str(run), "--input", _PLANS, "--out", "-"]) == 0
    assert capsys.readouterr().out.splitlines() == lines


def _commands() -> Iterator[tuple[str, Any]]:
    for name, command in COMMANDS.items():
        table = command if isinstance(command, Mapping) else {"": command}
        yield from ((f"{name} {each}".strip(), function) for each, function in table.items())


def _argv(command: str, function: Any, given: Mapping[str, str]) -> list[str]:
    """The words of a command with the arguments that it needs, and others that are given."""
    needed = {"run": "none", "preset": "classify", "presets": "classify", "max_words": "3"}
    words, flags = command.split(), []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in given or (parameter.default is parameter.empty and name != "layer"):
            value = given.get(name, needed.get(name, "none"))
            positional = parameter.kind is not parameter.KEYWORD_ONLY
            words, flags = (
                words + [value] * positional,
                flags + [f"--{name}", value] * (not positional),
            )
    return [*words, *flags]


WRITING = {name: each for name, each in _commands() if "out" in options_of(each)}
READ = [
    (name, option.name)
    for name, each in WRITING.items()
    for option in options_of(each).values()
    if option.name not in ("out", "layer", "layout")
    and not all(expected(option.type, value) for value in ("x.yaml", ["x.yaml"]))
]
"""Commands that write, and the arguments of each that may name a file."""


@pytest.mark.parametrize("command", WRITING)
def test_no_command_replaces_a_file_of_a_run(
    capsys: Capture, run: Path, tmp_path: Path, command: str
) -> None:
    (tmp_path / "link").symlink_to(run)
    (word,) = {each.name for each in (run / "vocabulary").iterdir() if "target" in each.name}
    for name in ("weights.safetensors", "config.yaml", f"vocabulary/{word}", "resume.json"):
        before = (run / name).read_bytes() if (run / name).exists() else None
        for out in (run / name, tmp_path / "link" / name, run / "none" / ".." / name):
            argv = _argv(command, WRITING[command], {"out": str(out)})
            message = fails(capsys, *argv)
            assert f"expected --out with another name than the files of a run, got {out}" in message
        assert ((run / name).read_bytes() if before else None) == before
    assert "expected --out to name a file or a folder, got ''" in fails(
        capsys, *_argv(command, WRITING[command], {}), "--out="
    )


@pytest.mark.parametrize(("command", "option"), READ)
def test_no_command_replaces_what_it_reads(
    capsys: Capture, tmp_path: Path, command: str, option: str
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("base: classify\n")
    argv = _argv(command, WRITING[command], {option: str(path), "out": str(path)})
    message = fails(capsys, *argv)
    assert re.search(
        rf"expected --out with another file than (--{option}|{option.upper()}), got", message
    )
    assert path.read_text() == "base: classify\n"


def test_files_that_are_read_by_another_name_are_not_replaced(
    capsys: Capture, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a pattern, in a folder, in DGLTREES_DATA, or as the training file of the run."""
    folder, data = tmp_path / "data", tmp_path / "data" / "a.jsonl"
    folder.mkdir()
    data.write_bytes(PLANS_FILE.read_bytes())
    monkeypatch.setenv("DGLTREES_DATA", str(folder))
    message = "expected --out with another file than"
    for name in (str(folder / "*.jsonl"), str(folder), "a.jsonl"):
        argv = ["predict", str(run), "--input", name, "--out", str(data)]
        assert f"{message} --input" in fails(capsys, *argv)
    argv = ["predict", str(run), "--input", str(data), "--out", _PLANS]
    assert f"{message} data.train of the run" in fails(capsys, *argv)
    assert data.read_bytes() == PLANS_FILE.read_bytes()
    for _ in range(2):  # a drawing in the folder, and predictions in the run, may be replaced
        assert main(["draw", str(folder), "--trees", "0", "--out", str(folder / "a.svg")]) == 0
        out = str(run / "predictions.jsonl")
        assert main(["predict", str(run), "--input", str(data), "--out", out]) == 0
    (run / "predictions.jsonl").unlink()


def test_every_file_that_a_flag_names_to_write_is_checked() -> None:
    for name, command in _commands():
        for option in options_of(command).values():
            if re.search(r"\bto write|picture|write .* to\b", option.sentence):
                assert option.name == "out", name


def test_standard_streams_may_be_closed(
    capsys: Capture, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    for argv in (["predict", str(run), "--input", "-"], ["draw", "-"], ["inspect", "-"]):
        assert "the standard input is closed; name a file instead of -" in fails(capsys, *argv)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["trian"]) == 2
    sys.stderr.close()
    assert capsys.readouterr().out == ""


@pytest.mark.filterwarnings("ignore:the trees of .* have categories")
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_characters_that_the_output_lacks_are_escaped(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    def printed(*argv: str) -> str:
        stream = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(stream, encoding))
        assert main(argv) == 0
        return stream.getvalue().decode(encoding)

    rows = [json.loads(line) for line in PLANS_FILE.read_text().splitlines()]
    names = ["\u00e4", "\u2192", "\N{DECIDUOUS TREE}"]
    lines = [{**row, "id": name} for row, name in zip(rows, names)]
    path = tmp_path / "\N{DECIDUOUS TREE}.jsonl"
    for line in lines:
        line["plan"]["Node Type"] = line["id"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = printed("predict", str(run), "--input", str(path))
    assert [json.loads(line)["id"] for line in text.splitlines()] == names
    line, letter = ("\u2500", "\u00e4") if encoding == "utf-8" else ("-", "\\xe4")
    for argv in (["explain", str(run), "--by", "subtrees", "--input"], ["inspect"], ["draw"]):
        text = printed(*argv, str(path))
        assert f"{line} " in text
        assert letter in text or argv[0] == "explain"  # which has no such category


def test_predict_names_its_own_flag(capsys: Capture, run: Path) -> None:
    assert "expected --input to name a file" in fails(capsys, "predict", str(run), "--input", "no")


def test_a_file_of_another_task(capsys: Capture, run: Path) -> None:
    message = fails(capsys, "evaluate", str(run), "--test", str(SAMPLES / "lrt" / "train2"))
    assert "expected a file of the format jsonl, which the run reads, got" in message
    assert "train2, which looks like lrt; convert it, or use --format" in message


def test_train_draws_the_learning_curve_and_prints_the_result(run: Path) -> None:
    assert (run / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert (run / "config.yaml").exists()


def test_train_prints_a_short_line_per_epoch_and_where_the_results_are(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_MEASURED", 0.0)
    monkeypatch.setattr(loop, "_ANNOUNCED", 0.0)
    out = tmp_path / "run"
    words = ["regress", *CLASSIFY[1:], *_QUICK, "--training.epochs=2"]
    words[words.index("speed")] = "seconds"
    assert main(["train", *words, "--model.log_target=true", "--out", str(out)]) == 0
    printed, said = capsys.readouterr()
    metrics = json.loads(printed)["valid"]
    place, how, announced, *epochs, last = said.splitlines()
    assert place.endswith("root: 'plan'; children: 'Plans'; nodes per tree: 1 to 11 (median 5)")
    assert how.startswith("dgltrees: not compiled")
    pattern = r"dgltrees: 2 epochs take about \d+ (s|min), or less if it stops early"
    assert re.fullmatch(pattern, announced)
    for number, (line, left) in enumerate(zip(epochs, [r", at most \d+ (s|min) left", ""]), 1):
        shown = rf"epoch {number}/2  train loss \d\.\d{{4}}  valid R2 of the log -?\d+\.\d{{3}}"
        assert re.fullmatch(rf"{shown}  \d+\.\d s{left}(  \*)?", line)
    assert f"R2 of the log {metrics['r2_log']:.3f}, median q-error" in last
    assert f"; all results are in {out / 'result.json'}" in last

    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["train", *words, "--model.log_target=true", "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""


def test_the_root_of_the_data(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DGLTREES_DATA", raising=False)
    argv = ["train", "sick-relatedness", *_QUICK]
    message = fails(capsys, *argv, "--out", str(tmp_path / "a"))
    assert "set data.dir or DGLTREES_DATA" in message
    assert main([*argv, "--data.dir", str(SAMPLES), "--out", str(tmp_path / "a")]) == 0
    monkeypatch.setenv("DGLTREES_DATA", str(SAMPLES))
    assert main([*argv, "--out", str(tmp_path / "b")]) == 0


def test_seeds(capsys: Capture, tmp_path: Path) -> None:
    argv = ["train", *CLASSIFY, *_QUICK]
    assert main([*argv, "--seeds", "0", "1", "--out", str(tmp_path)]) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["valid"]["accuracy"]["runs"] == 2
    assert {p.name for p in tmp_path.iterdir()} == {"seed-0", "seed-1", "summary.json", "curve.png"}


def test_sweep(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("base: classify\nmodel: {cell: nary}\n")
    argv = ["sweep", "classify", str(tmp_path / "mine.yaml"), *CLASSIFY[1:]]
    quick = ["--training.epochs=1", "--data.max_train_examples=30"]
    grid = ["--grid", "model.hidden_size=3,5", "--seeds", "0", "1"]
    assert main([*argv, *quick, *grid, "--out", str(tmp_path / "sweep")]) == 0
    text = capsys.readouterr().out
    rows = json.loads((tmp_path / "sweep" / "table.json").read_text())
    assert [row["name"] for row in rows] == [
        "classify-hidden_size_3",
        "classify-hidden_size_5",
        "mine-hidden_size_3",
        "mine-hidden_size_5",
    ]
    assert [row["group"] for row in rows] == ["child_sum"] * 2 + ["nary"] * 2
    assert all(row["accuracy"]["runs"] == 2 and row["name"] in text for row in rows)
    assert (tmp_path / "sweep" / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "sweep" / rows[0]["name"] / "seed-1" / "run.json").exists()
    assert main(["sweep", "classify", "rank", "--out", str(tmp_path / "both")]) == 2
    assert "one metric to compare by, got accuracy and " in capsys.readouterr().err


def test_make(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    argv = ["make-data", "plans", "--train", "20", "--test", "5", "--seed", "3"]
    for folder in ("a", "plans"):  # the folder may have the name of the data set
        assert main([*argv, "--out", folder]) == 0
    for name in ("train.jsonl", "test.jsonl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "plans" / name).read_bytes()
    assert len((tmp_path / "a" / "train.jsonl").read_text().splitlines()) == 20


def test_presets_and_show(capsys: Capture) -> None:
    assert main(["presets"]) == 0
    head, *listed = capsys.readouterr().out.splitlines()
    assert head.split() == ["preset", "task", "model", "size", "rank", "paper"]
    assert [line.split()[0] for line in listed] == preset_names()
    (paper,) = (line for line in listed if "Tai et al. 2015, Table 3" in line)
    assert paper.split()[:4] == ["sick-relatedness", "regress-pairs", "child_sum", "150"]
    assert main(["show", "sick-relatedness"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# ")
    assert "\n  hidden_size: 150\n" in text
    assert "\n  levels: 5\n" in text


def test_show_gives_a_file_that_trains_alike(capsys: Capture, tmp_path: Path) -> None:
    assert main(["show", "sick-relatedness"]) == 0
    shown = capsys.readouterr().out
    (tmp_path / "mine.yaml").write_text(shown)
    assert main(["show", str(tmp_path / "mine.yaml")]) == 0
    assert capsys.readouterr().out == shown


def test_draw(capsys: Capture, tmp_path: Path) -> None:
    layout = ["--tree_path", "plan", "--children_key", "Plans"]
    assert main(["draw", _PLANS, *layout, "--trees", "0"]) == 0
    assert "Hash Join" in capsys.readouterr().out
    out = tmp_path / "trees.svg"
    assert main(["draw", _PLANS, *layout, "--out", str(out)]) == 0
    printed, said = capsys.readouterr()
    reading = "root: 'plan'; children: 'Plans'; nodes per tree: 1 to 11 (median 9)"
    assert (printed, said) == ("", f"dgltrees: {_PLANS}: {reading}\ndgltrees: wrote {out}\n")
    assert "<svg" in out.read_text()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["trian"], "no command 'trian'; did you mean train?"),
        (["train", "classify", "--seeds", "--out", "x"], "missing the value of --seeds"),
        (["draw", "x", "--trees"], "missing the value of --trees"),
        (["train", "classify", "--training.lr", "--out", "x"], "the value of --training.lr"),
        (["train"], "missing PRESET of dgltrees train: name of a preset"),
        (["show", "regress-pear"], "mean regress-pairs or regress"),
        (["show", "foo"], "no preset 'foo'; a file of settings ends in .yaml"),
        (["show", "none.yaml"], "cannot read the settings: expected a file at none.yaml, found"),
        (["train", "classify"], "missing --out of dgltrees train: the run directory"),
        (
            ["train", "classify", "--model.raedout", "root", "--out", "x"],
            "did you mean model.readout?",
        ),
        (["train", "sick-relatedness", "--model.levels", "x", "--out", "x"], "model.levels to be"),
        (["train", "classify", "--otu", "x"], "has no flag --otu; did you mean --out?"),
        (["train", "classify", "--hidden_size", "8"], "did you mean --model.hidden_size? (see"),
        (["evaluate"], "missing RUN of dgltrees evaluate"),
        (["draw", "x", "--style", "png"], "--style to be one of text, ascii, svg, or null"),
        (["draw", "x", "--positions", "some"], "--positions to be one of all, none, auto"),
        (["draw", "x", "--svg_limit", "0"], "--svg_limit to be an integer of at least 1"),
        (["evaluate", "nowhere"], "expected a run directory"),
        (["predict", "nowhere"], "missing --input of"),
        (["predict", "x", "--input", "a", "--input", "b"], "--input once, with all its values"),
        (
            ["train", "classify", "--data.train", "a", "--data.train", "b", "--out", "x"],
            "expected --data.train once, with all its values, --data.train A B, got it",
        ),
        (["make-data", "plan", "--out", "x"], "plan"),
        (["predict", str(SAMPLES), "--input", "x"], "expected a run directory"),
        (
            ["train", "--out", "x", "classify"],
            "missing PRESET of dgltrees train (before all flags)",
        ),
        (
            ["sweep", "--out", "x", "classify"],
            "missing PRESETS of dgltrees sweep (before all flags)",
        ),
        (
            ["sweep", "classify", "--grid", "model.rank=3", "model.rank=5", "--out", "x"],
            "every setting and value of --grid once, got 'model.rank=5'",
        ),
        (
            ["sweep", "classify", "--grid", "rank=3", "--out", "x"],
            "a setting with its section, model.rank,",
        ),
        (["sweep", "classify", "--grid", "model.rank=3,3", "--out", "x"], "once, got"),
        (["train", "classify", "--modle.cell", "3"], "--modle.cell; did you mean model.cell?"),
        (["train", "classify", "--model", "3"], "has no flag --model; there are --out"),
        (["train", "classify", "--out", "x", "rank", "3"], "one value of out, got 'x rank 3'"),
        (["presets", "x"], "expected only flags, got 'x' too (see"),
        (["predict", "x", "y.json"], "and flags, got 'y.json' too; name a file with --input (see"),
        (["train", "classify", "y.json"], "got 'y.json' too; name a file with --data.train (see"),
        (["draw", "none.tsv"], "expected a file at none.tsv, found none"),
        (["draw", "."], "expected a folder with files of trees, got one without"),
        (
            ["make-data", "plans", "--out", "x", "--train", str(10**30)],
            "from 0 to 10 million",
        ),
        (["train", "clasisfy"], "no preset 'clasisfy'; did you mean classify"),
        (["train", "x/y.yaml", "--out", "x"], "expected a file at x/y.yaml, found none"),
        (["sweep", "classify", "--grid", "model.rank", "--out", "x"], "SETTING=VALUE,VALUE"),
    ],
)
def test_wrong_commands(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in fails(capsys, *argv)
    assert list(tmp_path.iterdir()) == []


_WRONG = [
    ("training.seed=-1", "training.seed to be an integer of at least 0 and below 2^63, got -1"),
    ("seeds=-1", "--seeds to be a list of integers of at least 0"),
    ("seeds=0 1 0", "every seed once, got 0 1 0"),
    ("data.seed=-1", "data.seed to be an integer of at least 0"),
    ("data.max_train_examples=0", "max_train_examples to be an integer of at least 1, or null"),
    ("data.min_freq=0", "data.min_freq to be an integer of at least 1"),
    ("data.valid_fraction=1", "data.valid_fraction to be a number of at least 0 and below 1"),
    ("data.supervise=leaves", "data.supervise has no effect in the task classify"),
    ("model.hidden_size=0", "model.hidden_size to be an integer of at least 1, got 0"),
    (
        "model.head_hidden_sizes=[0]",
        "model.head_hidden_sizes to be a list of integers of at least 1, got [0]",
    ),
    ("model.head_dropout=2", "model.head_dropout to be a number of at least 0 and below 1, got 2"),
    ("model.cell=TreeLSTM", "got 'TreeLSTM'; did you mean lstm?"),
    ("training.optimizer=adm", "training.optimizer"),
    ("training.monitor=f1", "training.monitor to be one of accuracy, "),
    ("training.threads=0", "training.threads to be an integer of at least 1"),
    ("training.max_grad_norm=0", "training.max_grad_norm to be a number above 0, or null, got 0"),
    ("training.lr=inf", "training.lr to be a number above 0, or null, got inf"),
    ("training.lr=0", "training.lr to be a number above 0, or null, got 0"),
    ("training.weight_decay=-1", "training.weight_decay to be a number of at least 0"),
    ("training.batch_size=0", "training.batch_size to be an integer of at least 1"),
    ("training.max_nodes=0", "training.max_nodes to be an integer of at least 1"),
    ("training.bucket_batches=0", "training.bucket_batches to be an integer of at least 1"),
    ("training.epochs=0", "training.epochs to be an integer of at least 1"),
    (
        "training.keep=best --training.patience=0",
        "training.patience to be an integer of at least 1",
    ),
    ("training.save_every_n_steps=0", "training.save_every_n_steps to be an integer of at least"),
    (
        "training.accelerator=tpuu",
        "training.accelerator to be one of auto, cpu, cuda, gpu, mps, got",
    ),
    ("training.precision=8", "training.precision to be one of 32-true, 64-true"),
    ("training.threads=1000000", "training.threads to be at most "),
    *(
        (f"training.{name}={10**30}", f"training.{name} to be an integer of at least ")
        for name in ("threads", "batch_size", "bucket_batches", "max_nodes", "save_every_n_steps")
    ),
    ("training.num_workers=1000000", "training.num_workers to be at most "),
    (
        "model.head_hidden_sizes=[1000000000000]",
        "fits into memory, got a larger one with model.head_hidden_sizes [1000000000000]: ",
    ),
    (
        f"model.head_hidden_sizes=[{10**30}]",
        "to be a list of integers of at least 1, of at most 63 bits, got",
    ),
    (
        "model.head_hidden_sizes=[1000000000]",
        "Linear.weight has 4,000,000,000 entries, over the limit of 1,",
    ),
    (
        "model.cell=lstm --model.aggregator=full --model.hidden_size=2000",
        "over the limit of 4 GiB; choose a smaller hidden size",
    ),
    ("model.head_hidden_sizes=*a", "model.head_hidden_sizes to be a list of integers"),
    ("model.head_hidden_sizes=" + "[" * 1000, "model.head_hidden_sizes to be a list of integers"),
    ("training.optimizer_options={betas: [0.9]}", "training.optimizer"),
    ("model.gamma=3", "model.gamma has no effect with model.objective cross_entropy"),
]


@pytest.mark.parametrize(("flag", "message"), _WRONG)
def test_wrong_settings_leave_nothing_behind(
    capsys: Capture, tmp_path: Path, flag: str, message: str
) -> None:
    argv = ["train", *CLASSIFY, *_QUICK]
    name, _, value = flag.partition("=")
    flags = [f"--{name}", *value.split()] if " " in value else [f"--{flag}"]
    assert message in fails(capsys, *argv, *flags, "--out", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_values_of_the_preset_that_are_not_read_any_more_are_named(capsys: Capture) -> None:
    argv = ["train", "sick-relatedness", "--help", "--model.encoder"]
    message = "model.cell of the preset sick-relatedness has no effect with these settings"
    with pytest.warns(UserWarning, match=message):
        assert main([*argv, "bag"]) == 0
    assert main([*argv, "tree"]) == 0  # without a warning, which is an error here
    assert "--model.cell" in capsys.readouterr().out


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu_is_one_line(capsys: Capture, tmp_path: Path) -> None:
    argv = ["train", *CLASSIFY, *_QUICK]
    message = fails(capsys, *argv, "--training.accelerator=cuda", "--out", str(tmp_path / "run"))
    assert "cannot use training.accelerator cuda, training.precision 32-true on " in message
    assert not (tmp_path / "run").exists()


def test_a_base_that_is_no_name(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("base: 3\n")
    assert "base in" in fails(capsys, "show", str(tmp_path / "mine.yaml"))


def test_a_bad_test_file_is_found_before_training(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text('{"plan": 3\n')
    argv = ["train", *CLASSIFY, *_QUICK]
    argv += ["--data.test", str(tmp_path / "test.jsonl"), "--out", str(tmp_path / "run")]
    assert "test.jsonl:1" in fails(capsys, *argv)
    assert not (tmp_path / "run").exists()


def test_a_bad_point_is_found_before_the_sweep(capsys: Capture, tmp_path: Path) -> None:
    argv = ["sweep", *CLASSIFY, *_QUICK]
    grid = ["--grid", "training.optimizer=adam,adm", "--out", str(tmp_path / "sweep")]
    message = fails(capsys, *argv, *grid)
    assert "classify-optimizer_adm: " in message
    assert "got 'adm'" in message
    grid[1:2] = ["model.cell=lstm", "model.aggregator=sum,canonical"]
    message = "classify-cell_lstm-aggregator_canonical: missing model.rank (integer of at least 1)"
    assert message in fails(capsys, *argv, *grid)
    assert not (tmp_path / "sweep").exists()


def test_wrong_data_name_file_and_line(capsys: Capture, tmp_path: Path) -> None:
    data = tmp_path / "train.jsonl"
    data.write_text('{"a": 3, "target": 1}\n{"a": 3\n')
    argv = ["train", "classify", "--data.train", str(data), "--out", str(tmp_path / "run")]
    assert f"{data}:2" in fails(capsys, *argv)
    assert not (tmp_path / "run").exists()


def test_a_warning_is_one_plain_line(tmp_path: Path) -> None:
    argv = ["train", "sick-relatedness", "--model.encoder", "bag", "--data.dir", str(SAMPLES)]
    done = subprocess.run(
        [sys.executable, "-m", "dgltrees", *argv, *_QUICK, "--out", str(tmp_path / "run")],
        check=True,
        capture_output=True,
        text=True,
    )
    lines = [line for line in done.stderr.splitlines() if "has no effect" in line]
    message = "model.cell of the preset sick-relatedness has no effect with these settings"
    assert len(lines) == 1
    assert lines[0].startswith(f"dgltrees: {message}")


def test_as_a_module() -> None:
    argv = [sys.executable, "-m", "dgltrees", "presets"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1].startswith(preset_names()[0] + " ")


@pytest.mark.parametrize("command", ["--help", "presets"])
def test_the_reader_of_the_output_may_leave(command: str) -> None:
    argv = [sys.executable, "-m", "dgltrees", command]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
