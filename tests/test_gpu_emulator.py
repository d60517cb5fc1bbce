"""The emulator finds the bugs that are planted in kernels, and none in those that are right."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pqlab.gpu.emulator import memory
from pqlab.gpu.emulator.memory import asarray, empty, zeros
from pqlab.gpu.emulator.module import KernelError, RawModule, Schedule

KERNELS = Path(__file__).parent / "kernels" / "planted.cu"
BLOCKS, THREADS = 4, 64
SEEDS = range(20)

# kernel with a bug, the kernel without it, what the report says, and its line (from 1)
PLANTED = [
    ("missing_barrier", "with_barrier", "a race: thread|reads what was never written"),
    ("race", "no_race", "a race: thread .* wrote"),
    ("divergent_barrier", "convergent_barrier", "a divergent barrier: thread"),
    ("exit_before_barrier", "exit_after_barrier", "ended while others wait|some have ended"),
    ("ballot_as_fence", "syncwarp_as_fence", "a race: thread"),
    (
        "shared_out_of_bounds",
        "shared_in_bounds",
        "out of bounds: 4 bytes at shared memory, byte 256",
    ),
    ("global_out_of_bounds", "global_in_bounds", "out of bounds: 4 bytes at byte 1024 of a buffer"),
    ("misaligned_load", "aligned_load", "a misaligned access of 4 bytes"),
    (
        "two_blocks_one_address",
        "a_block_an_address",
        r"a race: thread 0 of block \(another\) wrote",
    ),
    ("plain_histogram", "atomic_histogram", "a race: thread"),
    ("uninitialised_shared", "initialised_shared", "reads what was never written: shared memory"),
    ("spin", "no_spin", "a thread spins"),
    ("wrong_mask", "right_mask", "is not in its own mask"),
    ("deadlock", "no_deadlock", "deadlock: thread .* waits at __sync"),
    ("ended_lane", "named_lanes", "ended, though it is in the mask"),
]


@pytest.fixture(scope="module")
def checked() -> RawModule:
    return RawModule(KERNELS, checked=True)


@pytest.fixture(scope="module")
def plain() -> RawModule:
    return RawModule(KERNELS)


def launch(module: RawModule, name: str, *, seed: int) -> np.ndarray:
    """Run a kernel of the table on new buffers; what it wrote."""
    module.schedule = Schedule(seed=seed, spin_limit=100_000)
    out = zeros(BLOCKS * THREADS, np.uint32)
    bytes_ = asarray(np.arange(BLOCKS * THREADS, dtype=np.uint8))
    arguments: dict[str, list[Any]] = {
        "global_out_of_bounds": [out, np.uint64(BLOCKS * THREADS)],
        "global_in_bounds": [out, np.uint64(BLOCKS * THREADS)],
        "misaligned_load": [bytes_, out],
        "aligned_load": [bytes_, out],
        "plain_histogram": [bytes_, out],
        "atomic_histogram": [bytes_, out],
    }
    module.get_function(name)((BLOCKS,), (THREADS,), arguments.get(name, [out]))
    return out.to_host()


@pytest.mark.parametrize(("name", "_right", "message"), PLANTED, ids=[row[0] for row in PLANTED])
def test_a_planted_bug_is_found_whatever_the_order(
    checked: RawModule, name: str, _right: str, message: str
) -> None:
    for seed in SEEDS:
        with pytest.raises(KernelError, match=message) as caught:
            launch(checked, name, seed=seed)
        assert caught.value.kernel == name
        assert 0 <= caught.value.block < BLOCKS
        assert 0 <= caught.value.thread < THREADS


@pytest.mark.parametrize("name", [row[1] for row in PLANTED])
def test_nothing_is_found_in_a_kernel_that_is_right(
    checked: RawModule, plain: RawModule, name: str
) -> None:
    expected = launch(plain, name, seed=0)
    for seed in SEEDS:
        np.testing.assert_array_equal(launch(checked, name, seed=seed), expected)


def source_line(text: str) -> str:
    lines = KERNELS.read_text().splitlines()
    (found,) = [number for number, line in enumerate(lines, 1) if text in line]
    return f"planted.cu:{found}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("race", "__global__ void race("),
        ("shared_out_of_bounds", "i <= 64"),
        ("wrong_mask", "__shfl_sync(0xffffu"),
        ("misaligned_load", "bytes + blockIdx.x + 1"),
    ],
)
def test_the_line_is_named(checked: RawModule, name: str, text: str) -> None:
    with pytest.raises(KernelError) as caught:
        launch(checked, name, seed=0)
    assert caught.value.line == source_line(text)


def test_memory_never_written_is_found_in_device_buffers(checked: RawModule) -> None:
    kernel = checked.get_function("uninitialised_global")
    out = empty(THREADS, np.uint32)
    with pytest.raises(KernelError, match="reads what was never written: byte 0 of a buffer"):
        kernel((1,), (THREADS,), [empty(THREADS, np.uint32), out])
    kernel((1,), (THREADS,), [asarray(np.arange(THREADS, dtype=np.uint32)), out])
    np.testing.assert_array_equal(out.to_host(), np.arange(THREADS))


def test_a_freed_buffer_is_no_buffer(checked: RawModule) -> None:
    out = empty(THREADS, np.uint32)
    alias = memory.DeviceArray.__new__(memory.DeviceArray)
    dead = empty(THREADS, np.uint32)
    address, size = dead.data.ptr, dead.size

    class Dangling:
        ptr = address

    alias.buffer, alias.offset, alias.size, alias.dtype = Dangling(), 0, size, np.dtype(np.uint32)  # type: ignore[assignment]
    del dead
    gc.collect()
    with pytest.raises(KernelError, match="out of bounds: 4 bytes at an address in no buffer"):
        checked.get_function("uninitialised_global")((1,), (THREADS,), [alias, out])


@pytest.mark.parametrize("seed", SEEDS)
def test_collectives_give_what_cuda_defines(checked: RawModule, seed: int) -> None:
    checked.schedule = Schedule(seed=seed)
    out = zeros(2 * THREADS * 8, np.uint32)
    checked.get_function("collectives")((2,), (THREADS,), [out])
    lane = np.tile(np.arange(32), 4)
    expected = np.stack(
        [
            np.where(lane >= 3, lane - 3, lane),
            np.where(lane < 29, lane + 3, lane),
            lane ^ 5,
            np.full(128, sum(1 << i for i in range(0, 32, 3))),
            np.full(128, 1 + 2),
            np.full(128, 32),
            np.full(128, 1),
            np.full(128, 19),
        ],
        axis=1,
    )
    np.testing.assert_array_equal(out.to_host().reshape(-1, 8), expected)


def test_active_lanes_tell_an_idle_warp_from_a_busy_one(checked: RawModule) -> None:
    checked.schedule = Schedule()
    idle, busy = checked.get_function("idle_lanes"), checked.get_function("global_in_bounds")
    idle.statistics = type(idle.statistics)()
    busy.statistics = type(busy.statistics)()
    idle((1,), (64,), [zeros(200, np.uint32), np.uint64(100)])
    busy((1,), (64,), [zeros(6400, np.uint32), np.uint64(6400)])
    assert idle.statistics.active_lanes == pytest.approx(1)
    assert busy.statistics.active_lanes == pytest.approx(32)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes 5 arguments, not 0"),
        (["bytes", np.int64(1), np.uint64(2), np.float64(3), "out"], "of type i4, not np.int64"),
        (["bytes", 1, np.uint64(2), np.float64(3), "out"], "of type i4, not 1"),
        (["bytes", np.int32(1), np.int64(2), np.float64(3), "out"], "of type u8, not"),
        (["bytes", np.int32(1), np.uint64(2), np.float32(3), "out"], "of type f8, not"),
        (["bytes", np.int32(1), np.uint64(2), np.float64(3), "halves"], "4 bytes, not to uint16"),
        ([np.zeros(4, np.uint8), np.int32(1), np.uint64(2), np.float64(3), "out"], "not ndarray"),
    ],
)
def test_arguments_must_be_what_the_kernel_declares(
    plain: RawModule, arguments: list[object], message: str
) -> None:
    arrays = {
        "bytes": zeros(4, np.uint8),
        "halves": zeros(4, np.uint16),
        "out": zeros(4, np.float32),
    }
    given = [arrays.get(each, each) if isinstance(each, str) else each for each in arguments]
    with pytest.raises(TypeError, match=message):
        plain.get_function("arguments")((1,), (32,), given)
    right = [arrays["bytes"], np.int32(1), np.uint64(2), np.float64(3.5), arrays["out"]]
    plain.get_function("arguments")((1,), (32,), right)
    assert arrays["out"].to_host()[0] == 6.5


def test_blocks_are_whole_warps(plain: RawModule) -> None:
    for threads in (0, 31, 33, 2048):
        with pytest.raises(KernelError, match="blocks are multiples of 32"):
            plain.get_function("race")((1,), (threads,), [zeros(1, np.uint32)])


def test_device_arrays_are_slices_of_buffers() -> None:
    array = asarray(np.arange(100, dtype=np.uint32))
    assert array.data.ptr % 256 == 0
    part = array[10:20].view(np.uint8)
    assert part.dtype == np.dtype(np.uint8)
    assert (part.nbytes, part.data.ptr - array.data.ptr) == (40, 40)
    np.testing.assert_array_equal(part.view(np.uint32).to_host(), np.arange(10, 20))
    with pytest.raises(ValueError, match="contiguous"):
        array[::2]
    with pytest.raises(ValueError, match="are no array of"):
        array.view(np.uint8)[1:9].view(np.uint32)
    with pytest.raises(TypeError, match="not read item by item"):
        list(array)
    assert (empty(8, np.uint8).to_host() == 0xA5).all()
