"""The directory of a run: its files, and the check whether it can be resumed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Union
from urllib.parse import quote, unquote

import yaml
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from dgltrees._files import PathLike, replacing
from dgltrees.errors import ConfigError
from dgltrees.tasks.files import ROLES, data_files, fingerprint
from dgltrees.training.old_settings import settings_of_format_1
from dgltrees.training.settings import Settings, flat
from dgltrees.trees import Vocabulary
from dgltrees.trees.schema import Schema

__all__ = ["RunDirectory", "checking", "fingerprints", "write_json", "write_tensors"]

FORMAT = 2
_SETTINGS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {
    1: settings_of_format_1,
    2: dict,
}
"""Functions from the content of ``config.yaml`` to settings, by format version."""

# What may differ between the command that began a run and the one that goes on with it.
_FREE = {
    "preset",
    *(f"data.{name}" for name in ("root", *ROLES)),
    *(f"training.{name}" for name in ("epochs", "patience", "checkpoint_steps", "accelerator")),
    "training.workers",
}

_ERRORS = (
    SafetensorError,
    yaml.YAMLError,
    AttributeError,
    LookupError,
    OSError,
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

    ``run.json`` (format version, data files with SHA-256, parameter counts), ``config.yaml``,
    ``vocabulary/*.txt``, ``schema.json`` (the columns of one's own trees), ``weights.safetensors``
    (the best epoch's), ``metrics.jsonl`` (one line per epoch), ``resume.safetensors`` with the
    readable part ``resume.json``, and at the end ``result.json``.
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
                a run with other settings, or data files have changed since the run began.
        """
        if not self.started:
            if self.path.is_file() or (self.path.is_dir() and not self._ours()):
                raise ConfigError(f"{self.path} exists and is no run directory; choose another")
            return
        metadata = self.metadata()
        started, requested = (
            {**flat(each.to_dict()), "training.monitor": each.monitor}
            for each in (self.settings(), settings)
        )
        for key in {**started, **requested}:
            before, value = started.get(key), requested.get(key)
            if key == "model.max_children" and value is None:
                continue  # it was found in the data, which are the same
            if key not in _FREE and value != before:
                raise ConfigError(
                    f"{self.path} holds a run with {key} = {before!r}, asked was {value!r}; "
                    "ask for the same or choose another directory"
                )
        for role in ROLES:
            before, now = metadata["files"][role], files[role]
            if len(before) != len(now):
                raise ConfigError(
                    f"{self.path} was trained with {len(before)} files as data.{role}, now there "
                    f"are {len(now)}; give the same files or choose another directory"
                )
            for old, new in zip(before, now):
                if old["sha256"] != new["sha256"]:
                    raise ConfigError(
                        f"data file {new['name']} (data.{role}) has changed since the run in "
                        f"{self.path} began: SHA-256 was {old['sha256'][:12]}…, is "
                        f"{new['sha256'][:12]}…; restore the file or choose another directory"
                    )

    def start(self, settings: Settings, schema: Schema, metadata: Mapping[str, Any]) -> None:
        """Write the files that stay the same, replacing those of an interrupted start."""
        for left in ("run.json", "weights.safetensors", "config.yaml", "schema.json"):
            (self / left).unlink(missing_ok=True)
        for vocabulary_file in (self / "vocabulary").glob("*"):
            vocabulary_file.unlink()
        settings.save(self / "config.yaml")
        for name, vocabulary in schema.items():
            vocabulary.save(self / f"vocabulary/{quote(name, safe=' ')}.txt")
        if schema.inputs:
            write_json(self / "schema.json", schema.to_dict())
        write_json(self / "run.json", {"format": FORMAT, **metadata})

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
            metadata = json.loads((self / "run.json").read_text(encoding="utf-8"))
            version = metadata["format"]
        if version not in _SETTINGS:
            raise ConfigError(
                f"{self.path} is a run directory of format {version!r}, this version of dgltrees "
                f"reads formats {' and '.join(map(str, _SETTINGS))}; use the version that wrote "
                "it, or train again"
            )
        with checking(self / "run.json"):
            used = {"files": {role: metadata["files"][role] for role in ROLES}}
            used["majority"] = {k: _number(most) for k, most in metadata["majority"].items()}
        return {**metadata, **used}

    def settings(self) -> Settings:
        """The run's settings."""
        with checking(self / "config.yaml"):
            values = yaml.safe_load((self / "config.yaml").read_text(encoding="utf-8"))
            if not isinstance(values, dict):
                raise TypeError(f"expected settings as a mapping, got {values!r:.60}")
        with checking(self / "config.yaml", with_code=True):
            return Settings(_SETTINGS[self.metadata()["format"]](values))

    def schema(self) -> Schema:
        """What the run reads further examples by; its vocabularies are frozen."""
        files = sorted((self / "vocabulary").glob("*.txt"))
        vocabs = {unquote(path.stem): Vocabulary.load(path) for path in files}
        path = self / "schema.json"
        if not path.exists():
            return Schema(vocabs)
        with checking(path):
            return Schema.from_dict(vocabs, json.loads(path.read_text(encoding="utf-8")))

    def weights(self) -> dict[str, Tensor]:
        """The parameters of the best epoch.

        Raises:
            ConfigError: the run has not finished an epoch.
        """
        path = self / "weights.safetensors"
        if not path.exists():
            raise ConfigError(f"{self.path} has no weights yet: let the run finish an epoch")
        with checking(path):
            return load_file(path)

    def save_weights(self, state: Mapping[str, Tensor]) -> None:
        """Write the parameters of the best epoch so far."""
        write_tensors(self / "weights.safetensors", state, {})

    def write_metrics(self, history: list[dict[str, Any]]) -> None:
        """Rewrite ``metrics.jsonl``."""
        with replacing(self / "metrics.jsonl") as file:
            file.writelines(json.dumps(line) + "\n" for line in history)

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of ``metrics.jsonl``; none before the end of the first epoch."""
        path = self / "metrics.jsonl"
        if not path.exists():
            return []
        with checking(path):
            return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def _ours(self) -> bool:
        """Whether the directory is empty, or has only files of a run that never made a step."""
        names = {p.name for p in self.path.iterdir() if not p.name.startswith(".")}
        return names <= {
            "config.yaml",
            "vocabulary",
            "schema.json",
            "run.json",
            "weights.safetensors",
        }


def _number(value: Any) -> Union[int, float]:
    return value if isinstance(value, float) else int(value)


def fingerprints(settings: Settings) -> dict[str, list[dict[str, Any]]]:
    """The fingerprints of the data files of every role."""
    return {role: [fingerprint(p) for p in data_files(settings.data, role)] for role in ROLES}


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as JSON, atomically."""
    with replacing(path) as file:
        json.dump(value, file, indent=1)
        file.write("\n")


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write ``tensors`` as safetensors, atomically."""
    plain = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
    with replacing(path, "wb") as file:
        file.write(save(plain, dict(metadata)))
