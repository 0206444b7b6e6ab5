"""A cell that is added as docs/howto/write_cell.md says, in the papers' presets."""

# ruff: noqa: F811  (fixtures)

from pathlib import Path

import pytest

from dgltrees.settings.catalog import preset_names
from tests.test_promises import Run, copy, run, trains_with_the_cell  # noqa: F401

NAMES = {*preset_names()}
REFUSED = {
    "listops": "model.cell max has no argument 'operators'",
    "mee": "model.cell has no effect with model.encoder rrnet",
}


@pytest.mark.parametrize("preset", sorted({"sst-tree", "sick"} & NAMES))
def test_a_new_cell_trains_in_every_family_that_takes_it(
    run: Run, tmp_path: Path, preset: str
) -> None:
    trains_with_the_cell(run, [preset], tmp_path)


@pytest.mark.parametrize("preset", sorted({*REFUSED} & NAMES))
def test_other_families_say_what_the_cell_lacks(run: Run, tmp_path: Path, preset: str) -> None:
    done = run("train", preset, "--model.cell", "max", "--out", str(tmp_path / "run"))
    assert done.status == 2
    assert REFUSED[preset] in done.err
