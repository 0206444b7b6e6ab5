"""The folder of a Hugging Face encoder: its files, its tokenizer, and its transformer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from torch import nn

from dgltrees.errors import ConfigError

__all__ = ["encoder_files", "read_tokenizer", "read_transformer"]

_TEXTS = (".json", ".txt", ".model")  # settings and tokenizer
_WEIGHTS = (".safetensors",)
_OFFLINE = {"local_files_only": True, "trust_remote_code": False}
_ERRORS = (OSError, ValueError, KeyError, SafetensorError)


def encoder_files(folder: Path, *, weights: bool = True) -> list[Path]:
    """The files that an encoder is read from, sorted by name.

    Arguments:
        folder: as ``save_pretrained`` writes it.
        weights: whether with those that hold the weights.

    Raises:
        ConfigError: the folder has no ``config.json``, or no weights as safetensors.
    """
    if not (folder / "config.json").is_file():
        raise ConfigError(
            f"expected a folder of a pretrained encoder, with config.json, got {folder}; write one "
            "with save_pretrained"
        )
    endings = _TEXTS + _WEIGHTS if weights else _TEXTS
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.suffix in endings)
    if weights and not any(path.suffix in _WEIGHTS for path in files):
        raise ConfigError(
            f"expected weights as .safetensors in {folder}; other formats can run code when they "
            "are read: convert them with save_pretrained(..., safe_serialization=True)"
        )
    return files


def read_tokenizer(folder: Path) -> tuple[Any, Any]:
    """The tokenizer in a folder, and the configuration of the encoder there.

    Raises:
        ConfigError: transformers is not installed, they cannot be read, or the tokenizer does not
            map sub-words to words.
    """
    encoder_files(folder, weights=False)
    library = _transformers()
    try:
        config = library.AutoConfig.from_pretrained(folder, **_OFFLINE)
        tokenizer = library.AutoTokenizer.from_pretrained(folder, use_fast=True, **_OFFLINE)
    except _ERRORS as error:
        raise _unreadable(folder, error) from None
    if not tokenizer.is_fast:
        raise ConfigError(
            f"expected a tokenizer with tokenizer.json in {folder}; the one there does not "
            "tell which sub-words belong to a word"
        )
    return tokenizer, config


def read_transformer(folder: Path, *, weights: bool = True) -> nn.Module:
    """The transformer in a folder, in float32 and in evaluation mode, without a pooling layer.

    Arguments:
        folder: the folder.
        weights: whether to read its weights; otherwise they are random.

    Raises:
        ConfigError: transformers is not installed, or the folder lacks what it should have.
    """
    encoder_files(folder, weights=weights)
    library = _transformers()
    try:
        if weights:
            model = library.AutoModel.from_pretrained(folder, use_safetensors=True, **_OFFLINE)
        else:
            config = library.AutoConfig.from_pretrained(folder, **_OFFLINE)
            model = library.AutoModel.from_config(config, trust_remote_code=False)
    except _ERRORS as error:
        raise _unreadable(folder, error) from None
    if getattr(model, "pooler", None) is not None:
        model.pooler = None  # nobody reads what it makes of the first state
    transformer: nn.Module = model.float().eval()
    return transformer


def _unreadable(folder: Path, error: Exception) -> ConfigError:
    return ConfigError(f"the encoder in {folder} cannot be loaded: {error}")


def _transformers() -> Any:
    try:
        import transformers
    except ImportError:
        raise ConfigError(
            "a pretrained encoder needs transformers: pip install 'dgltrees[transformers]'"
        ) from None
    return transformers
