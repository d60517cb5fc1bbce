"""The page matrix on the emulator: the CPU engine's bytes, pyarrow's values, clean in check mode.

Each cell is a file of every type in every encoding; by turns it takes a codec, a schedule and the
rows that are read. PQLAB_GPU_WHOLE=1 (`make gpu-emulated`): all codecs, 20 schedules, more damage.
"""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from decoding import InMemory, Ranges, metadata_of, plan_of
from emulated import assert_same, assert_same_batch, device
from encoders import CODECS
from page_matrix import LAYOUTS, ROWS, SHAPES, matrix_file
from test_decode_page_matrix import assert_expected
from test_gpu_engine import outcome

from pqlab.cpu import engine as cpu
from pqlab.footer.page_index import chunk_spans
from pqlab.gpu import engine as gpu
from pqlab.gpu.emulator.module import Schedule

WHOLE = os.environ.get("PQLAB_GPU_WHOLE") == "1"
SEEDS = 20
SEED = 20_260_510
CELLS = [(shape, layout) for shape in SHAPES for layout in LAYOUTS]
EACH = pytest.mark.parametrize(
    "cell", range(len(CELLS)), ids=[f"{shape}, {layout}" for shape, layout in CELLS]
)
ORDINALS = np.arange(2 * ROWS)
SOME_ROWS: dict[int, Ranges] = {0: [(1, 2), (9, 30)], 1: [(0, 3), (16, 17), (35, ROWS)]}


@EACH
def test_every_cell(cell: int) -> None:
    shape, layout = CELLS[cell]
    for number in range(len(CODECS) if WHOLE else 2):
        codec = CODECS[(cell + 3 * number) % len(CODECS)]
        batch = assert_same(matrix_file(shape, layout, codec))
        assert_expected(pa.Table.from_batches([batch]), shape)


@EACH
def test_check_mode_is_clean(cell: int) -> None:
    """Under all of the schedules in turn, over the cells; whole or in part."""
    shape, layout = CELLS[cell]
    emulator = device(checked=True)
    for number in range(SEEDS if WHOLE else 2):
        emulator.module.schedule = Schedule(seed=(2 * cell + number) % SEEDS)
        data = matrix_file(shape, layout, CODECS[(cell + number) % len(CODECS)])
        rows = SOME_ROWS if number % 2 else None
        batch = assert_same(data, rows=rows, checked=True)
        wanted = ORDINALS if rows is None else np.r_[1:2, 9:30, 41:44, 57:58, 76:82]
        assert_expected(pa.Table.from_batches([batch]), shape, wanted)


@EACH
def test_damage_ends_as_on_the_cpu_and_stays_in_bounds(cell: int) -> None:
    """The same sentence with the same place; no access beyond a buffer, no race."""
    shape, layout = CELLS[cell]
    rng = np.random.default_rng(SEED + cell)
    data = matrix_file(shape, layout, CODECS[cell % len(CODECS)])
    metadata = metadata_of(data)
    starts, stops = chunk_spans(metadata, np.arange(metadata.num_leaves))
    wrong = 0
    for _ in range(200 if WHOLE else 20):
        leaf = int(rng.integers(metadata.num_leaves))
        damaged = bytearray(data)
        damaged[int(rng.integers(starts[leaf], stops[leaf]))] ^= int(rng.integers(1, 256))
        plan, source = plan_of(metadata, [leaf]), InMemory(bytes(damaged))
        theirs = outcome(cpu.read, plan, metadata, source, workers=1)
        ours = outcome(gpu.read, plan, metadata, source, device(checked=True))
        if isinstance(theirs, tuple):
            wrong += 1
            assert ours == theirs
        else:
            assert isinstance(ours, pa.RecordBatch), ours
            assert_same_batch(ours, theirs)
    assert wrong > 3
