"""The sandbox: nothing to write to, no network, and its end is the end of all inside."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ringmaster.engines.process import EngineProcess, sandboxed
from ringmaster.errors import EngineNotStarted
from tests.execution.watched import Watched
from tests.processes import LONG


def _works() -> bool:
    try:
        return subprocess.run(sandboxed(["true"], None), stderr=subprocess.DEVNULL).returncode == 0
    except (EngineNotStarted, FileNotFoundError):
        return False


needs_bubblewrap = pytest.mark.skipif(not _works(), reason="needs bubblewrap and namespaces")


def output(code: str, folder: Path) -> list[str]:
    """Return the lines that a Python program prints in a sandbox."""
    done = subprocess.run(
        sandboxed([sys.executable, "-S", "-c", code], str(folder)), capture_output=True, text=True
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


WRITER = """
import os, sys, tempfile
for folder in (".", "/tmp", os.path.expanduser("~"), "/run", "/dev/shm", tempfile.gettempdir()):
    try:
        open(os.path.join(folder, "new"), "w").close()
        print("written")
    except OSError as error:
        print(error.strerror)
"""


@needs_bubblewrap
def test_files_can_be_written_in_shared_memory_only(tmp_path: Path) -> None:
    refused = ["Read-only file system"] * 4
    assert output(WRITER, tmp_path) == [*refused, "written", "written"]
    assert list(tmp_path.iterdir()) == []


@needs_bubblewrap
def test_working_folder_and_program_are_visible_even_below_hidden_folders(tmp_path: Path) -> None:
    folder = Path("/tmp")
    if tmp_path.parts[1] != "tmp":
        pytest.skip("the test's folder is not in /tmp")
    (tmp_path / "network.bin").touch()
    shutil.copy("/bin/ls", tmp_path / "program")
    done = subprocess.run(
        sandboxed(["./program", ".", str(folder)], str(tmp_path)), capture_output=True, text=True
    )
    assert done.stdout.split() == [
        *(".:", "network.bin", "program"),
        *("/tmp:", tmp_path.relative_to(folder).parts[0]),
    ]


CALLER = """
import socket, sys
for family, address in ((socket.AF_INET, ("127.0.0.1", int(sys.argv[1]))),
                        (socket.AF_UNIX, "\\0" + sys.argv[2])):
    try:
        socket.socket(family, socket.SOCK_STREAM).connect(address)
        print("connected")
    except OSError as error:
        print(error.strerror)
"""


@needs_bubblewrap
def test_network_and_abstract_sockets_of_the_machine_are_out_of_reach(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(f"\0{tmp_path}")
        local.listen()
        arguments = [str(server.getsockname()[1]), str(tmp_path)]
        command = [sys.executable, "-S", "-c", CALLER, *arguments]
        outside = subprocess.run(command, capture_output=True, text=True).stdout
        inside = subprocess.run(sandboxed(command, None), capture_output=True, text=True).stdout
    assert outside.split("\n") == ["connected", "connected", ""]
    assert inside.split("\n") == ["Connection refused", "Connection refused", ""]


@needs_bubblewrap
@pytest.mark.parametrize("way", ["end", "kill"])
def test_all_processes_inside_end_with_the_sandbox(way: str) -> None:
    script = "env -i setsid sh -c 'sleep 100 & echo ready; sleep 100' & cat"
    process = EngineProcess(["sh", "-c", script], sandbox=True)
    import psutil

    try:
        assert process.wait(0) is False
        while not (line := _read(process)):
            pass
        assert line == b"ready\n"
        family = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
        assert len(family) >= 4
        with Watched([process.pid, *family]) as watched:
            if way == "kill":
                psutil.Process(process.pid).kill()
            else:
                process.end(patience=0.1)
            assert watched.alive(LONG) == []
    finally:
        process.end(patience=0.0)


def _read(process: EngineProcess) -> bytes:
    from ringmaster.engines.process import read_available

    return read_available(process.stdout_fd) or b""


def test_missing_bubblewrap_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineNotStarted, match="sandbox=True needs bubblewrap"):
        EngineProcess(["engine"], sandbox=True)


@needs_bubblewrap
def test_missing_program_is_named_as_without_a_sandbox() -> None:
    for sandbox in (False, True):
        with pytest.raises(EngineNotStarted, match="cannot start 'no-engine': no such program"):
            EngineProcess(["no-engine"], sandbox=sandbox)


@needs_bubblewrap
def test_exit_status_is_the_engine_s() -> None:
    process = EngineProcess(["sh", "-c", "exit 7"], sandbox=True)
    assert process.wait(LONG)
    assert process.exit_status() == "status 7"
    process.end()
