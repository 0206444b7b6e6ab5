"""Recurrent-recursive networks: encoders, policies, objectives and language models.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018).
"""

from dgltrees.models.decisions import Decisions, PolicyOutput
from dgltrees.models.rrnet.classifier import PolicyClassifier
from dgltrees.models.rrnet.encoder import RRNetEncoder
from dgltrees.models.rrnet.fixed import FixedOperations, OnlyRecur
from dgltrees.models.rrnet.language_model import StreamLM
from dgltrees.models.rrnet.lstm_stream import LSTMStream
from dgltrees.models.rrnet.objectives import (
    OBJECTIVES,
    PolicyObjective,
    QLearning,
    Reinforce,
)
from dgltrees.models.rrnet.policy import Policy, legal
from dgltrees.models.rrnet.replay import Replay, Trajectories
from dgltrees.models.rrnet.rollout import OPERATION, Rollout
from dgltrees.models.rrnet.stepping import RRNetState, advance, initial_state

__all__ = [
    "OBJECTIVES",
    "OPERATION",
    "Decisions",
    "FixedOperations",
    "LSTMStream",
    "OnlyRecur",
    "Policy",
    "PolicyClassifier",
    "PolicyObjective",
    "PolicyOutput",
    "QLearning",
    "RRNetEncoder",
    "RRNetState",
    "Reinforce",
    "Replay",
    "Rollout",
    "StreamLM",
    "Trajectories",
    "advance",
    "initial_state",
    "legal",
]
