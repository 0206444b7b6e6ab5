import os
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from dgltrees import ConfigError, registry
from dgltrees.commands.presets import presets, show
from dgltrees.settings import catalog
from dgltrees.settings.catalog import describe, load_preset, paper_of, preset_names, preset_values


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_says_what_its_name_says(name: str) -> None:
    settings = load_preset(name)
    assert settings.preset == name
    sizes = {part[0]: int(part[1:]) for part in name.split("-") if part[1:].isdigit()}
    assert sizes.get("c", settings.model["hidden_size"]) == settings.model["hidden_size"]
    assert "r" not in sizes or settings.model["rank"] == sizes["r"]
    kinds = ("symmetric-hosvd", "tensor-train", "canonical", "hosvd", "full", "shared-sum", "sum")
    kind = next((kind for kind in kinds if f"-{kind}-" in name), None)
    assert kind is None or settings.model["aggregator"] == kind.replace("-", "_")
    assert describe(name)


def test_a_preset_has_the_paper_of_its_base_or_its_own(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("base: sick-relatedness\n")
    assert paper_of(str(tmp_path / "mine.yaml")) == paper_of("sick-relatedness")
    assert paper_of("sick-relatedness") == "Tai et al. 2015, Table 3"
    assert paper_of("classify") == ""


def test_a_file_builds_on_a_preset(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("base: sick-relatedness\nmodel:\n  hidden_size: 4\ndata:\n  train: here.txt\n")
    settings = load_preset(str(path))
    assert (settings.preset, settings.task.name) == ("mine", "regress-pairs")
    assert settings.model["hidden_size"] == 4
    assert settings.data.train == "here.txt"
    assert settings.model["embedding"] == 150


def test_other_training_files_put_aside_those_of_the_base(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("base: sick-relatedness\ndata:\n  train: here.txt\n")
    (tmp_path / "other.yaml").write_text("base: mine.yaml\n")
    for name in ("mine", "other"):
        assert load_preset(str(tmp_path / f"{name}.yaml")).data.test is None


def test_a_preset_that_builds_on_itself(tmp_path: Path) -> None:
    path = tmp_path / "loop.yaml"
    path.write_text(f"base: {path}\n")
    with pytest.raises(ConfigError, match="extends itself"):
        preset_values(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"# a\nb: \xc3\n", "wrong.yaml:2: expected UTF-8 text, got the byte 0xc3"),
        ("model: [", "wrong.yaml is not a file of settings: expected YAML"),
        ("- 1\n", "to contain a mapping"),
        ("a: &a [1]\nb: *a\n", r"YAML: line 2: got the alias \*a, expected the value itself"),
        ("a: &a [*a]\n", r"got the alias \*a"),
        ("task: classify\nmodel: &m {head_hidden_sizes: *m}\n", r"got the alias \*m"),
        ("[" * 100_000, "expected at most 50 nested mappings and lists"),
        ("{a: " * 100_000, "expected at most 50 nested mappings and lists"),
        ("- " * 100_000, "expected at most 50 nested mappings and lists"),
        ("a: " + "x" * 1_000_001, "at most 1,000,000 characters"),
        ("a: 2020-13-45\n", "expected YAML: month must be in 1..12"),
        (f"a: {'1' * 5000}\n", "not a file of settings|missing task"),
        ("? [a]\n: 1\n", r"expected YAML: line 1: got the name \['a'\], expected a string"),
        ("task: classify\ntraining: {1: 2}\n", "line 2: got the name 1, expected a string; put it"),
        ("training:\n &chs:\n", "line 2: got the name None, expected a string"),
        ("a: 1\nb: 'c\n", "line 3: while scanning a quoted scalar, found unexpected end"),
        ("a: 1\nb: \1\n", r"line 2: the character '\\x01' is not allowed"),
        ("a: !!python/object/apply:os.system [ls]\n", "could not determine a constructor"),
        ("task: classify\nmodel:\n  size: 3\n", "wrong.yaml: model.size has no effect"),
        ("model:\n  rank: 3\n", "missing task; give one of .*classify,"),
        ("base: classify-pear\n", "no preset 'classify-pear'; did you mean classify-pairs"),
        ("base: rank\npaper: [a]\n", "expected paper in .*wrong.yaml to be a string, got .'a'"),
        ("task: [a]\n", "expected task in .*wrong.yaml to be a string, got .'a'"),
        ("base: rank\nmodel: {cell: gru, cell: rnn}\n", "line 2: got the name 'cell' twice"),
        ("base: rank\ntraining: {lr: 1e-3}\n", "in YAML without .* and 1.0e-3 .* got '1e-3'"),
        (
            "base: rank\npreset: ../../up\n",
            "preset in .*wrong.yaml to be a name without folders, got",
        ),
        ("base: rank\npreset: ..\n", "a name without folders, got '..'"),
        ("base: rank\npreset: [a]\n", "a name without folders, got ..a"),
        ("base: 3\n", "expected base in .*wrong.yaml to name a preset, got 3"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError, match=message):
        preset_values(str(path))


def test_no_such_preset_or_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no preset 'classify-pear'; did you mean classify-pairs"):
        load_preset("classify-pear")
    with pytest.raises(ConfigError, match="cannot read"):
        load_preset(str(tmp_path / "none.yaml"))


def test_a_file_on_itself_has_no_description(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"base: {path}\n")
    assert describe(str(path)) == ""
    path.write_text("# About it,\n# in two lines.\nbase: classify\n# a note\n")
    assert describe(str(path)) == "About it,\nin two lines."


def test_a_pipe_is_no_file_of_settings(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "mine.yaml")
    with pytest.raises(ConfigError, match=r"cannot open .*mine.yaml: it is not a file"):
        preset_values(str(tmp_path / "mine.yaml"))


NTI = "the paper nti (dgltrees.papers.nti), which is not installed"


@pytest.fixture
def without_nti(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(catalog.PRESETS, "nti", raising=False)
    monkeypatch.setattr(registry, "find_spec", lambda name: None)


@pytest.mark.usefixtures("without_nti")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("snli", f"preset 'snli' belongs to {NTI}"),
        ("rankk", "no preset 'rankk'; did you mean rank? (dgltrees presets lists all)"),
    ],
)
def test_what_is_missing_is_named(name: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        preset_values(name)
    assert str(error.value) == message
    with pytest.raises(ConfigError) as shown:
        show(name)
    assert str(shown.value) == message


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Installs a package ``other`` with the entry ``mine``, for presets given as Python."""

    def install(source: str) -> None:
        (tmp_path / "other_presets.py").write_text(f"PRESETS = {source}\n")
        info = tmp_path / "other-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[dgltrees.presets]\nmine = other_presets:PRESETS\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "other_presets", raising=False)
        monkeypatch.setattr(registry, "_all_entry_points", entry_points)
        core = {"core": "dgltrees.settings.presets:PRESETS"}
        monkeypatch.setattr(
            catalog, "PRESETS", registry.Registry("presets", core, catalog.PRESETS.check)
        )

    return install


def test_presets_of_another_package(install: Callable[[str], None]) -> None:
    model = {"head_hidden_sizes": [3]}
    install(str({"mine": {"base": "sick-relatedness", "about": "Mine.", "model": model}}))
    assert "mine" in preset_names()
    preset_values("mine")["model"]["head_hidden_sizes"].append(4)
    assert load_preset("mine").model["head_hidden_sizes"] == [3]
    assert (describe("mine"), paper_of("mine")) == ("Mine.", paper_of("sick-relatedness"))


def test_of_two_presets_of_one_name_the_first_stays(install: Callable[[str], None]) -> None:
    install("{'classify': {'task': 'rank'}, 'classify-nodes': {'task': 'rank'}}")
    with pytest.warns(UserWarning, match="the second one is ignored") as warned:
        names = preset_names()
    assert len(names) == len(set(names))
    assert {str(each.message) for each in warned} == {
        f"the preset {name!r} is in 'core' of the package dgltrees and in 'mine' of the "
        "package other; the second one is ignored"
        for name in ("classify", "classify-nodes")
    }
    with pytest.warns(UserWarning, match="is ignored"):
        assert load_preset("classify-nodes").task.name == "classify-nodes"


@pytest.mark.parametrize("source", ["['classify']", "{'mine': 3}", "{3: {'task': 'classify'}}"])
def test_an_entry_that_has_no_presets_is_left_out(
    install: Callable[[str], None], source: str
) -> None:
    install(source)
    with pytest.warns(UserWarning, match="'mine' in dgltrees.presets as .* not a mapping of names"):
        names = preset_names()
    assert "classify" in names
    assert "mine" not in names


@pytest.mark.parametrize(
    ("values", "listed", "message"),
    [
        ("{'model': {}}", False, "missing task; give one of"),
        ("{'base': 3}", False, "expected base in mine to name a preset, got 3"),
        ("{'base': 'mine', 'task': 'classify'}", True, "mine extends itself: mine -> mine"),
        ("{'base': 'classify', 'model': {'ranks': 3}}", True, "preset mine: model.ranks has no"),
        ("{'base': 'classify', 'modle': {}}", True, "unknown setting modle"),
    ],
)
def test_a_wrong_preset_of_another_package(
    install: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
    values: str,
    listed: bool,
    message: str,
) -> None:
    install(f"{{'mine': {values}}}")
    assert ("mine" in preset_names()) == listed
    with pytest.raises(ConfigError, match=message):
        load_preset("mine")
    if listed:
        with pytest.warns(UserWarning, match=f"{message}.*; it is left out"):
            presets()
        assert "\nclassify " in capsys.readouterr().out
