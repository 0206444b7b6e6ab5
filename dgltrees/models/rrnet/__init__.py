"""Recurrent-recursive networks: cells and policy put together.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018).
"""

from dgltrees.models.rrnet.agents import PPO, Agent, Decisions, PolicyGradient, QLearning
from dgltrees.models.rrnet.answers import ClassAnswer, PairAnswer
from dgltrees.models.rrnet.encoder import RRNetEncoder
from dgltrees.models.rrnet.fixed import FixedOperations, OnlyRecur
from dgltrees.models.rrnet.language_model import STEP_REWARDS, StreamLM
from dgltrees.models.rrnet.lstm_stream import LSTMStream
from dgltrees.models.rrnet.policy import Policy, legal
from dgltrees.models.rrnet.reader import REWARDS, SequenceReader
from dgltrees.models.rrnet.readings import OPERATION, Reading, Rollout
from dgltrees.models.rrnet.replay import Remembered, Replay
from dgltrees.models.rrnet.stepping import ReaderState, advance, begin

__all__ = [
    "OPERATION",
    "PPO",
    "REWARDS",
    "STEP_REWARDS",
    "Agent",
    "ClassAnswer",
    "Decisions",
    "FixedOperations",
    "LSTMStream",
    "OnlyRecur",
    "PairAnswer",
    "Policy",
    "PolicyGradient",
    "QLearning",
    "RRNetEncoder",
    "ReaderState",
    "Reading",
    "Remembered",
    "Replay",
    "Rollout",
    "SequenceReader",
    "StreamLM",
    "advance",
    "begin",
    "legal",
]
