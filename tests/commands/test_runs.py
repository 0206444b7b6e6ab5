from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dgltrees.cli import main
from dgltrees.training.loaded import load
from tests.training.samples import SAMPLES

Capture = pytest.CaptureFixture[str]
_TEST = SAMPLES / "listops" / "test.tsv"
_QUICK = ["--model.hidden_size=4", "--training.epochs=1", "--training.accelerator=cpu"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("runs") / "run"
    argv = ["train", "listops-sum-c25", "--data.train", str(SAMPLES / "listops" / "train.tsv")]
    assert main([*argv, *_QUICK, "--out", str(path)]) == 0
    return str(path)


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """The test file without its values, in three pieces of unlike sizes."""
    lines = [line.split("\t")[1] for line in _TEST.read_text().splitlines()]
    folder = tmp_path / "shards"
    folder.mkdir()
    for name, part in (("a", lines[:7]), ("b", lines[7:30]), ("c", lines[30:])):
        (folder / f"{name}.tsv").write_text("\n".join(part) + "\n")
    return folder


def _lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_examples_are_numbered_over_files_and_batches(
    run: str, shards: Path, capsys: Capture
) -> None:
    assert main(["predict", run, "--input", str(_TEST)]) == 0
    whole = _lines(capsys.readouterr().out)
    for size in ("1", "8", "1000"):
        argv = ["predict", run, "--input", str(shards / "*.tsv"), "--batch_size", size]
        assert main(argv) == 0
        lines = _lines(capsys.readouterr().out)
        assert [line["example"] for line in lines] == list(range(len(whole)))
        assert [line["prediction"] for line in lines] == [line["prediction"] for line in whole]
    assert [line["prediction"] for line in load(run).predict_texts(["[MAX 2 9 ]", "4"])] == [
        line["prediction"] for line in load(run).predict_texts(["9\t[MAX 2 9 ]", "4\t4"])
    ]


def test_each_line_of_standard_input_is_answered_at_once(run: str) -> None:
    argv = [sys.executable, "-m", "dgltrees", "predict", run, "--input", "-", "--batch_size", "1"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(argv, **pipes) as process:  # type: ignore[call-overload]
        for number, text in enumerate(("[MAX 1 2 ]", "3\t[SM 1 2 ]", "5")):
            process.stdin.write(text + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["example"] == number
        process.stdin.close()
    assert process.returncode == 0


def test_standard_input_may_have_any_format_of_the_task(run: str, capsys: Capture) -> None:
    text = "[MAX 1 2 ]\n"
    argv = [sys.executable, "-m", "dgltrees", "predict", run, "--input", "-", "--format"]
    good = subprocess.run([*argv, "listops"], input=text, text=True, capture_output=True)
    assert good.returncode == 0
    assert len(_lines(good.stdout)) == 1
    assert main(["predict", run, "--input", str(_TEST), "--format", "jsonl"]) == 2
    error = capsys.readouterr().err
    assert "expected a format that the task listops reads, listops, got 'jsonl'" in error


def test_vectors_are_written_part_by_part(run: str, shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "vectors.npy"
    argv = ["encode", run, "--input", str(shards / "*.tsv"), "--out", str(out), "--batch_size", "6"]
    assert main(argv) == 0
    vectors = np.load(out, allow_pickle=False)
    assert vectors.shape == (40, 4)
    np.testing.assert_allclose(vectors, load(run).encode([_TEST]), atol=1e-6)
    assert out.stat().st_size == 128 + vectors.nbytes


@pytest.mark.parametrize("command", ["predict", "encode"])
def test_nothing_is_written_where_a_file_is_damaged(
    run: str, shards: Path, tmp_path: Path, command: str, capsys: Capture
) -> None:
    (shards / "d.tsv").write_text("[MAX 1 2 ]\n[MAX\n")
    out = tmp_path / "out.npy"
    assert main([command, run, "--input", str(shards / "*.tsv"), "--out", str(out)]) == 2
    assert f"{shards / 'd.tsv'}:2: " in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shards"]


def test_processes_share_the_files(run: str, shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    argv = ["-m", "dgltrees", "predict", run, "--input", str(shards / "*.tsv"), "--out", str(out)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*launch, *argv], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    parts = [_lines((tmp_path / f"out-{rank}-of-2.jsonl").read_text()) for rank in (0, 1)]
    assert [Path(str(line["file"])).name for line in parts[0]] == ["a.tsv"] * 7 + ["c.tsv"] * 10
    assert [line["example"] for line in parts[0]] == [*range(7), *range(10)]
    whole = [line["prediction"] for line in load(run).predict([_TEST])]
    a_and_c, b = ([line["prediction"] for line in part] for part in parts)
    assert a_and_c[:7] + b + a_and_c[7:] == whole


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--input", str(_TEST), "--out", "part.jsonl"], "expected a file or more for each of 2"),
        (["--input", str(_TEST)], "expected --out with several processes"),
    ],
)
def test_processes_need_files_and_parts(
    run: str,
    argv: list[str],
    message: str,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["predict", run, *argv]) == 2
    assert message in capsys.readouterr().err


def test_a_model_of_given_trees_names_the_file_without_trees(
    tmp_path: Path, capsys: Capture
) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("a dog runs\ta dog sleeps\n")
    sick = ["--data.root", str(SAMPLES), "--data.limit", "12", "--model.embedding=4"]
    out = str(tmp_path / "run")
    assert main(["train", "sick-rrnet-trees", *sick, *_QUICK, "--out", out]) == 0
    capsys.readouterr()
    assert main(["predict", out, "--input", str(plain)]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"dgltrees: {plain}:1: expected node columns ")
    assert "needs sentences with their trees" in message
