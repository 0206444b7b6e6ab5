import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees import TreeRegressor, load
from dgltrees.cli import main
from tests.training.samples import CLASSIFY, PLANS_FILE
from tests.training.test_device import in_two_processes

Capture = pytest.CaptureFixture[str]
_TEST = PLANS_FILE
_PLAN = '{"plan": {"Node Type": "Seq Scan", "Table": "orders", "Plan Rows": 3, "Plan Width": 4}'
_QUICK = ["--model.hidden_size=4", "--training.epochs=1", "--training.accelerator=cpu"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("runs") / "run"
    assert main(["train", *CLASSIFY, *_QUICK, "--out", str(path)]) == 0
    return str(path)


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """The test file without its targets, in three pieces of unlike sizes."""
    records = [json.loads(line) for line in _TEST.read_text().splitlines()]
    lines = [json.dumps({"plan": record["plan"]}) for record in records]
    folder = tmp_path / "shards"
    folder.mkdir()
    for name, part in (("a", lines[:7]), ("b", lines[7:50]), ("c", lines[50:])):
        (folder / f"{name}.jsonl").write_text("\n".join(part) + "\n")
    return folder


def _lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_examples_are_numbered_over_files_and_batches(
    run: str, shards: Path, capsys: Capture
) -> None:
    assert main(["predict", run, "--input", str(_TEST)]) == 0
    whole = _lines(capsys.readouterr().out)
    for size in ("1", "8", "1000"):
        argv = ["predict", run, "--input", str(shards / "*.jsonl"), "--batch_size", size]
        assert main(argv) == 0
        lines = _lines(capsys.readouterr().out)
        assert [line["example"] for line in lines] == list(range(len(whole)))
        assert [line["prediction"] for line in lines] == [line["prediction"] for line in whole]
    texts = [
        *_TEST.read_text().splitlines()[:2],
        *(shards / "a.jsonl").read_text().splitlines()[:2],
    ]
    predictions = [line["prediction"] for line in load(run).predict_texts(texts)]
    assert predictions[:2] == predictions[2:]


@pytest.mark.parametrize(
    ("name", "lines"),
    [("json", [2**53 + 1, None, "x", 7]), ("rows", ["007", "9007199254740993", None, "x"])],
)
def test_the_ids_of_trees_are_printed_unchanged(
    run: str, name: str, lines: list[Any], tmp_path: Path, capsys: Capture
) -> None:
    path, plan = tmp_path / ("a.jsonl" if name == "json" else "a.csv"), json.loads(_PLAN + "}")
    if name == "json":
        path.write_text("\n".join(json.dumps({**plan, "id": each}) for each in lines))
    else:
        cell = json.dumps(plan["plan"]).replace('"', '""')
        path.write_text("id,plan\n" + "".join(f'{each or ""},"{cell}"\n' for each in lines))
    assert main(["predict", run, "--input", str(path)]) == 0
    assert [line.get("id") for line in _lines(capsys.readouterr().out)] == lines


def test_the_ids_of_trees_in_a_node_table_are_printed(tmp_path: Path, capsys: Capture) -> None:
    table, run = tmp_path / "nodes.csv", str(tmp_path / "run")
    ids = [f"{k:03}" for k in range(20)]
    rows = (f"{k},1,,{n % 7},{n % 3}\n{k},2,1,{n % 5},\n" for n, k in enumerate(ids))
    table.write_text("query no,node,parent,cost,y\n" + "".join(rows))
    flags = ["--data.train", str(table), "--data.tree_id", "query no", "--data.target", "y"]
    assert main(["train", "regress", *flags, *_QUICK, "--out", run]) == 0
    capsys.readouterr()
    assert main(["predict", run, "--input", str(table)]) == 0
    assert [line["id"] for line in _lines(capsys.readouterr().out)] == ids


def test_each_line_of_standard_input_is_answered_at_once(run: str) -> None:
    argv = [sys.executable, "-m", "dgltrees", "predict", run, "--input", "-", "--batch_size", "1"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(argv, **pipes) as process:  # type: ignore[call-overload]
        for number, text in enumerate((_PLAN + "}", _PLAN + ', "speed": "slow"}', _PLAN + "}")):
            process.stdin.write(text + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["example"] == number
        process.stdin.close()
    assert process.returncode == 0


def test_standard_input_may_have_any_format_of_the_task(run: str, capsys: Capture) -> None:
    text = _PLAN + "}\n"
    argv = [sys.executable, "-m", "dgltrees", "predict", run, "--input", "-", "--format"]
    good = subprocess.run([*argv, "jsonl"], input=text, text=True, capture_output=True)
    assert good.returncode == 0
    assert len(_lines(good.stdout)) == 1
    assert main(["predict", run, "--input", str(_TEST), "--format", "jsnol"]) == 2
    error = capsys.readouterr().err
    assert "expected data.format to be one of jsonl, nodes, " in error
    assert "got 'jsnol'" in error


def test_vectors_are_written_part_by_part(run: str, shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "vectors.npy"
    argv = [
        "encode",
        run,
        "--input",
        str(shards / "*.jsonl"),
        "--out",
        str(out),
        "--batch_size",
        "6",
    ]
    assert main(argv) == 0
    vectors = np.load(out, allow_pickle=False)
    assert vectors.shape == (60, 4)
    np.testing.assert_allclose(vectors, load(run).encode([_TEST]), atol=1e-6)
    assert out.stat().st_size == 128 + vectors.nbytes


@pytest.mark.parametrize("command", ["predict", "encode"])
def test_nothing_is_written_where_a_file_is_damaged(
    run: str, shards: Path, tmp_path: Path, command: str, capsys: Capture
) -> None:
    (shards / "d.jsonl").write_text(_PLAN + "}\n" + _PLAN + "\n")
    out = tmp_path / "out.npy"
    assert main([command, run, "--input", str(shards / "*.jsonl"), "--out", str(out)]) == 2
    assert f"{shards / 'd.jsonl'}:2: " in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shards"]


def test_processes_share_the_files(run: str, shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    argv = ["predict", run, "--input", str(shards / "*.jsonl"), "--out", str(out)]
    in_two_processes(["-m", "dgltrees", *argv])
    parts = [_lines((tmp_path / f"out-{rank}-of-2.jsonl").read_text()) for rank in (0, 1)]
    assert [Path(str(line["file"])).name for line in parts[0]] == ["a.jsonl"] * 7 + ["c.jsonl"] * 10
    assert [line["example"] for line in parts[0]] == [*range(7), *range(10)]
    whole = [line["prediction"] for line in load(run).predict([_TEST])]
    a_and_c, b = ([line["prediction"] for line in part] for part in parts)
    assert a_and_c[:7] + b + a_and_c[7:] == whole


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["--input", str(_TEST), "--out", "part.jsonl"],
            "expected at least one file for each of 2",
        ),
        (["--input", str(_TEST)], "missing --out: with several processes"),
    ],
)
def test_processes_need_files_and_parts(
    run: str, argv: list[str], message: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["predict", run, *argv]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("blend", [False, True])
def test_all_networks_of_an_ensemble_predict_and_are_evaluated(
    blend: bool, tmp_path: Path, capsys: Capture
) -> None:
    records = [json.loads(line) for line in _TEST.read_text().splitlines()]
    plans, seconds = [r["plan"] for r in records], [r["seconds"] for r in records]
    small = {"model.embedding": 4, "data.baselines": False}
    model = TreeRegressor(
        hidden_size=4, epochs=1, log_target=True, ensemble=2, blend=blend, settings=small
    ).fit(plans, seconds)
    run, test = str(tmp_path / "model"), tmp_path / "test.jsonl"
    model.save(run)
    lines = [json.dumps({**plan, "target": y}) for plan, y in zip(plans, seconds)]
    test.write_text("\n".join(lines))
    for size in ("25", "1000"):
        assert main(["predict", run, "--input", str(test), "--batch_size", size]) == 0
        printed = _lines(capsys.readouterr().out)
        assert [line["example"] for line in printed] == list(range(60))
        expected = model.predict(plans)
        np.testing.assert_allclose([line["prediction"] for line in printed], expected, rtol=1e-4)
    assert main(["evaluate", run, "--test", str(test)]) == 0
    assert json.loads(capsys.readouterr().out) == model.evaluate(plans, seconds)
    assert main(["evaluate", run]) == 2
    assert "--test FILE" in capsys.readouterr().err
    test.write_text("\n".join(map(json.dumps, plans)))
    assert main(["evaluate", run, "--test", str(test)]) == 2
    assert "target 'target', got none; give the trees a column" in capsys.readouterr().err
    test.write_text('{"a": 1}')
    assert main(["predict", run, "--input", str(test)]) == 2
    assert f"{test}: expected trees with the columns" in capsys.readouterr().err
