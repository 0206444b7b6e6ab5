"""The directory of a run: its files, and the check whether it can be resumed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from safetensors import SafetensorError
from torch import Tensor

from dgltrees._files import (
    PathLike,
    check_is_file,
    check_sum,
    checked_values,
    checksum,
    file_checksum,
    file_name,
    replacing,
    with_checksum,
)
from dgltrees.errors import ConfigError
from dgltrees.models.subwords import encoder_files
from dgltrees.settings.layers import Settings, flat
from dgltrees.settings.values import load_yaml
from dgltrees.tasks.files import ROLES, data_files, fingerprint
from dgltrees.tasks.pretrained import pretrained_folder
from dgltrees.tasks.settings import PretrainedSettings, is_fine_tuned
from dgltrees.training.tensors import not_finite, read_tensors, write_tensors
from dgltrees.trees import Vocabulary
from dgltrees.trees.schema import Schema

__all__ = [
    "RunDirectory",
    "check_folder_of_runs",
    "checking",
    "encoder_fingerprint",
    "fingerprints",
    "write_json",
]

FORMAT = 4

# What may differ between the command that began a run and the one that goes on with it.
_FREE = {
    "preset",
    *(f"data.{name}" for name in ("root", *ROLES)),
    *(f"training.{name}" for name in ("epochs", "patience", "checkpoint_steps", "accelerator")),
    "training.workers",
}

_PRETRAINED = "pretrained"
_STAYS = re.compile(
    r"config\.yaml|schema\.json|vocabulary/[^/\\]+\.txt|"
    rf"{_PRETRAINED}/[^/\\]+\.(json|txt|model|safetensors)"
)
"""The names of files that stay the same throughout a run."""

_ERRORS = (
    SafetensorError,
    AttributeError,
    LookupError,
    OSError,
    OverflowError,
    RuntimeError,
    TypeError,
    ValueError,
)


_DAMAGED = "is damaged", "train it again or restore it"
_OF_OTHER_CODE = (
    "was written by other code",
    "use the code that trained it (--import MODULE, where it stands in one of your own), or train "
    "again",
)


@contextmanager
def checking(path: Path, *, with_code: bool = False) -> Iterator[None]:
    """Turn errors of the body, which reads ``path`` of a run directory, into one clear error.

    Arguments:
        path: the file.
        with_code: whether the body uses what it has read with the code of the model.

    Raises:
        ConfigError: the file is damaged; or, where it is used with code, written by other code.
    """
    try:
        yield
    except _ERRORS as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        fault, cure = _DAMAGED
        if with_code and not isinstance(error, KeyError):  # which a missing vocabulary is
            fault, cure = _OF_OTHER_CODE
        raise ConfigError(f"{path} {fault}: {what:.300}; {cure}") from None


class RunDirectory:
    """The files of one run, which need neither this package nor pickle to be read.

    ``run.json`` (format version, data files with SHA-256, parameter counts, and the SHA-256 of the
    files that stay the same: the next ones), ``config.yaml``, ``vocabulary/*.txt``, ``schema.json``
    (the columns of one's own trees), ``pretrained/*`` (a copy of the pretrained encoder; of one
    that is trained, without its weights, which are among the model's); ``weights.safetensors`` (the
    best epoch's), ``metrics.jsonl`` (one line per epoch), ``resume.safetensors`` with the readable
    part ``resume.json``, and at the end ``result.json``. What is written later has its checksum
    in it, each line of the metrics one of all lines so far. Files are read only as they were
    written.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @property
    def started(self) -> bool:
        """Whether there is a run that can be resumed."""
        state = ("metrics.jsonl", "resume.safetensors")
        return (self / "run.json").exists() and any((self / name).exists() for name in state)

    def check(self, settings: Settings, files: Mapping[str, Any]) -> None:
        """Check that a run with these settings and data files can start or resume here.

        Raises:
            ConfigError: the directory holds something else, a run of another format version,
                a damaged run, one with other settings, or data files have changed since it began.
        """
        for name in ("vocabulary", _PRETRAINED, "run.json"):
            if (self / name).is_symlink():
                raise ConfigError(f"expected no links in a run directory, got {self / name}")
        if not self.started:
            if not self._free():
                raise ConfigError(
                    f"{self.path} exists and is no run directory; name a folder that is not there "
                    "yet, or an empty one"
                )
            return
        for name in self._sums():
            self._check_sum(name)
        metadata = self.metadata()
        started, requested = (
            {**flat(each.to_dict()), "training.monitor": each.monitor}
            for each in (self.settings(), settings)
        )
        copied = {f"data.{_PRETRAINED}"} if _PRETRAINED in metadata["files"] else set()
        for key in {**started, **requested}:
            before, value = started.get(key), requested.get(key)
            if key == "model.max_children" and value is None:
                continue  # it was found in the data, which are the same
            if key == "data.scratch" and value is not None and before is not None:
                continue  # which folder it is makes no difference
            if key not in _FREE | copied and value != before:
                raise ConfigError(
                    f"{self.path} holds a run with {key} = {before!r}, asked was {value!r}; "
                    "ask for the same or choose another directory"
                )
        for role in {**files} if copied else ROLES:
            before, now = metadata["files"][role], files[role]
            if len(before) != len(now):
                raise ConfigError(
                    f"{self.path} was trained with {len(before)} files as data.{role}, now there "
                    f"are {len(now)}; give the same files or choose another directory"
                )
            for old, new in zip(before, now):
                if old["sha256"] != new["sha256"]:
                    name = new["name"]
                    what = "the trees or targets" if name is None else f"data file {name}"
                    verb, cure = (
                        ("have", "give the same") if name is None else ("has", "restore it")
                    )
                    raise ConfigError(
                        f"{what} (data.{role}) {verb} changed since the run in {self.path} began: "
                        f"SHA-256 was {old['sha256'][:12]}…, is {new['sha256'][:12]}…; {cure} or "
                        "choose another directory"
                    )

    def start(self, settings: Settings, schema: Schema, metadata: Mapping[str, Any]) -> None:
        """Write the files that stay the same, replacing those of an interrupted start."""
        self.clear()
        texts = {"config.yaml": settings.to_yaml()}
        for name, vocabulary in schema.items():
            texts[f"vocabulary/{file_name(name)}.txt"] = vocabulary.to_text()
        if schema.inputs:
            texts["schema.json"] = json_text(schema.to_dict())
        copies = _copies(settings)
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
        names = [
            *self._sums(),
            "weights.safetensors",
            "run.json",
        ]  # last, what says that it is ours
        for name in names:
            (self / name).unlink(missing_ok=True)
        for folder in (self / "vocabulary", self / _PRETRAINED):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def metadata(self) -> dict[str, Any]:
        """The content of ``run.json``.

        Raises:
            ConfigError: there is no run here, or it has another format version.
        """
        if not (self / "run.json").exists():
            inner = sorted(p.parent.name for p in self.path.glob("*/run.json"))
            hint = f"; it holds the runs {', '.join(inner)}: name one of them" if inner else ""
            raise ConfigError(f"expected a run directory with a run.json at {self.path}{hint}")
        with checking(self / "run.json"):
            metadata = _json(self / "run.json")
            version = metadata["format"]
        if version != FORMAT:
            raise ConfigError(
                f"{self.path} is a run directory of format {version!r}, this version of dgltrees "
                f"reads format {FORMAT}; use the version that wrote it, or train again"
            )
        with checking(self / "run.json"):
            metadata, _ = checked_values(metadata)
            roles = [*ROLES, *({_PRETRAINED} & {*metadata["files"]})]
            used = {"files": {role: metadata["files"][role] for role in roles}}
            used["majority"] = {k: _number(most) for k, most in metadata["majority"].items()}
        return {**metadata, **used}

    def settings(self) -> Settings:
        """The run's settings."""
        self._check_sum("config.yaml")
        with checking(self / "config.yaml"):
            values = load_yaml((self / "config.yaml").read_text(encoding="utf-8"))
            if not isinstance(values, dict):
                raise TypeError(f"expected settings as a mapping, got {values!r:.60}")
        with checking(self / "config.yaml", with_code=True):
            return Settings(values)

    def schema(self) -> Schema:
        """What the run reads further examples by; its vocabularies are frozen."""
        names = [name for name in self._sums() if name.startswith("vocabulary/")]
        for name in names:
            self._check_sum(name)
        files = [self / name for name in names]
        vocabs = {unquote(path.stem): Vocabulary.load(path) for path in files}
        path = self / "schema.json"
        if "schema.json" not in self._sums():
            return Schema(vocabs)
        self._check_sum("schema.json")
        with checking(path):
            return Schema.from_dict(vocabs, _json(path))

    def pretrained(self) -> Path | None:
        """The folder with the run's copy of its pretrained encoder; None if it has none.

        Raises:
            ConfigError: a file is damaged.
        """
        names = [name for name in self._sums() if name.startswith(f"{_PRETRAINED}/")]
        for name in names:
            self._check_sum(name)
        return (self / _PRETRAINED).absolute() if names else None

    def weights(self) -> dict[str, Tensor]:
        """The parameters of the best epoch.

        Raises:
            ConfigError: the run has not finished an epoch, or the file is damaged.
        """
        path = self / "weights.safetensors"
        if not path.exists():
            raise ConfigError(f"{self.path} has no weights yet: let the run finish an epoch")
        tensors, _ = self.read_tensors(path)
        with checking(path):
            if names := not_finite(tensors):
                raise ValueError(f"it has values that are not finite, in {', '.join(names[:3])}")
        return tensors

    def read_tensors(self, path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
        """The tensors of a file of this run, and the texts beside them.

        Raises:
            ConfigError: the file is damaged.
        """
        with checking(path):
            return read_tensors(path)

    def check_is_there(self) -> None:
        """Check, before something is saved, that the directory is where the run began.

        Raises:
            ConfigError: it is not, and saving would begin another one that holds half a run.
        """
        if not (self / "run.json").exists():
            raise ConfigError(
                f"{self.path} has no run.json any more: it was moved or removed while the run was "
                "trained; where it was moved to, --out with its new name goes on"
            )

    def save_weights(self, state: Mapping[str, Tensor]) -> None:
        """Write the parameters of the best epoch so far."""
        self.check_is_there()
        write_tensors(self / "weights.safetensors", state, {})

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
        """The lines of ``metrics.jsonl``; none before the end of the first epoch.

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
        """The content of ``result.json``, which :func:`~dgltrees.training.run.train` returned.

        Raises:
            ConfigError: the run has not ended, or the file is damaged.
        """
        if not (self / "result.json").exists():
            raise ConfigError(f"{self.path} has no result yet: let the run end")
        return self.values("result.json")

    def write_values(self, name: str, values: Mapping[str, Any]) -> None:
        """Write a JSON file of values with their checksum, atomically."""
        write_json(self / name, with_checksum(values))

    def values(self, name: str) -> dict[str, Any]:
        """The values that :meth:`write_values` wrote.

        Raises:
            ConfigError: the file is damaged.
        """
        with checking(self / name):
            values, _ = checked_values(_json(self / name))
        return values

    def _sums(self) -> dict[str, str]:
        """The checksums of the files that stay the same, by their names."""
        with checking(self / "run.json"):
            sums: dict[str, str] = self.metadata()["sha256"]
            for name in sums:
                if not _STAYS.fullmatch(name):
                    raise ValueError(f"{name!r} is no file of a run")
        return sums

    def _check_sum(self, name: str) -> None:
        """Check that a file is as it was written.

        Raises:
            ConfigError: it is not.
        """
        sums = self._sums()
        with checking(self / name):
            check_is_file(self / name)
            check_sum(file_checksum(self / name), sums[name])

    def _free(self) -> bool:
        """Whether the directory is empty, or has a run of ours that never made a step."""
        if not self.path.is_dir():
            return not self.path.exists()
        if all(p.name.startswith(".") for p in self.path.iterdir()):
            return True
        try:
            return bool(self._sums())
        except ConfigError:
            return False


def _number(value: Any) -> int | float:
    return value if isinstance(value, float) else int(value)


def check_folder_of_runs(folder: Path) -> None:
    """Check that runs can be put into a folder, with files about them beside them.

    Raises:
        ConfigError: it is a run itself, or has files and no runs.
    """
    if (folder / "run.json").exists():
        raise ConfigError(f"expected a folder for runs, got the run {folder}; name another folder")
    files = folder.is_dir() and any(
        not path.is_dir() and not path.name.startswith(".") for path in folder.iterdir()
    )
    runs = (path for pattern in ("*/run.json", "*/*/run.json") for path in folder.glob(pattern))
    if folder.is_file() or (files and next(runs, None) is None):
        raise ConfigError(
            f"{folder} exists and has no runs in it; name a folder that is not there yet, or an "
            "empty one"
        )


def fingerprints(settings: Settings) -> dict[str, list[dict[str, Any]]]:
    """The fingerprints of the data files of every role."""
    task = settings.task

    def of_file(path: Path) -> dict[str, Any]:
        companions = task.companions(path)
        return fingerprint(path, [path, *companions] if companions else None)

    return {role: [of_file(path) for path in data_files(settings.data, role)] for role in ROLES}


def encoder_fingerprint(settings: Settings) -> dict[str, list[dict[str, Any]]]:
    """The fingerprint of the pretrained encoder, for the tasks that may have one."""
    folder = pretrained_folder(settings.data)
    files = [] if folder is None else [fingerprint(folder, encoder_files(folder))]
    return {_PRETRAINED: files} if isinstance(settings.data, PretrainedSettings) else {}


def _copies(settings: Settings) -> dict[str, Path]:
    """The files of the pretrained encoder that a run keeps, by the names that they have there."""
    folder = pretrained_folder(settings.data)
    if folder is None:
        return {}
    files = encoder_files(folder, weights=not is_fine_tuned(settings.data))
    return {f"{_PRETRAINED}/{path.name}": path for path in files}


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as JSON, atomically."""
    with replacing(path) as file:
        file.write(json_text(value))


def _json(path: Path) -> Any:
    check_is_file(path)
    return json.loads(path.read_text(encoding="utf-8"))


def json_text(value: Any) -> str:
    """``value`` as JSON, for people too."""
    return json.dumps(value, indent=1) + "\n"
