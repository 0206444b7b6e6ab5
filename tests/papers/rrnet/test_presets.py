"""Presets, the papers that they need, and runs of them."""

from pathlib import Path

import pytest

from dgltrees import ConfigError, registry
from dgltrees.cli import main
from dgltrees.settings.catalog import load_preset, paper_of, preset_names, preset_values
from dgltrees.settings.tasks import TASKS
from tests.settings.test_catalog import NTI, without_nti  # noqa: F401
from tests.training.samples import SAMPLES
from tests.training.test_loop_settings import course, settings_of, without_difference

_ALL = {*preset_names()}


def test_a_preset_has_the_paper_of_its_base_or_its_own() -> None:
    assert paper_of("mee-lstm") == "Jacob et al. 2018, Table 2 (LSTM)"
    assert paper_of("mee-recur") == ""


@pytest.mark.usefixtures("without_nti")
def test_presets_that_need_a_paper_go_with_it() -> None:
    names = preset_names()
    assert not [name for name in names if name.startswith(("snli", "wikiqa", "sst-"))]
    assert [name for name in names if name.startswith("sick")] == ["sick-relatedness"]
    assert _ALL & {"mee", "listops", "parser", "classify"} <= {*names}


@pytest.mark.usefixtures("without_nti")
@pytest.mark.parametrize("name", ["sick-rrnet", "sick-rrnet-supervised"])
def test_a_missing_base_is_named(name: str) -> None:
    with pytest.raises(ConfigError) as error:
        preset_values(name)
    assert str(error.value) == f"preset sick-rrnet: base: preset 'sick' belongs to {NTI}"


def test_a_preset_needs_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TASKS, "lrt", raising=False)
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    assert "lrt-tree" not in preset_names()
    with pytest.raises(ConfigError) as error:
        load_preset("lrt-tree")
    paper = "the paper tensor_tree_lstm (dgltrees.papers.tensor_tree_lstm), which is not installed"
    assert str(error.value) == f"preset lrt-tree: the task lrt belongs to {paper}"


def test_every_setting_of_the_loop_makes_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert without_difference("ptb-lstm", tmp_path, monkeypatch) == []


def test_the_same_settings_make_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [course(settings_of("ptb-lstm"), tmp_path / name, monkeypatch) for name in "ab"]
    assert runs[0] == runs[1]


@pytest.mark.skipif("sick-rrnet-trees" not in preset_names(), reason="needs the paper nti")
def test_a_model_of_given_trees_names_the_file_without_trees(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("a dog runs\ta dog sleeps\n")
    sick = ["--data.dir", str(SAMPLES), "--data.max_train_examples", "12", "--model.embedding=4"]
    sick += ["--model.hidden_size=4", "--training.epochs=1", "--training.accelerator=cpu"]
    out = str(tmp_path / "run")
    assert main(["train", "sick-rrnet-trees", *sick, "--out", out]) == 0
    capsys.readouterr()
    assert main(["predict", out, "--input", str(plain)]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"dgltrees: {plain}:1: missing node columns ")
    assert "needs sentences with trees" in message
