"""The training loop, optimizers, run directories and trained models."""

from dgltrees.training.optimizers import Adadelta
from dgltrees.training.rundir import RunDirectory
from dgltrees.training.trained import TrainedModel, load

__all__ = ["Adadelta", "RunDirectory", "TrainedModel", "load"]
