"""Text for people: what comes from a file is shown so that it can neither hide nor act."""

from __future__ import annotations

ABSENT = "—"
_SIZES = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_DURATIONS = ("µs", "ms", "s")


def visible(text: str) -> str:
    r"""`text` on one line, with every character that does not print escaped (`\n`, `\u202e`).

    Control characters, line and paragraph separators, overrides of the writing direction, lone
    surrogates and spaces other than U+0020 are escaped. The empty text is shown as `""`.
    """
    if text.isprintable():
        return text or '""'
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def clip(text: str, length: int) -> str:
    """The first characters of `text`, at most `length`; an ellipsis stands for the rest."""
    return text if len(text) <= length else f"{text[: max(0, length - 1)]}…"


def from_bytes(data: bytes, length: int = 32) -> str:
    """Bytes as hexadecimal digits, at most `length` bytes of them."""
    digits = data[:length].hex()
    return f"0x{digits}…" if len(data) > length else f"0x{digits}"


def size(size_bytes: float) -> str:
    """A number of bytes with three digits and a binary unit: `640 B`, `6.47 MiB`."""
    if abs(size_bytes) < 1024:
        return f"{size_bytes:.0f} B"
    return _scaled(size_bytes / 1024, 1024, _SIZES)


def duration(duration_ns: float) -> str:
    """A time with three digits: `870 ns`, `12.3 ms`, `4.00 s`."""
    if abs(duration_ns) < 999.5:
        return f"{duration_ns:.0f} ns"
    return _scaled(duration_ns / 1000, 1000, _DURATIONS)


def plural(count: int, noun: str) -> str:
    """`1 page`, `1,204 pages`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def share(part: float, whole: float) -> str:
    """A part in percent: `12.5 %`, `<0.1 %`, `0 %`; absent where there is no whole."""
    if whole <= 0:
        return ABSENT
    percent = 100 * part / whole
    if 0 < percent < 0.05:
        return "<0.1 %"
    if 99.95 <= percent < 100:
        return ">99.9 %"
    return f"{percent:.0f} %" if percent in (0, 100) else f"{percent:.1f} %"


def _scaled(value: float, step: int, units: tuple[str, ...]) -> str:
    """Three digits in the first unit that needs no more before the point, else in the last."""
    power = 0
    while abs(value) >= 999.5 and power < len(units) - 1:
        value /= step
        power += 1
    decimals = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:,.{decimals}f} {units[power]}"
