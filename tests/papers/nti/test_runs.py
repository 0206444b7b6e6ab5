"""Runs of the paper's presets: settings in layers, other packages' encoders, several processes."""

from pathlib import Path

import pytest
from safetensors.torch import load_file

from dgltrees.commands.arguments import Layer
from dgltrees.commands.settings_help import settings_of
from tests.test_registry import QUICK, install, outputs
from tests.training.samples import SAMPLES, quick, with_model
from tests.training.test_device import TOLERANCE, losses_of_one_and_two


def test_what_a_layer_makes_unread_goes() -> None:
    with pytest.warns(UserWarning, match=r"model\..*, .* of the preset sick has no effect"):
        lstm = settings_of("sick", Layer({"model.encoder": ["lstm"]})).model
    assert not {"cell", "leaves", "trees"} & {*lstm}


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
    data = ["--data.dir", str(SAMPLES), "--data.max_train_examples=20", "--data.vectors=null"]
    argv = ["train", "snli", *data, "--model.encoder=wide", "--model.width=3", *QUICK]
    (done,) = outputs(
        tmp_path, [*argv, "--model.fixed_words=false", "--model.embedding=4", "--out", "run"]
    )
    assert done[0] == 0, done[2]
    weights = load_file(tmp_path / "run" / "weights.safetensors")
    assert any(tensor.shape == (4 * 12, 12) for tensor in weights.values())


def test_nodes_are_counted_over_all_processes(tmp_path: Path) -> None:
    settings = with_model(quick("sst-tree", batch_size=7), hidden_size=5, embedding=4)
    one, two = losses_of_one_and_two(tmp_path, settings)
    assert two[0]["train_loss"] == pytest.approx(one[0]["train_loss"], rel=TOLERANCE)
    assert two[0]["valid_node_accuracy"] == pytest.approx(one[0]["valid_node_accuracy"])
