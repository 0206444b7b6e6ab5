"""Whether torch casts by itself."""

from __future__ import annotations

import torch

__all__ = ["autocasts"]


def autocasts(device: str) -> bool:
    """Whether autocast is on for this type of device."""
    try:
        return torch.is_autocast_enabled(device)
    except TypeError:  # torch before 2.4
        return torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()
    except RuntimeError:  # a device that has none
        return False
