"""Settings: what is read is accepted, what is not is refused with the nearest name that is."""

from typing import Any

import numpy as np
import pytest
import yaml

from dgltrees.commands.arguments import Layer
from dgltrees.commands.settings_help import settings_of
from dgltrees.errors import ConfigError
from dgltrees.settings.layers import Settings, layered


def test_yaml_round_trip() -> None:
    model = {"cell": "lstm", "aggregator": "hosvd", "rank": 3}
    values = {"task": "classify", "model": model, "training": {"lr": 0.5}}
    settings = Settings(values)
    again = Settings(yaml.safe_load(settings.to_yaml()))
    assert again == settings
    assert (again.task.name, again.model["rank"], again.training.lr) == ("classify", 3, 0.5)
    sizes = {
        "hidden_size": np.array(8),
        "head_hidden_sizes": [np.int64(8)],
        "cell": np.str_("lstm"),
    }
    of_numpy = Settings({**values, "model": {**model, **sizes, "bidirectional": np.bool_(True)}})
    assert yaml.safe_load(of_numpy.to_yaml()) == of_numpy.to_dict()
    assert of_numpy.model["head_hidden_sizes"] == [8]


def test_flags_lie_over_the_preset_and_it_over_the_defaults() -> None:
    flags = Layer({"model.embedding": ["5"], "training.optimizer": ["sgd"]})
    settings = settings_of("sick-relatedness", flags)
    assert (settings.model["embedding"], settings.model["hidden_size"]) == (5, 150)
    assert settings.training.optimizer == "sgd"
    default = Settings({"task": "regress-pairs"}).training.bucket_batches
    assert settings.training.bucket_batches == default


def test_entries_of_a_setting_that_is_a_table_have_flags() -> None:
    flags = {"data.features.a.b": ["text"], "training.optimizer_options.amsgrad": ["true"]}
    settings = settings_of("classify", Layer(flags))
    assert settings.sections["data"]["features"] == {"a.b": "text"}
    assert settings.training.optimizer_options == {"amsgrad": True}
    names = settings_of("classify", Layer({"data.features": ["comment"]}))
    assert names.sections["data"]["features"] == ["comment"]


@pytest.mark.parametrize(
    ("flags", "name", "value"),
    [
        ({"data.test": ["a", "b c,d"]}, "data.test", ["a", "b c,d"]),
        ({"data.train": ["[x, y]"]}, "data.train", ["x", "y"]),
        ({"data.train": ["x"]}, "data.train", "x"),
        ({"model.head_hidden_sizes": ["20", "30"]}, "model.head_hidden_sizes", [20, 30]),
        ({"model.head_hidden_sizes": ["20"]}, "model.head_hidden_sizes", [20]),
        ({"model.head_hidden_sizes": ["[]"]}, "model.head_hidden_sizes", []),
        ({"model.bidirectional": []}, "model.bidirectional", True),
        ({"model.bidirectional": ["false"]}, "model.bidirectional", False),
        ({"training.lr": ["1e-3"]}, "training.lr", 1e-3),
        ({"training.max_grad_norm": ["null"]}, "training.max_grad_norm", None),
        (
            {"training.optimizer_options.momentum": ["0.9"], "training.optimizer": ["sgd"]},
            "training.optimizer_options",
            {"momentum": 0.9},
        ),
        (
            # one flag makes another readable
            {"model.cell": ["lstm"], "model.aggregator": ["hosvd"], "model.rank": ["4"]},
            "model.rank",
            4,
        ),
    ],
)
def test_words_of_a_flag_become_values(
    flags: dict[str, list[str]], name: str, value: object
) -> None:
    section, _, option = name.partition(".")
    assert settings_of("classify", Layer(flags)).sections[section][option] == value


def test_other_training_files_put_aside_the_preset_files() -> None:
    flags = Layer({"data.train": ["mine"], "data.test": ["my-test"]})
    data = settings_of("sick-relatedness", flags).data
    assert (data.valid, data.test) == (None, "my-test")


def test_what_a_layer_makes_unread_goes() -> None:
    """The cell of a preset is not in the way of another encoder."""
    message = r"^model.cell of the preset sick-relatedness has no effect with these settings"
    with pytest.warns(UserWarning, match=message):
        settings = settings_of("sick-relatedness", Layer({"model.encoder": ["lstm"]}))
    assert "cell" not in settings.model


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": {"hiden_size": 3}}, r"model\.hiden_size has no effect.*model\.hidden_size\?"),
        ({"modle": {}}, r"unknown setting modle; did you mean model\?"),
        ({"task": "listop"}, r"task to be one of .*, got 'listop'"),
        (
            {"model": {"cell": "lstm", "rank": 3}},
            r"no effect with model\.aggregator sum, but with hosvd, canonical,",
        ),
        ({"model": {"cell": "nary", "rank": 3}}, r"no effect with model\.cell nary, but with rnn,"),
        ({"data": {"supervise": "x"}}, r"data\.supervise has no effect in the task"),
        ({"training": {"learning_rate": 1}}, r"learning_rate has no effect .* mean training\.lr\?"),
        ({"training": {"precision": "8"}}, r"training\.precision to be one of 32-true, .*got '8'"),
        ({"training": {"devices": 2}}, r"training\.devices has no effect in the task classify"),
        ({"training": {"accelerator": "x"}}, r"training\.accelerator to be one of auto, cpu, cuda"),
        (
            {"model": {"head_hidden_sizes": [0]}},
            r"model\.head_hidden_sizes to be a list of integers of at least 1",
        ),
        ({"model": {"head_dropout": 1}}, r"model\.head_dropout to be a number of at least 0 and b"),
        (
            {"model": {"cell": "lsmt"}},
            r"model\.cell to be one of rnn, .*, got 'lsmt'; did you mean lstm\?",
        ),
        ({"model": {"readout": "maen"}}, r"got 'maen'; did you mean mean\?"),
        ({"model": 3}, r"expected model to be a mapping of settings, got 3"),
        ({"data": {"seed": "x"}}, r"data\.seed to be an integer of at least 0 .*got 'x'"),
        ({"data": {"valid": "v", "valid_fraction": 0.2}}, r"has no effect with data\.valid; leave"),
        ({"training": {"epochs": 1.5}}, r"training\.epochs to be an integer of at least 1"),
        ({"training": {"monitor": "map"}}, r"monitor to be one of accuracy, .*, which .*classify"),
        ({"training": {"schedule": "halve"}}, r"training\.monitor to be loss with .*schedule halv"),
        ({"training": {"schedule": "halve", "monitor": "loss", "keep": "last"}}, "keep to be best"),
        ({"training": {"bucket_batches": 1, "bucket_by": "size"}}, r"no effect with .*batches 1"),
    ],
)
def test_wrong_settings(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        Settings({"task": "classify", **values})
    assert "\n" not in str(error.value)


def test_a_layer_is_refused_for_what_it_says_alone() -> None:
    with pytest.raises(
        ConfigError, match=r"model\.huber_delta has no effect with model\.objective squared, but"
    ):
        layered(
            {"task": "regress", "model": {"objective": "squared"}}, {"model": {"huber_delta": 3}}
        )
    squared = {"task": "regress", "model": {"objective": "squared", "huber_delta": 3}}
    assert layered(squared, {})["model"] == {"objective": "squared"}
