"""A package of somebody else adds an encoder of sentences, which models of pairs take by name."""

from __future__ import annotations

from pathlib import Path

from safetensors.torch import load_file

from tests.test_registry import QUICK, install, outputs
from tests.training.samples import SAMPLES

WIDE = '''
from dgltrees.models.sequence_encoder import SequenceEncoder
from dgltrees.settings import Count

class WideLSTM(SequenceEncoder):
    """A wide LSTM.

    Arguments:
        width: size of a vector, as a multiple of hidden_size.
    """
    def __init__(self, inputs, hidden_size: Count, width: Count = 2) -> None:
        super().__init__(inputs, width * hidden_size)
'''


def test_a_package_adds_an_encoder_of_sentences(tmp_path: Path) -> None:
    entries = {"sentence_encoders": {"wide": "small.wide:WideLSTM"}}
    (install(tmp_path, "small", entries) / "wide.py").write_text(WIDE)
    data = ["--data.root", str(SAMPLES), "--data.limit=20", "--data.vectors=null"]
    argv = ["train", "snli", *data, "--model.encoder=wide", "--model.width=3", *QUICK]
    (done,) = outputs(
        tmp_path, [*argv, "--model.fixed_words=false", "--model.embedding=4", "--out", "run"]
    )
    assert done[0] == 0, done[2]
    weights = load_file(tmp_path / "run" / "weights.safetensors")
    assert any(tensor.shape == (4 * 12, 12) for tensor in weights.values())
