"""Predictions from any form that a task's text comes in."""

from __future__ import annotations

import pytest

from tests.tasks.test_unlabeled import assert_one_error, assert_read


@pytest.mark.parametrize(
    ("name", "texts", "file_format", "count"),
    [
        ("listops", ["Source", "[MAX 1 2 ]"], None, 1),
    ],
)
def test_text_comes_in_many_forms(
    name: str, texts: list[str], file_format: str | None, count: int
) -> None:
    assert_read(name, texts, file_format, count)


@pytest.mark.parametrize(
    ("name", "text", "file_format", "message"),
    [
        ("listops", "[MAX 1", None, "<lines>:1: "),
    ],
)
def test_what_cannot_be_read_is_one_error(
    name: str, text: str, file_format: str | None, message: str
) -> None:
    assert_one_error(name, text, file_format, message)
