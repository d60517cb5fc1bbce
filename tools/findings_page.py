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
    return _HEAD + "".join(rows)
