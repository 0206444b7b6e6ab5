"""The training loop, optimizers, run directories and trained models."""

from dgltrees.training.adadelta import Adadelta
from dgltrees.training.trained import TrainedModel, load
from dgltrees.training.rundir import RunDirectory

__all__ = ["Adadelta", "TrainedModel", "RunDirectory", "load"]
