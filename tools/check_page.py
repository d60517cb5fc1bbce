"""docs/check.md, with the table of rules."""

from __future__ import annotations

from pqlab.check import RULES

_HEAD = """\
# Is a file sound?

A Parquet file says many things twice: counts in headers and in the footer, bounds beside values, \
sizes beside bytes. `check` holds them against each other.

```python
import pqlab

with pqlab.open(pqlab.sample.write("trips.parquet")) as file:
    print(file.check())  # a row per fault: there is none
```

`file.check(quick=True)` reads the footer and the page index only. `check()` reads and decodes \
every page. `Dataset.check` goes over all files; one that does not open is a row, and the others \
are checked all the same. On the command line `pqlab check FILE...` (`--quick`, `--json`) ends \
with exit code 1 where there is a fault.

Each row has the place, what is stated, what is found, and where the specification says so; the \
columns are in [frames.md](frames.md). Bounds are compared where they are trusted: what is \
`untrusted` in the frames says nothing, so it cannot be wrong. A chunk whose pages do not decode \
is one row; its other facts are not compared.

A rule marked *note* does not make a file unsound.

Not compared: levels inside of nested columns with the histograms of the page index (those of the \
chunk are), null counts of nested columns with their values, bloom filters of types whose bytes \
polars does not keep (decimals, times, booleans), CRCs of what has none.

| rule | what must hold | where |
|---|---|---|
"""


def page() -> str:
    """The page."""
    rows = [
        f"| {name}{' (*note*)' if rule.is_note else ''} | {rule.must} | {rule.section} |\n"
        for name, rule in RULES.items()
    ]
    return _HEAD + "".join(rows)
