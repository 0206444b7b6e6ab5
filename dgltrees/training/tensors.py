"""Files of tensors in safetensors' format, with a checksum of all that they hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from dgltrees._checksums import check_sum, checksum
from dgltrees._files import PathLike, check_is_file, replacing

__all__ = ["not_finite", "read_tensors", "tensor_bytes", "write_tensors"]

_KEY = "checksum"


def write_tensors(
    path: PathLike, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> None:
    """Write ``tensors`` and texts beside them, atomically."""
    content = tensor_bytes(tensors, metadata)
    with replacing(path, "wb") as file:
        file.write(content)


def tensor_bytes(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """The content of a file of ``tensors`` and texts."""
    plain = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
    texts = dict(metadata)
    return save(plain, {**texts, _KEY: checksum(_parts(plain, texts))})


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the texts that :func:`write_tensors` wrote.

    Raises:
        ValueError: the file has changed since it was written.
        OSError, SafetensorError, KeyError: it is no such file.
    """
    check_is_file(path)
    with safe_open(path, framework="pt") as file:
        texts: dict[str, str] = dict(file.metadata() or {})
        tensors: dict[str, Tensor] = {n: file.get_tensor(n) for n in file.keys()}  # noqa: SIM118
    expected = texts.pop(_KEY)
    check_sum(checksum(_parts(tensors, texts)), expected)
    return tensors, texts


def not_finite(tensors: Mapping[str, Tensor]) -> list[str]:
    """The names of the tensors with a value that is NaN or infinite."""
    return [name for name, t in tensors.items() if not bool(torch.isfinite(t).all())]


def _parts(tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> Iterator[bytes]:
    about = {name: [str(t.dtype), list(t.shape)] for name, t in tensors.items()}
    yield json.dumps([about, dict(texts)], sort_keys=True).encode("ascii")
    for name in sorted(tensors):
        yield tensors[name].reshape(-1).view(torch.uint8).numpy().tobytes()
