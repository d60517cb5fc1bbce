"""docs/findings.md, with the table of rules."""

from __future__ import annotations

from pqlab.findings import RULES

_HEAD = """\
# What does a file cost beyond need?

`findings` lists facts that may cost more than they need to. None is a verdict, and none is \
without a number: `evidence` is what was found, `limit` what it is beyond, `cost_bytes` or \
`cost_ns` what it costs, and `setting` what of a writer, by pyarrow's names, would change it.

```python
import pqlab

with pqlab.open(pqlab.sample.write("trips.parquet")) as file:
    print(file.findings(filters=["pickup_at"]))
```

`filters` names the columns that rows are filtered by, or looked up; without it these are dates \
and times, and text that is not in dictionaries. The rules marked *read* take a read of one row \
group, and their times are those of this machine, by pqlab's own trace; `read=False` leaves them \
out, and so does `Dataset.findings`, which goes by the [catalogue](datasets.md) and holds bounds \
against each other over all files. On the command line: `pqlab findings FILE...`. The columns are \
in [frames.md](frames.md).

| finding | its number | beyond | setting |
|---|---|---|---|
"""


def page() -> str:
    """The page."""
    rows = [
        f"| {name}{' (*read*)' if rule.is_measured else ''} | {rule.says} "
        f"| {rule.limit:,} {rule.unit} | {rule.setting.replace('|', '')} |\n"
        for name, rule in RULES.items()
    ]
    return _HEAD + "".join(rows) + _TAIL


_TAIL = """
## What would other settings do?

```python
import pqlab

with pqlab.open(pqlab.sample.write("trips.parquet")) as file:
    selection = file.select(["fare_amount"], row_groups=0)
    print(file.rewrite_trial(selection, compression="zstd", use_dictionary=False, seconds=0.1))
    best = file.best_settings(selection, codecs=["NONE", "ZSTD"])
    print(best.frame)    # a row per column and what was tried
    print(best.code)     # the best of each column, as a call of pyarrow's writer
```

`rewrite_trial` writes the slice with pyarrow into memory, and compares reading it with reading \
the file by `pqlab.compare`: sizes, a ratio of times with its interval, the settings as code. \
`best_settings` tries dictionary, encodings, codecs and page sizes with each other, and takes what \
costs least to fetch (`bandwidth_mb_per_s`) and to read. Take a slice of a few hundred thousand \
rows.
"""
