"""Mutated footers never crash the process, hang, or take memory; recognising never changes them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FILES = (
    "apache__parquet-testing/data/alltypes_plain.parquet",
    "apache__parquet-testing/data/nested_structs.rust.parquet",
    "apache__parquet-testing/data/column_chunk_key_value_metadata.parquet",
    "apache__parquet-testing/data/encrypt_columns_plaintext_footer.parquet.encrypted",
    "apache__parquet-testing/data/geospatial/crs-geography.parquet",
    "apache__parquet-testing/data/int32_with_null_pages.parquet",
    "apache__parquet-testing/data/sort_columns.parquet",
)
CHUNKS, FOOTERS_PER_CHUNK = 4, 5_000


@pytest.mark.parametrize("seed", range(CHUNKS))
def test_mutated_footers(corpus: Path, seed: int) -> None:
    files = [str(corpus / file) for file in FILES if (corpus / file).is_file()]
    assert len(files) >= 6
    script = Path(__file__).with_name("footer_mutations.py")
    done = subprocess.run(
        [sys.executable, script, str(seed), str(FOOTERS_PER_CHUNK), *files],
        capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, f"seed {seed}: exit status {done.returncode}\n{done.stderr}"
    parsed, refused = map(int, done.stdout.split())
    assert parsed + refused == FOOTERS_PER_CHUNK
    assert parsed > FOOTERS_PER_CHUNK // 20
    assert refused > FOOTERS_PER_CHUNK // 20
