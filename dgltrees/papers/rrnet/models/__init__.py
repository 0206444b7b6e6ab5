"""Recurrent-recursive networks: encoders, policies, objectives and language models.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018).
"""

from dgltrees.papers.rrnet.models.classifier import PolicyClassifier
from dgltrees.papers.rrnet.models.decisions import Decisions, PolicyOutput
from dgltrees.papers.rrnet.models.encoder import RRNetEncoder
from dgltrees.papers.rrnet.models.fixed import FixedOperations, OnlyRecur
from dgltrees.papers.rrnet.models.language_model import StreamLM
from dgltrees.papers.rrnet.models.lstm_stream import LSTMStream
from dgltrees.papers.rrnet.models.number_decoder import (
    NumberDecoder,
)
from dgltrees.papers.rrnet.models.objectives import (
    OBJECTIVES,
    PolicyObjective,
    QLearning,
    Reinforce,
)
from dgltrees.papers.rrnet.models.policy import Policy, legal
from dgltrees.papers.rrnet.models.replay import Replay, Trajectories
from dgltrees.papers.rrnet.models.rollout import OPERATION, Rollout
from dgltrees.papers.rrnet.models.stepping import RRNetState, advance, initial_state

__all__ = [
    "OBJECTIVES",
    "OPERATION",
    "Decisions",
    "FixedOperations",
    "LSTMStream",
    "NumberDecoder",
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
