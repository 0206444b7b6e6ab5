"""Words and texts in the pretrained encoder of the setting ``data.pretrained``.

Its vectors are computed once, when the data are read. With ``data.fine_tune``, the data contain the
ids of sub-words instead, and the encoder is a part of the model.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from torch import nn

from dgltrees.errors import ConfigError
from dgltrees.models.fine_tuned import PretrainedEncoder, SubwordEncoder, freeze_layers
from dgltrees.models.subwords import SubwordTokenizer, encoder_files, read_transformer
from dgltrees.tasks.files import data_files
from dgltrees.tasks.settings import DataSettings, PretrainedSettings, is_fine_tuned


def attach_pretrained(model: nn.Module, settings: DataSettings, *, weights: bool = True) -> None:
    """Add the encoder that is fine-tuned to a new model, if the model uses one.

    Arguments:
        model: the model.
        settings: the data settings.
        weights: load the encoder's weights; otherwise they are random, for a model whose weights
            are loaded afterwards.

    Raises:
        ConfigError: the encoder cannot be loaded, or has fewer layers than are to be frozen.
    """
    if not isinstance(settings, PretrainedSettings) or not settings.fine_tune:
        return
    folder, tokenizer = pretrained_folder(settings), pretrained_reader(settings)
    if folder is None or not isinstance(tokenizer, SubwordTokenizer):
        return
    for each in model.modules():
        if isinstance(each, SubwordEncoder):
            transformer = read_transformer(folder, weights=weights)
            freeze_layers(transformer, settings.frozen_layers)
            each.attach(tokenizer, transformer)
            return  # a model reads one folder


def pretrained_folder(settings: DataSettings) -> Path | None:
    """Return the folder ``data.pretrained``; None if it is not set.

    Raises:
        ConfigError: there is no such folder, or several.
    """
    if not isinstance(settings, PretrainedSettings) or not settings.pretrained:
        return None
    folders = data_files(settings, "pretrained")
    if len(folders) > 1:
        raise ConfigError(f"expected one folder as data.pretrained, got {len(folders)}")
    return folders[0] if folders else None


def pretrained_reader(settings: DataSettings) -> PretrainedEncoder | SubwordTokenizer | None:
    """Return the encoder whose vectors are computed once, or the tokenizer of a fine-tuned one.

    Without an encoder it is None.

    Raises:
        ConfigError: its folder does not exist, or it cannot be loaded.
    """
    folder, tuned = pretrained_folder(settings), is_fine_tuned(settings)
    if folder is None:
        return None
    files = encoder_files(folder, weights=not tuned)
    changes = tuple((path.name, path.stat().st_mtime_ns) for path in files)
    return _reader(folder.absolute(), tuned, changes)


@lru_cache(maxsize=2)  # a frozen encoder, and the tokenizer of a fine-tuned one
def _reader(
    folder: Path, tuned: bool, changes: tuple[tuple[str, int], ...]
) -> PretrainedEncoder | SubwordTokenizer:
    return SubwordTokenizer(folder) if tuned else PretrainedEncoder(folder)
