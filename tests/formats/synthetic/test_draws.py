import random
from pathlib import Path

import pytest

from dgltrees.errors import ConfigError
from dgltrees.formats.synthetic import draws
from dgltrees.formats.synthetic.plans import write_plans


def test_a_stream_is_fixed_by_its_key() -> None:
    one, two = draws.stream("lrt", 0, 3), draws.stream("lrt", 0, 3)
    assert [one.random() for _ in range(5)] == [two.random() for _ in range(5)]
    assert draws.stream("lrt", 0, 4).random() != draws.stream("lrt", 0, 3).random()
    # on every machine and under every version of Python
    assert draws.stream("listops", 0).random().hex() == "0x1.4373592259ae8p-2"


def test_below_gives_every_number_about_equally_often() -> None:
    rng = draws.stream("below")
    counts = [0] * 7
    for _ in range(7_000):
        counts[draws.below(rng, 7)] += 1
    assert all(900 < count < 1_100 for count in counts)


@pytest.mark.parametrize("n", [1, 3, 7, 10, 1000, 2**52 - 1])
def test_below_never_reaches_its_bound(n: int) -> None:
    class Largest(random.Random):
        def random(self) -> float:
            return 1 - 2.0**-53

    assert draws.below(Largest(), n) == n - 1


def test_shuffle_gives_every_order_about_equally_often() -> None:
    rng = draws.stream("shuffle")
    orders: dict[str, int] = {}
    for _ in range(6_000):
        items = list("abc")
        draws.shuffle(rng, items)
        orders["".join(items)] = orders.get("".join(items), 0) + 1
    assert sorted(orders) == ["abc", "acb", "bac", "bca", "cab", "cba"]
    assert all(850 < count < 1_150 for count in orders.values())


def test_distinct_drops_repeats_and_rejected_draws() -> None:
    texts = iter(["b", None, "a", "b", "c", "d"])
    assert draws.distinct(lambda: next(texts), 3, "letters") == ["b", "a", "c"]


def test_distinct_gives_up_when_there_are_no_more() -> None:
    rng = draws.stream("few")
    with pytest.raises(ConfigError) as caught:
        draws.distinct(lambda: "xyz"[draws.below(rng, 3)], 4, "letters")
    assert str(caught.value) == (
        "expected 4 distinct letters in all splits together, but after 3 the next 10,000 draws "
        "gave nothing new; ask for fewer"
    )


def test_a_table_is_the_stream_row_by_row() -> None:
    one, two = draws.stream("table"), draws.stream("table")
    assert draws.table(one, 3, 2).tolist() == [[two.random(), two.random()] for _ in range(3)]
    assert one.random() == two.random()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_end_every_line_and_are_left_out_without_lines(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    paths = draws.write_folder(out, {"x.tsv": ["é", "2"], "empty": []})
    assert paths == {"x": out / "x.tsv"}
    assert names(out) == ["x.tsv"]
    assert paths["x"].read_bytes() == "é\n2\n".encode()


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="expected a folder to write to, found a file"):
        draws.check_folder(tmp_path / "file", overwrite=True)
    with pytest.raises(ConfigError, match="expected a new or an empty folder, found files in it"):
        draws.check_folder(tmp_path, overwrite=False)
    assert draws.check_folder(tmp_path, overwrite=True) == tmp_path


def test_settings_are_checked_before_anything_is_drawn_or_written(tmp_path: Path) -> None:
    write_plans(tmp_path, train=3, valid=0, test=0)
    with pytest.raises(ConfigError, match="found files in it"):
        write_plans(tmp_path, train=10**7)
    assert names(tmp_path) == ["train.jsonl"]
