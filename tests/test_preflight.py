"""`tools/preflight` on machines that lack something, played by stand-ins on PATH."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHELL_TOOLS = ("sh", "grep", "readlink", "echo")

pytestmark = pytest.mark.skipif(
    not (ROOT / "tools" / "preflight").exists(), reason="tests run outside of the source tree"
)


class Machine:
    """A folder that is the whole PATH: what is not put there is missing."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "apt.log"
        for tool in SHELL_TOOLS:
            path = shutil.which(tool)
            assert path is not None
            (self.bin / tool).symlink_to(path)

    def program(self, name: str, body: str) -> None:
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def complete(self) -> None:
        self.program("c++", "exit 0")
        self.program("make", "exit 0")
        self.program("python3", f'exec {sys.executable} "$@"')

    def preflight(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.bin / "sh"), str(ROOT / "tools" / "preflight"), *arguments],
            env={"PATH": str(self.bin)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def apt_calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.complete()
    machine.program("id", "echo 0")
    machine.program("apt-get", f'echo "$@" >> {machine.log}')
    return machine


def test_complete_machine_prints_its_python_alone(machine: Machine) -> None:
    done = machine.preflight()
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{machine.bin}/python3\n"
    assert not done.stderr
    assert machine.apt_calls() == []


def test_missing_compiler_is_installed_by_root(machine: Machine) -> None:
    (machine.bin / "c++").unlink()
    # The stand-in's `install` brings the compiler, as apt would.
    compiler = machine.bin / "c++"
    machine.program(
        "apt-get",
        f'echo "$@" >> {machine.log}; /bin/ln -sf /bin/true {compiler}',
    )
    done = machine.preflight()
    assert done.returncode == 0, done.stderr
    assert machine.apt_calls() == ["update", "install -y --no-install-recommends g++"]


def test_check_only_prints(machine: Machine) -> None:
    (machine.bin / "c++").unlink()
    (machine.bin / "make").unlink()
    done = machine.preflight("--check")
    assert done.returncode == 1
    assert "apt-get install -y --no-install-recommends g++ make" in done.stderr
    assert machine.apt_calls() == []


def test_user_without_sudo_is_told_the_line(machine: Machine) -> None:
    machine.program("id", "echo 1000")
    (machine.bin / "make").unlink()
    done = machine.preflight()
    assert done.returncode == 1
    assert "sudo apt-get update && sudo apt-get install -y" in done.stderr
    assert done.stderr.count("make") >= 1
    assert machine.apt_calls() == []


def test_old_python_is_passed_over(machine: Machine) -> None:
    machine.program("python3", "exit 1")
    machine.program("python3.11", f'exec {sys.executable} "$@"')
    done = machine.preflight()
    assert done.stdout == f"{machine.bin}/python3.11\n"


def test_no_python_names_its_three_packages(machine: Machine) -> None:
    (machine.bin / "python3").unlink()
    done = machine.preflight("--check")
    assert done.returncode == 1
    words = done.stderr.split()
    for package in ("python3", "python3-dev", "python3-venv"):
        assert package in words or package.replace("3", "3.11", 1) in words


def test_missing_after_installation_is_a_failure(machine: Machine) -> None:
    (machine.bin / "c++").unlink()
    done = machine.preflight()
    assert done.returncode == 1
    assert "Still missing" in done.stderr
    assert "g++" in done.stderr


@pytest.fixture(scope="module")
def lab() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lab", ROOT / "tools" / "lab.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("platform", "environment", "is_root", "options"),
    [
        ("linux", {}, True, {"--no-browser", "--allow-root"}),
        ("linux", {}, False, {"--no-browser"}),
        ("linux", {"DISPLAY": ":0"}, False, set()),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True, {"--allow-root"}),
        ("darwin", {}, False, set()),
    ],
)
def test_lab_copes(
    lab: ModuleType,
    platform: str,
    environment: dict[str, str],
    is_root: bool,
    options: set[str],
) -> None:
    command = lab.command(platform, environment, is_root=is_root)
    assert {"--no-browser", "--allow-root"} & set(command) == options
    assert "--ServerApp.port_retries=100" in command
    assert os.fspath(ROOT) == os.fspath(lab.ROOT)
