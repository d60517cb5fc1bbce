"""A tour in the terminal, without a browser; started by `make demo`.

Writes the sample file, shows what it is made of, reads a slice of it, and shows what each column
of the slice cost.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import polars as pl
from rich.console import Console

import pqlab
from pqlab import tables, text

COLUMNS = ["pickup_at", "pickup_zone", "fare_amount", "total_amount"]
ROWS = slice(60_000, 62_000)
SIZES = ("fetched_bytes", "decoded_bytes")
TIMES = ("fetch_ns", "wait_ns", "decompress_ns", "decode_ns", "assemble_ns", "total_ns")


def main() -> None:
    """Print the tour."""
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        path = pqlab.sample.write(Path(folder) / "taxi.parquet")

        console.rule("What the file is made of", align="left")
        file = pqlab.open(path)
        console.print(file)

        console.rule("What a slice of it would read", align="left")
        selection = file.select(COLUMNS, rows=ROWS)
        console.print(selection.plan(), markup=False)

        console.rule("The slice", align="left")
        trace = pqlab.Trace()
        frame = selection.read(trace=trace)
        with pl.Config(tbl_rows=6, tbl_hide_dataframe_shape=False):
            print(frame)

        console.rule("What it cost, column by column", align="left")
        console.print(tables.rich_table(for_people(trace.summary())))


def for_people(summary: pl.DataFrame) -> pl.DataFrame:
    """What matters most of a trace's summary, with units; what columns share comes without one."""
    shown = {"column": summary["column"].fill_null("(shared)"), "pages": summary["pages"]}
    shown |= {name[:-6]: summary[name].map_elements(text.size, pl.String) for name in SIZES}
    shown |= {name[:-3]: summary[name].map_elements(text.duration, pl.String) for name in TIMES}
    return pl.DataFrame(shown)


if __name__ == "__main__":
    main()
