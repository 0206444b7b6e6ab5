"""Numbers that are written as text."""

from __future__ import annotations

import numpy as np
import pytest

from dgltrees.trees.text_cells import numbers_of


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1", "-2", "+3"], [1, -2, 3]),
        (["0", "10", None], [0.0, 10.0, None]),
        (["0", "0.5", "-0.5", "1e-3", ".5"], [0.0, 0.5, -0.5, 1e-3, 0.5]),
        ([" 1", "2 "], [1, 2]),  # as after the comma of a table
        (["1", "inf"], [1.0, float("inf")]),
        (["9223372036854775807", "1"], [2**63 - 1, 1]),
        (["18446744073709551616"], [2.0**64]),
        (["00123", "1"], None),
        (["1", "-01"], None),
        (["1", "00.5"], None),
        (["1", "\t07"], None),
        (["1", "1_000"], None),
        (["1", "٣"], None),
        (["1", "nan"], None),
        (["1", "NA"], None),
        (["1", ""], None),
        (["1", "0x10"], None),
        (["a", "1"], None),
        (["1", "true"], None),
        ([None, None], None),
        ([], None),
    ],
)
def test_texts_become_numbers_if_every_one_is_a_number(
    texts: list[str | None], numbers: list[float | None] | None
) -> None:
    """Texts become int64, or float64 with NaN; one that is no plain number makes them all names."""
    column = numbers_of(texts)
    if numbers is None:
        assert column is None
    else:
        integers = all(isinstance(n, int) for n in numbers)
        assert column is not None
        assert column.dtype == (np.int64 if integers else np.float64)
        np.testing.assert_array_equal(column, np.array(numbers, column.dtype))
