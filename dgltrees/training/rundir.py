"""Run directories: their files, and the check whether a run can be resumed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from torch import Tensor

from dgltrees._files import (
    PathLike,
    check_is_file,
    check_sum,
    checked_values,
    checksum,
    file_checksum,
    file_names,
    replacing,
    with_checksum,
)
from dgltrees.errors import ConfigError, called
from dgltrees.models.pretrained import encoder_files
from dgltrees.settings.layers import Settings, flat
from dgltrees.settings.values import load_yaml
from dgltrees.tasks.files import ROLES, data_files, fingerprint
from dgltrees.tasks.pretrained import pretrained_folder
from dgltrees.tasks.settings import PretrainedSettings
from dgltrees.training.files import (
    checking,
    json_text,
    not_finite,
    read_json,
    read_tensors,
    write_json,
    write_tensors,
)
from dgltrees.trees import Vocabulary
from dgltrees.trees.schema import Schema

FORMAT = 5
ESTIMATOR = "estimator.json"
"""The file with the parameters of an estimator that was saved here."""
BLEND = "blend.safetensors"
"""The file of the models on flat features whose predictions a saved estimator adds to a network."""

# Settings that may differ between the command that started a run and the one that resumes it.
_FREE = {
    "preset",
    *(f"data.{name}" for name in ("dir", *ROLES)),
    *(f"training.{name}" for name in ("epochs", "patience", "save_every_n_steps", "accelerator")),
    "training.num_workers",
}

# Which training found in the data if the command does not say it.
_INFERRED = ("model.max_children", "data.children_key", "data.tree_path")

_PRETRAINED = "pretrained"
_STAYS = re.compile(
    r"config\.yaml|schema\.json|vocabulary/[^/\\]+\.txt|"
    rf"{_PRETRAINED}/[^/\\]+\.(json|txt|model|safetensors)"
)
"""The names of files that do not change during a run."""
IN_RUN = re.compile(rf"{_STAYS.pattern}|metrics\.jsonl|[^/]+\.(json|safetensors)")
"""The names of all files of a run and of a saved estimator, and others that a paper may add."""


class RunDirectory:
    """The files of one run, which can be read without this package and without pickle.

    - ``run.json``: format version, data files with SHA-256, parameter counts, and the SHA-256 of
      the files that do not change (the next four).
    - ``config.yaml``: the settings.
    - ``vocabulary/*.txt``: the vocabularies.
    - ``schema.json``: the columns of custom trees.
    - ``pretrained/*``: a copy of the pretrained encoder.
    - ``weights.safetensors``: the parameters of the epoch that is kept.
    - ``metrics.jsonl``: one line per epoch.
    - ``resume.safetensors``: the checkpoint, with a readable part in ``resume.json``;
      ``resume.previous.safetensors``: the checkpoint before.
    - ``result.json``: the result, written at the end.

    Files that change contain their checksum; each line of the metrics has one of all lines so far.
    Damaged files are rejected.

    Arguments:
        path: the folder.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        self._metadata: dict[str, Any] | None = None  # of run.json, which is read once

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @property
    def started(self) -> bool:
        """Whether there is a run that can be resumed."""
        state = ("metrics.jsonl", "resume.safetensors", "resume.previous.safetensors")
        return (self / "run.json").exists() and any((self / name).exists() for name in state)

    def check(self, settings: Settings, files: Mapping[str, Any]) -> None:
        """Check that a run with these settings and data files can start or resume here.

        Raises:
            ConfigError: the directory contains something else, a run of another format version, a
                damaged run, or a run with other settings; or data files have changed since it
                started.
        """
        self._metadata = None  # another process may have written it
        for name in ("vocabulary", _PRETRAINED, "run.json"):
            if (self / name).is_symlink():
                raise ConfigError(f"expected no symbolic links in a run, got {self / name}")
        if self.started:
            metadata = self.metadata()
            for name in metadata["sha256"]:
                self._check_sum(name)
            before, now = self.settings().task.name, settings.task.name
            if before != now:  # then files and settings differ too
                raise ConfigError(
                    f"{self.path} was started with the task {before}, now it is {now}; use another "
                    "directory"
                )
            copied = _PRETRAINED in metadata["files"]
            roles = files if copied else ROLES
            for role in roles:  # before the settings that follow from it: fractions and seed
                old, count = metadata["files"][role], len(files[role])
                if len(old) != count:
                    names = ", ".join(each["name"] or "trees in memory" for each in old)
                    raise ConfigError(
                        f"{self.path} was started with {names or 'no files':.60} as data.{role}, "
                        f"now there are {count} files; use the same files or another directory"
                    )
            free = _FREE | {f"data.{_PRETRAINED}"} if copied else _FREE
            if settings.training.schedule == "linear":  # over these epochs
                free = free - {"training.epochs"}
            self._check_settings(settings, free)
            for role in roles:
                self._check_files(role, metadata["files"][role], files[role])
        elif not self._free():
            raise ConfigError(
                f"{self.path} exists and is not a run directory; choose a new or an empty folder"
            )

    def _check_settings(self, settings: Settings, free: set[str]) -> None:
        """Check that the run has these settings, except those that are ``free``."""
        started, requested = (
            {**flat(each.to_dict()), "training.monitor": each.monitor}
            for each in (self.settings(), settings)
        )
        for key in {**started, **requested}:
            before, value = started.get(key), requested.get(key)
            if key in _INFERRED and value is None:
                continue  # from the data, which are the same
            if key not in free and value != before:
                name = called(key)
                why = ", on which its learning rates depend" if key == "training.epochs" else ""
                raise ConfigError(
                    f"{self.path} was started with {name}={before!r}{why}, now {name}={value!r}; "
                    "use the same value or another directory"
                )

    def _check_files(
        self, role: str, before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
    ) -> None:
        """Check that the data files of a role have the fingerprints of those of the run."""
        for old, new in zip(before, now):
            if old["sha256"] != new["sha256"]:
                changed, cure = f"data file {new['name']} (data.{role}) has", "restore it"
                if new["name"] is None:  # trees in memory
                    changed = f"the trees, the targets (data.{role}) or the first weights have"
                    cure = "use the same"
                raise ConfigError(
                    f"{changed} changed since the run in {self.path} started: "
                    f"SHA-256 was {old['sha256'][:12]}…, is {new['sha256'][:12]}…; {cure} or "
                    "choose another directory"
                )

    def start(self, settings: Settings, schema: Schema, metadata: Mapping[str, Any]) -> None:
        """Write the files that do not change, replacing those of an interrupted start."""
        self.clear()
        self._metadata = None
        texts = {"config.yaml": settings.to_yaml()}
        for name, stem in file_names(schema).items():
            texts[f"vocabulary/{stem}.txt"] = schema[name].to_text()
        if schema.inputs:
            texts["schema.json"] = json_text(schema.to_dict())
        copies = pretrained_files(settings)
        sums = {name: checksum([text.encode("utf-8")]) for name, text in texts.items()}
        sums.update({name: file_checksum(path) for name, path in copies.items()})
        values = {"format": FORMAT, **metadata, "sha256": sums}
        self.write_values("run.json", values)  # first: it says whose files these are
        for name, text in texts.items():
            with replacing(self / name) as file:
                file.write(text)
        for name, path in copies.items():
            with open(path, "rb") as source, replacing(self / name, "wb") as file:
                shutil.copyfileobj(source, file)

    def clear(self) -> None:
        """Remove the files of a run that never made a step, and no others."""
        if self.started or not (self / "run.json").exists():
            return
        # last, what says that it is ours
        for name in (*self.metadata()["sha256"], "weights.safetensors", "run.json"):
            (self / name).unlink(missing_ok=True)
        for folder in (self / "vocabulary", self / _PRETRAINED):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def metadata(self) -> dict[str, Any]:
        """Return the content of ``run.json``, which is read once.

        Raises:
            ConfigError: there is no run here, or it has another format version.
        """
        if self._metadata is not None:
            return self._metadata
        path = self / "run.json"
        if not path.exists():
            inner = sorted(p.parent.name for p in self.path.glob("*/run.json"))
            hint = f"; it holds the runs {', '.join(inner)}: name one of them" if inner else ""
            if (self / ESTIMATOR).exists():
                kind = self.values(ESTIMATOR)["class"]
                hint += (
                    f", or predict with all: dgltrees predict, or {kind}.load({str(self.path)!r})"
                )
            raise ConfigError(f"expected a run directory with a run.json at {self.path}{hint}")
        with checking(path):
            metadata = read_json(path)
            version = metadata["format"]
        if version != FORMAT:
            raise ConfigError(
                f"expected a run directory of format {FORMAT}, got format {version!r} at "
                f"{self.path}; use the version of dgltrees that wrote it, or train again"
            )
        with checking(path):
            metadata, _ = checked_values(metadata)
            _ = [metadata["files"][role] for role in ROLES]  # must be there
            _ = metadata["majority"], metadata["compiled"], metadata["threads"]
            for name in metadata["sha256"]:
                if not _STAYS.fullmatch(name):
                    raise ValueError(f"{name!r} is not a file of a run")
        self._metadata = metadata
        return metadata

    @property
    def identity(self) -> str:
        """Checksum of the files that do not change; files of other runs have another one."""
        return checksum([json.dumps(self.metadata()["sha256"], sort_keys=True).encode("utf-8")])

    def settings(self) -> Settings:
        """Return the settings of the run."""
        self._check_sum("config.yaml")
        with checking(self / "config.yaml"):
            values = load_yaml((self / "config.yaml").read_text(encoding="utf-8"))
            if not isinstance(values, dict):
                raise TypeError(f"expected settings as a mapping, got {values!r:.60}")
        with checking(self / "config.yaml", with_code=True):
            return Settings(values)

    def schema(self) -> Schema:
        """Return the schema that encodes further examples; its vocabularies are frozen."""
        files, path = self._checked_files("vocabulary"), self / "schema.json"
        if path.name not in self.metadata()["sha256"]:
            return Schema({unquote(each.stem): Vocabulary.load(each) for each in files})
        self._check_sum(path.name)
        with checking(path):
            values = read_json(path)
            columns = Schema.from_dict({}, values).inputs
            names = file_names([*(each.name for each in columns if each.named), "target"])
            paths = {name: self / f"vocabulary/{stem}.txt" for name, stem in names.items()}
            vocabs = {name: Vocabulary.load(each) for name, each in paths.items()}
            return Schema.from_dict(vocabs, values)

    def pretrained(self) -> Path | None:
        """Return the folder of the run's copy of its pretrained encoder; None if it has none.

        Raises:
            ConfigError: a file is damaged.
        """
        files = self._checked_files(_PRETRAINED)
        return (self / _PRETRAINED).absolute() if files else None

    def _checked_files(self, folder: str) -> list[Path]:
        """Return the files in a folder of the run; raise ConfigError if one is damaged."""
        names = [name for name in self.metadata()["sha256"] if name.startswith(f"{folder}/")]
        for name in names:
            self._check_sum(name)
        return [self / name for name in names]

    def weights(self) -> dict[str, Tensor]:
        """Return the parameters of the best epoch.

        Raises:
            ConfigError: the run has not finished an epoch, or the file is damaged.
        """
        path = self / "weights.safetensors"
        if not path.exists():
            raise ConfigError(
                f"missing {path.name} in {self.path}; let the run finish an epoch, or restore it"
            )
        tensors, texts = read_tensors(path)
        with checking(path):
            if texts.get("run") != self.identity:
                raise ValueError("it is of another run than run.json")
            if names := not_finite(tensors):
                raise ValueError(f"it has values that are not finite, in {', '.join(names[:3])}")
        return tensors

    def check_is_there(self) -> None:
        """Check, before something is saved, that the directory still exists.

        Raises:
            ConfigError: it does not, and saving would create an incomplete run.
        """
        if not (self / "run.json").exists():
            raise ConfigError(
                f"missing run.json in {self.path}: the folder was moved or removed during "
                "training; to resume, pass its new name as --out"
            )

    def save_weights(self, state: Mapping[str, Tensor]) -> None:
        """Write the parameters of the best epoch so far."""
        self.check_is_there()
        write_tensors(self / "weights.safetensors", state, {"run": self.identity})

    def write_metrics(self, history: list[dict[str, Any]]) -> None:
        """Rewrite ``metrics.jsonl``."""
        self.check_is_there()
        last = ""
        with replacing(self / "metrics.jsonl") as file:
            for values in history:
                line = with_checksum(values, last)
                file.write(json.dumps(line) + "\n")
                last = line["checksum"]

    def metrics(self) -> list[dict[str, Any]]:
        """Return the lines of ``metrics.jsonl``; none before the end of the first epoch.

        Raises:
            ConfigError: the file is damaged.
        """
        path, history, last = self / "metrics.jsonl", list[dict[str, Any]](), ""
        if not path.exists():
            return []
        with checking(path):
            check_is_file(path)
            for line in path.read_text(encoding="utf-8").splitlines():
                values, last = checked_values(json.loads(line), last)
                history.append(values)
        # written before the state to resume from, so there are as many as its epochs, or one more
        if (self / "resume.json").exists():
            epochs = self.values("resume.json")["progress"]["epoch"]
            with checking(path):
                if len(history) < epochs:
                    raise ValueError(f"it has {len(history)} lines, the run {epochs} epochs")
        return history

    def result(self) -> dict[str, Any]:
        """Return the content of ``result.json``, see :func:`~dgltrees.training.run.train`.

        Raises:
            ConfigError: the run has not ended, or the file is damaged.
        """
        if not (self / "result.json").exists():
            raise ConfigError(f"missing result in {self.path}; let the run end")
        return self.values("result.json")

    def write_values(self, name: str, values: Mapping[str, Any]) -> None:
        """Write a JSON file of values with their checksum, atomically."""
        write_json(self / name, with_checksum(values))

    def values(self, name: str) -> dict[str, Any]:
        """Return the values of a file written by :meth:`write_values`.

        Raises:
            ConfigError: the file is damaged.
        """
        with checking(self / name):
            values, _ = checked_values(read_json(self / name))
        return values

    def _check_sum(self, name: str) -> None:
        sums = self.metadata()["sha256"]
        with checking(self / name):
            check_is_file(self / name)
            check_sum(file_checksum(self / name), sums[name])

    def _free(self) -> bool:
        """Return whether the directory is empty, or has a run that never made a step."""
        if not self.path.is_dir():
            return not self.path.exists()
        if all(p.name.startswith(".") for p in self.path.iterdir()):
            return True
        try:
            return bool(self.metadata()["sha256"])
        except ConfigError:
            return False


def check_folder_of_runs(folder: Path) -> None:
    """Raise ConfigError if a folder is a run itself, or has files and no runs."""
    if (folder / "run.json").exists():
        raise ConfigError(f"expected a folder of runs, got the run {folder}; choose another folder")
    files = folder.is_dir() and any(
        not path.is_dir() and not path.name.startswith(".") for path in folder.iterdir()
    )
    runs = (path for pattern in ("*/run.json", "*/*/run.json") for path in folder.glob(pattern))
    if folder.is_file() or (files and next(runs, None) is None):
        raise ConfigError(f"{folder} exists and contains no runs; choose a new or an empty folder")


def fingerprints(settings: Settings) -> dict[str, list[dict[str, Any]]]:
    """Return the fingerprints of the data files of every role."""
    return {role: [*map(fingerprint, data_files(settings.data, role))] for role in ROLES}


def encoder_fingerprint(settings: Settings) -> dict[str, list[dict[str, Any]]]:
    """Return the fingerprint of the pretrained encoder, for tasks that support one."""
    folder = pretrained_folder(settings.data)
    files = [] if folder is None else [fingerprint(folder, encoder_files(folder))]
    return {_PRETRAINED: files} if isinstance(settings.data, PretrainedSettings) else {}


def pretrained_files(settings: Settings) -> dict[str, Path]:
    """Return the files of the pretrained encoder that a run keeps, by their names in the run."""
    folder = pretrained_folder(settings.data)
    if folder is None:
        return {}
    return {f"{_PRETRAINED}/{path.name}": path for path in encoder_files(folder)}
