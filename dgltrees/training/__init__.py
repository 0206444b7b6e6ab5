"""The training loop, optimizers, run directories and trained models."""

from dgltrees.training.rundir import RunDirectory
from dgltrees.training.trained import TrainedModel, load

__all__ = ["RunDirectory", "TrainedModel", "load"]
