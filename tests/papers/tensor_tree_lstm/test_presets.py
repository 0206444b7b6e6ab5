import pytest

from dgltrees.errors import ConfigError
from dgltrees.settings.catalog import load_preset, paper_of, preset_names


def test_every_row_and_rank_of_the_tables_is_there() -> None:
    wanted = {f"lrt-{kind}-c{c}" for kind in ("sum", "full") for c in (3, 5, 10, 20, 50, 100)}
    ranks = {10: (3, 5, 7), 20: (5, 10, 15), 50: (10, 20, 30), 100: (20, 50, 70)}
    wanted |= {f"lrt-hosvd-c{c}-r{r}" for c, rs in ranks.items() for r in rs}
    wanted |= {f"listops-full-c{c}" for c in (3, 5, 7)}
    wanted |= {f"listops-sum-c{c}" for c in (25, 88, 214)}
    wanted |= {f"listops-hosvd-c{c}-r{r}" for c in (10, 20, 50) for r in (3, 5, 7)}
    assert wanted <= set(preset_names())


def test_a_preset_has_the_paper_of_its_base_or_its_own() -> None:
    assert paper_of("lrt-sum-c3") == paper_of("lrt") == "Castellana and Bacciu 2020, Table I"
    assert paper_of("listops-demo-hosvd") == ""


def test_a_misspelt_name_gives_the_nearest() -> None:
    with pytest.raises(ConfigError, match="no preset 'listops-hosvd-c20-r4'; did you mean listo"):
        load_preset("listops-hosvd-c20-r4")
