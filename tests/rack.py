"""A Dask cluster of real processes, each in a network namespace of its own if wanted."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from tests import processes
from tests.processes import LONG, under
from tests.program import REPOSITORY
from tests.reliability.killing import recorded
from tests.requirements import missing


def held_port() -> socket.socket:
    """Return a socket whose port no other process gets, but a server that is given it.

    It does not listen: servers share such a port, and the system gives it to nobody else.
    """
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder


def _certificate(folder: Path) -> dict[str, str]:
    """Write a certificate that is its own authority; return its files."""
    # imported here: tests of other clusters need no Dask
    from distributed.security import Security

    made = Security.temporary()
    texts = {
        "ca": made.tls_ca_file,
        "cert": made.tls_scheduler_cert,
        "key": made.tls_scheduler_key,
    }
    for name, text in texts.items():
        (folder / f"{name}.pem").write_text(text)
    return {name: str(folder / f"{name}.pem") for name in texts}


class Rack:
    """Machines of a cluster.

    folder      for logs
    namespaces  whether each worker has a network of its own, with a link to the scheduler's

    Dask notices a dead link within seconds, as it would within half a minute by default.
    """

    def __init__(self, folder: Path, *, namespaces: bool = False) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.namespaces = namespaces
        self.prefix = f"rm{os.getpid() % 100000}"
        self._holder = held_port()
        self.port = 8786 if namespaces else self._holder.getsockname()[1]
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: dict[int, subprocess.Popen[bytes]] = {}
        self.runs: list[subprocess.Popen[str]] = []
        self._hub = f"{self.prefix}hub"
        self._linked: list[int] = []
        #: Files of the encrypted connections: authority, certificate, key.
        self.tls = _certificate(folder)
        if namespaces:
            if os.geteuid() != 0 or shutil.which("ip") is None:
                missing("network namespaces need root and ip (Debian: apt-get install iproute2)")
            self._ip("netns", "add", self._hub)
            self._ip("-n", self._hub, "link", "set", "lo", "up")
            self._ip("-n", self._hub, "addr", "add", "10.99.0.1/32", "dev", "lo")

    @property
    def address(self) -> str:
        """The scheduler's address from the hub and from the workers."""
        return f"tls://{'10.99.0.1' if self.namespaces else '127.0.0.1'}:{self.port}"

    def inside(self, command: Sequence[str]) -> list[str]:
        """Return a command that runs on the scheduler's machine."""
        return ["ip", "netns", "exec", self._hub, *command] if self.namespaces else list(command)

    @property
    def environment(self) -> dict[str, str]:
        """Variables for all parts."""
        return {
            **os.environ,
            "PYTHONPATH": str(REPOSITORY),
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "11s",
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "4s",
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "6s",
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": self.tls["ca"],
            **{
                f"DASK_DISTRIBUTED__COMM__TLS__{role}__{part.upper()}": self.tls[part]
                for role in ("CLIENT", "SCHEDULER", "WORKER")
                for part in ("cert", "key")
            },
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }

    def start_scheduler(self) -> None:
        """Start the scheduler, or another one in its place."""
        host = "10.99.0.1" if self.namespaces else "127.0.0.1"
        words = ["--host", host, "--port", str(self.port), "--no-dashboard", "--no-jupyter"]
        words += ["--dashboard-address", "127.0.0.1:0", "--protocol", "tls"]
        self.scheduler = self._run("distributed.cli.dask_scheduler", words, self._hub, "scheduler")
        self._await_port(host)

    def _await_port(self, host: str) -> None:
        check = f"import socket; socket.create_connection(({host!r}, {self.port}), 1)"
        command = self.inside([sys.executable, "-S", "-c", check])
        processes.await_that(
            lambda: not subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode,
            self.scheduler,
            self.logs,
        )

    def start_lasting_worker(self, number: int, games: int = 2) -> None:
        """Start a worker that joins the scheduler again whenever it was lost."""
        host, space = "127.0.0.1", f"{self.prefix}n{number}"
        if self.namespaces:
            self._link(number, space)
            host = f"10.98.{number}.2"
        words = ["worker", self.address, "-j", str(games), "--listen", f"{host}:0"]
        self.workers[number] = self._run("ringmaster", words, space, f"worker{number}")

    def start_worker(self, number: int, games: int = 2, *, command: Sequence[str] = ()) -> None:
        """Start a worker of Dask, on a machine of its own with namespaces."""
        words = [self.address, "--nthreads", str(games), "--resources", f"games={games}"]
        words += [
            "--no-dashboard",
            "--local-directory",
            str(self.folder / f"w{number}"),
        ]
        space = f"{self.prefix}n{number}"
        if self.namespaces:
            self._link(number, space)
            words += ["--host", f"10.98.{number}.2"]
        else:
            words += ["--host", "127.0.0.1"]
        name = f"worker{number}"
        self.workers[number] = self._run(
            "distributed.cli.dask_worker", words, space, name, before=command
        )

    def _link(self, number: int, space: str) -> None:
        if number in self._linked:
            return
        self._linked.append(number)
        near, far = f"{self.prefix}a{number}", f"{self.prefix}b{number}"
        self._ip("netns", "add", space)
        self._ip("link", "add", near, "type", "veth", "peer", "name", far)
        self._ip("link", "set", near, "netns", self._hub)
        self._ip("link", "set", far, "netns", space)
        for where, device, address in ((self._hub, near, 1), (space, far, 2)):
            self._ip("-n", where, "addr", "add", f"10.98.{number}.{address}/24", "dev", device)
            self._ip("-n", where, "link", "set", device, "up")
        self._ip("-n", space, "link", "set", "lo", "up")
        self._ip("-n", space, "route", "add", "default", "via", f"10.98.{number}.1")

    def cut(self, number: int) -> None:
        """Cut the cable of a worker's machine."""
        self._ip("-n", self._hub, "link", "set", f"{self.prefix}a{number}", "down")

    def heal(self, number: int) -> None:
        """Mend the cable."""
        self._ip("-n", self._hub, "link", "set", f"{self.prefix}a{number}", "up")

    def _ip(self, *words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def _run(
        self, module: str, words: list[str], space: str, name: str, before: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        command = [*before, sys.executable, "-m", module, *words]
        if self.namespaces:
            command = ["ip", "netns", "exec", space, *command]
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment,
                start_new_session=True,
            )

    def worker_process(self, number: int) -> psutil.Process:
        """Return the process under a worker's nanny, which has the games."""
        parent = self.workers[number]
        processes.await_that(lambda: bool(under("spawn_main", parent=parent.pid)), parent)
        return under("spawn_main", parent=parent.pid)[0]

    def await_workers(self, number: int) -> None:
        """Wait until the scheduler has so many workers."""
        code = (
            f"from distributed import Client; Client({self.address!r}).wait_for_workers({number})"
        )
        command = self.inside([sys.executable, "-c", code])
        subprocess.run(command, timeout=LONG, check=True, env=self.environment)

    def kill_worker(self, number: int, *, machine: bool = False) -> None:
        """Send SIGKILL to a worker, whose nanny starts another, or to its whole machine."""
        if not machine:
            self.worker_process(number).kill()
            return
        family = psutil.Process(self.workers[number].pid)
        for process in [family, *family.children(recursive=True)]:
            # children of a killed process may end before their turn
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        self.workers.pop(number).wait()

    def kill_scheduler(self) -> None:
        """Send SIGKILL to the scheduler."""
        assert self.scheduler is not None
        self.scheduler.kill()
        self.scheduler.wait()

    def logs(self) -> str:
        """Return the ends of all logs."""
        return "\n".join(
            f"{path.name}:\n{path.read_text()[-1500:]}" for path in self.folder.glob("*.log")
        )

    def close(self) -> None:
        """End everything."""
        self._holder.close()
        for part in [*self.runs, *self.workers.values(), *filter(None, [self.scheduler])]:
            # the nanny leads the session of a worker and of its games
            with suppress(ProcessLookupError):
                os.killpg(part.pid, signal.SIGKILL)
            part.wait()
            if part.stdout is not None:
                part.stdout.close()
        if self.namespaces:
            for number in self._linked:
                self._ip("netns", "del", f"{self.prefix}n{number}")
            self._ip("netns", "del", self._hub)


#: Engines that take a moment for each move: games are in progress when something dies.
SLOW = '"--outcome", "by-option", "--slow", "0.02",'


def slow(source: str) -> str:
    """Return a control file with such engines."""
    return source.replace('"--outcome", "by-option",', SLOW)


def start(rack: Rack, control: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a run on the cluster, or on that of the arguments or the control file."""
    words = ["-m", "ringmaster", str(control), "run", "-q", *arguments]
    if "--cluster" not in arguments and "cluster = " not in control.read_text():
        words += ["--cluster", rack.address]
    run = subprocess.Popen(
        rack.inside([sys.executable, *words]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=rack.environment,
        start_new_session=True,
    )
    rack.runs.append(run)
    return run


def await_results(control: Path, number: int, run: subprocess.Popen[str], rack: Rack) -> None:
    """Wait until so many results are recorded."""
    await_that(lambda: recorded(control) >= number, run, rack)


def await_log(control: Path, words: str, run: subprocess.Popen[str], rack: Rack) -> None:
    """Wait until a run's log has some words."""
    log = control.with_suffix(".log")
    await_that(lambda: log.exists() and words in log.read_text(), run, rack)


def await_that(is_done: Callable[[], bool], run: subprocess.Popen[str], rack: Rack) -> None:
    """Wait until something is so."""

    def said() -> str:
        run.kill()
        return run.communicate()[0] + rack.logs()

    processes.await_that(is_done, run, said)


def finish(run: subprocess.Popen[str], rack: Rack, status: int = 0) -> str:
    """Wait for the end of a run; return its output."""
    output = run.communicate(timeout=3 * LONG)[0]
    assert run.returncode == status, output + rack.logs()
    return output


def interrupt(run: subprocess.Popen[str], rack: Rack) -> str:
    """Stop a run that would last for hours; return its output."""
    run.send_signal(signal.SIGINT)
    return finish(run, rack, 3)
