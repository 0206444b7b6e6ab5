"""The pretrained encoder of the setting ``data.pretrained``.

Its vectors are computed once, when the data are read.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from dgltrees.errors import ConfigError
from dgltrees.models.pretrained import PretrainedEncoder, encoder_files
from dgltrees.tasks.files import data_files
from dgltrees.tasks.settings import DataSettings, PretrainedSettings


def pretrained_folder(settings: DataSettings) -> Path | None:
    """Return the folder ``data.pretrained``; None if it is not set."""
    if not isinstance(settings, PretrainedSettings) or not settings.pretrained:
        return None
    folders = data_files(settings, "pretrained")
    if len(folders) > 1:
        raise ConfigError(f"expected one folder as data.pretrained, got {len(folders)}")
    return folders[0] if folders else None


def pretrained_encoder(settings: DataSettings) -> PretrainedEncoder | None:
    """Return the encoder of the settings, if they name one."""
    folder = pretrained_folder(settings)
    if folder is None:
        return None
    changes = tuple((path.name, path.stat().st_mtime_ns) for path in encoder_files(folder))
    return _encoder(folder.absolute(), changes)


@lru_cache(maxsize=1)
def _encoder(folder: Path, changes: tuple[tuple[str, int], ...]) -> PretrainedEncoder:
    return PretrainedEncoder(folder)
