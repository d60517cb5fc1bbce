"""Text for people."""

from __future__ import annotations

import unicodedata

import pytest

from pqlab import text


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("fare_amount", "fare_amount"),
        ("名前 naïve 😀 שלום", "名前 naïve 😀 שלום"),
        ("", '""'),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("user\u202egnp.exe", r"user\u202egnp.exe"),
        ("a\u200bb\u2028c\xa0d", r"a\u200bb\u2028c\xa0d"),
        ("\ud800", r"\ud800"),
        ("[red]x[/red]", "[red]x[/red]"),
    ],
)
def test_visible(given: str, shown: str) -> None:
    assert text.visible(given) == shown


def test_visible_leaves_nothing_that_could_act() -> None:
    everything = "".join(map(chr, range(0x3000))) + "\ud800\udfff\ue000\ufeff\U000e0041"
    shown = text.visible(everything)
    categories = {unicodedata.category(char) for char in shown if char != " "}
    assert not {name for name in categories if name[0] in "CZ"}
    shown.encode()


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (10_240, "10.0 KiB"),
        (1024 * 1023.9, "1.00 MiB"),
        (6_785_415, "6.47 MiB"),
        (64 << 30, "64.0 GiB"),
        ((1 << 63) - 1, "8.00 EiB"),
    ],
)
def test_size(size_bytes: float, shown: str) -> None:
    assert text.size(size_bytes) == shown


@pytest.mark.parametrize(
    ("duration_ns", "shown"),
    [
        (0, "0 ns"),
        (870, "870 ns"),
        (1_230, "1.23 µs"),
        (999_700, "1.00 ms"),
        (12_345_678, "12.3 ms"),
        (4_000_000_000, "4.00 s"),
        (7_200_000_000_000, "7,200 s"),
    ],
)
def test_duration(duration_ns: float, shown: str) -> None:
    assert text.duration(duration_ns) == shown


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [
        (1, 8, "12.5 %"),
        (0, 8, "0 %"),
        (8, 8, "100 %"),
        (1, 1_000_000, "<0.1 %"),
        (999_999, 1_000_000, ">99.9 %"),
        (1, 0, "—"),
    ],
)
def test_share(part: float, whole: float, shown: str) -> None:
    assert text.share(part, whole) == shown


def test_bytes_and_clips() -> None:
    assert text.from_bytes(b"\x00\xff") == "0x00ff"
    assert text.from_bytes(bytes(100), 4) == "0x00000000…"
    assert text.clip("abcdef", 6) == "abcdef"
    assert text.clip("abcdef", 4) == "abc…"
    assert text.plural(1, "page") == "1 page"
    assert text.plural(1204, "page") == "1,204 pages"
