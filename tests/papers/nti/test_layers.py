from __future__ import annotations

import pytest

from dgltrees.commands.arguments import Layer
from dgltrees.commands.settings_help import settings_of


def test_what_a_layer_makes_unread_goes() -> None:
    with pytest.warns(UserWarning, match=r"model\..*, .* of the preset sick is not read"):
        lstm = settings_of("sick", Layer({"model.encoder": ["lstm"]})).model
    assert not {"cell", "leaves", "trees"} & {*lstm}
