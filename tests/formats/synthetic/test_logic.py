from __future__ import annotations

import hashlib
import itertools
from collections import Counter

import pytest

from dgltrees.errors import ConfigError
from dgltrees.formats.synthetic import logic, make_logic

from . import brute_force

PER_BIN = [8, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60]


def read(path):
    return [tuple(line.split("\t")) for line in path.read_text(encoding="ascii").splitlines()]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("logic")
    paths = make_logic(out, train=PER_BIN, valid=130, test=[9] * 13, seed=3)
    del paths["manifest"]
    return {name: read(path) for name, path in paths.items()}


def test_sizes_and_bins(made):
    train = [len(made[f"train{place}"]) for place in range(13)]
    assert train == PER_BIN
    assert sum(len(pairs) for name, pairs in made.items() if name.startswith("valid")) == 130
    assert all(len(made[f"test{place}"]) == 9 for place in range(13))
    for name, pairs in made.items():
        place = int(name.lstrip("trainvldes"))
        for _, *sides in pairs:
            largest = max(map(brute_force.operators, sides))
            assert largest == place or place == 12 <= largest


def test_all_pairs_are_distinct(made):
    pairs = [pair for some in made.values() for pair in some]
    assert len(set(pairs)) == len(pairs)


def test_relations_are_those_of_brute_force(made):
    for relation, *sides in itertools.chain.from_iterable(made.values()):
        left, right = map(brute_force.models, sides)
        assert relation == brute_force.relation(left, right)
        assert 0 < len(left) < 64
        assert 0 < len(right) < 64
        assert len(brute_force.letters(*sides)) <= 4


def test_relations_of_all_pairs_of_a_small_world():
    """Every pair of non-constant functions of two variables, blown up to the 64 assignments."""
    functions = [
        frozenset(row for row in range(64) if pattern >> (row & 3) & 1) for pattern in range(1, 15)
    ]
    seen = Counter()
    for left, right in itertools.product(functions, functions):
        found = logic.relation(*(sum(1 << row for row in side) for side in (left, right)))
        assert found == brute_force.relation(left, right)
        seen[found] += 1
    assert set(seen) == set("=<>^|v#")


def test_shares_are_close_to_those_of_the_published_data(tmp_path):
    paths = make_logic(tmp_path, train=3_000, valid=0, test=0, seed=1)
    del paths["manifest"]
    pairs = [pair for path in paths.values() for pair in read(path)]
    shares = {name: count / 3_000 for name, count in Counter(p[0] for p in pairs).items()}
    wanted = {"#": 0.531, "<": 0.11, ">": 0.11, "v": 0.107, "|": 0.107, "=": 0.019, "^": 0.017}
    assert shares == pytest.approx(wanted, abs=0.03)
    counted = {place: len(read(path)) for place, path in enumerate(paths.values())}
    # 3,000 pairs: floors of 3,000 x share / 10,000, the rest by largest remainder
    assert list(counted.values()) == [33, 177, 329, 431, 484, 467, 378, 269, 179, 116, 69, 68]
    assert "train0" not in paths


def test_every_pair_of_bin_0_can_be_had_and_not_one_more(tmp_path):
    paths = make_logic(tmp_path / "all", train=[30], valid=[6], test=0)
    pairs = read(paths["train0"]) + read(paths["valid0"])
    expected = {("=" if x == y else "#", x, y) for x, y in itertools.product("abcdef", repeat=2)}
    assert set(pairs) == expected
    with pytest.raises(ConfigError, match=r"37 distinct logic pairs of bin 0 .* after 36 the next"):
        make_logic(tmp_path / "more", train=[30], valid=[7], test=0)
    assert [path.name for path in tmp_path.iterdir()] == ["all"]


def test_a_bin_does_not_depend_on_the_other_bins(tmp_path):
    few = make_logic(tmp_path / "few", train=[0, 0, 0, 20], valid=0, test=0)
    many = make_logic(tmp_path / "many", train=[1, 2, 3, 20, 5], valid=0, test=0)
    assert few["train3"].read_bytes() == many["train3"].read_bytes()


def test_the_bytes_are_fixed_by_the_seed(tmp_path):
    sizes = {"train": [4] * 13, "valid": 60, "test": 0}
    paths = make_logic(tmp_path / "0", seed=0, **sizes)
    again = make_logic(tmp_path / "again", seed=0, **sizes)
    other = make_logic(tmp_path / "1", seed=1, **sizes)
    everything = hashlib.sha256()
    for name, path in paths.items():
        assert path.read_bytes() == again[name].read_bytes()
        assert path.read_bytes() != other[name].read_bytes()
        everything.update(path.read_bytes())
    assert (
        everything.hexdigest() == "d46aca3d32b70cfdd896883622bfda1e55ef4a9b2a1560f34d8dd5b67c7e239e"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"test": -5}, "test: expected 0 pairs or more, got -5"),
        ({"train": [1, -1]}, "train: expected at most 13 numbers of pairs, each 0 or more, got"),
        ({"valid": [1] * 14}, "valid: expected at most 13 numbers of pairs, each 0 or more, got"),
        ({"train": 0, "valid": [], "test": [0]}, "train, valid and test are all 0: "),
    ],
)
def test_sizes_out_of_range(tmp_path, settings, message):
    with pytest.raises(ConfigError) as caught:
        make_logic(tmp_path / "out", **settings)
    assert str(caught.value).startswith(message)
    assert not (tmp_path / "out").exists()
