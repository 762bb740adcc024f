"""Ways to a cluster: local, TLS, Slurm, SSH; and engines and files that travel to its hosts."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest

from ringmaster.execution.affinity import own_cpus
from ringmaster.model.builds import checksum
from tests.processes import LONG
from tests.program import (
    ENGINE,
    ENGINES,
    PLAYOFF,
    REPOSITORY,
    SPSA,
    TEXEL,
    living_engines,
    shown,
    write_control_file,
)
from tests.rack import (
    Rack,
    await_log,
    await_results,
    await_that,
    held_port,
    interrupt,
    slow,
    start,
)
from tests.reliability.killing import recorded
from tests.requirements import missing, package

package("distributed")

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.optional]


@pytest.fixture
def rack(tmp_path: Path) -> Iterator[Rack]:
    rack = Rack(tmp_path / "rack")
    yield rack
    rack.close()


def ringmaster(control: Path, rack: Rack, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ringmaster", str(control), "run", "-q", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=2 * LONG,
        env=rack.environment,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def check_complete(control: Path, run: subprocess.CompletedProcess[str], rack: Rack) -> None:
    assert (run.returncode, run.stderr) == (0, ""), run.stderr + rack.logs()
    summary = shown(control)
    assert summary["games"]["completed"] == summary["games"]["total"]
    hosts = summary["conditions"]["hosts"]
    assert sum(host["games"] for host in hosts) == summary["games"]["completed"]
    assert living_engines(control) == []


def with_setting(control: Path, line: str) -> Path:
    control.write_text(f"{control.read_text()}\n{line}\n")
    return control


def stop_with_hosts(control: Path, number: int, run: subprocess.Popen[str], rack: Rack) -> None:
    """Stop a run as soon as so many hosts have played: each joins when it is ready."""
    await_results(control, number, run, rack)
    await_that(lambda: len(shown(control)["conditions"]["hosts"]) == number, run, rack)
    interrupt(run, rack)


# ways


def test_local_cluster_plays_a_competition(tmp_path: Path, rack: Rack) -> None:
    control = write_control_file(tmp_path / "event", PLAYOFF, 90)
    check_complete(control, ringmaster(control, rack, "--cluster", "local"), rack)


def test_workers_of_a_local_cluster_pin_games_to_cpus_of_their_own(
    tmp_path: Path, rack: Rack
) -> None:
    if len(own_cpus()) < 2:
        missing("two CPUs")
    control = write_control_file(tmp_path / "event", PLAYOFF, 90_000)
    with_setting(control, "cluster = Cluster.local(pin=True, workers=2)")
    stop_with_hosts(control, 2, start(rack, control), rack)
    assert living_engines(control) == []


def test_option_overrides_the_control_file(tmp_path: Path, rack: Rack) -> None:
    control = write_control_file(tmp_path / "event", PLAYOFF, 30)
    with_setting(control, "cluster = Cluster('tcp://127.0.0.1:1')")
    assert ringmaster(control, rack, "--cluster", "off").returncode == 0
    assert shown(control)["conditions"]["hosts"] == []


def test_scheduler_that_is_not_there_is_named(tmp_path: Path, rack: Rack) -> None:
    control = write_control_file(tmp_path / "event", PLAYOFF, 30)
    with_setting(control, "cluster = Cluster('tcp://127.0.0.1:1', reconnect=1, insecure=True)")
    run = ringmaster(control, rack)
    assert run.returncode == 1
    assert run.stderr.startswith("ringmaster: no scheduler answers at tcp://127.0.0.1:1: ")


def test_server_that_is_no_scheduler_is_named(tmp_path: Path, rack: Rack) -> None:
    control = write_control_file(tmp_path / "event", PLAYOFF, 30)
    page = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    with page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        address = f"tcp://127.0.0.1:{page.server_port}"
        with_setting(control, f"cluster = Cluster({address!r}, reconnect=2, insecure=True)")
        run = ringmaster(control, rack)
        page.shutdown()
    assert run.returncode == 1
    assert run.stderr.startswith(f"ringmaster: no scheduler answers at {address}: ")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("tls://node1", "tls://HOST:PORT"),
        ("node1:8786", "tls://HOST:PORT"),
    ],
)
def test_address_that_cannot_work_is_refused(
    tmp_path: Path, rack: Rack, address: str, words: str
) -> None:
    control = write_control_file(tmp_path / "event", PLAYOFF, 30)
    run = ringmaster(control, rack, "--cluster", address)
    assert run.returncode == 2
    assert words in run.stderr


def test_file_without_a_certificate_is_named(tmp_path: Path, rack: Rack) -> None:
    control = write_control_file(tmp_path / "event", PLAYOFF, 30)
    names = ", ".join(f"tls_{part}='{part}.pem'" for part in ("ca", "cert", "key"))
    with_setting(control, f"cluster = Cluster('tls://127.0.0.1:1', {names})")
    run = ringmaster(control, rack)
    assert run.returncode == 1
    assert "cannot use the TLS files" in run.stderr
    assert "ca.pem" in run.stderr


def test_encrypted_cluster_needs_the_certificate(tmp_path: Path, rack: Rack) -> None:
    rack.start_scheduler()
    rack.start_worker(1)
    control = write_control_file(tmp_path / "event", PLAYOFF, 30)
    source = control.read_text()
    files = ", ".join(f"tls_{part}={path!r}" for part, path in rack.tls.items())
    rack.tls = dict.fromkeys(rack.tls, "")
    plain = rack.address.replace("tls://", "tcp://")
    for cluster in (f"{plain!r}, insecure=True, reconnect=3, {files}", f"{rack.address!r}"):
        control.write_text(f"{source}\ncluster = Cluster({cluster})\n")
        run = ringmaster(control, rack)
        assert run.returncode == 1
        assert "no scheduler answers" in run.stderr
    assert "TLS needs certificates; name the files in Dask's configuration" in run.stderr
    control.write_text(f"{source}\ncluster = Cluster({rack.address!r}, {files})\n")
    check_complete(control, ringmaster(control, rack), rack)


def test_unencrypted_scheduler_is_used_only_if_that_is_allowed(tmp_path: Path, rack: Rack) -> None:
    control = write_control_file(tmp_path / "event", PLAYOFF, 30)
    source = control.read_text()
    address = "tcp://127.0.0.1:1"
    for setting, words, remedy in (
        ("", ["--cluster", address], "--insecure"),
        (f"cluster = Cluster({address!r})", [], "insecure=True in Cluster(…)"),
    ):
        control.write_text(f"{source}\n{setting}\n")
        run = ringmaster(control, rack, *words)
        assert run.returncode == 2
        assert f"{address} has no encryption: whoever reaches such a scheduler" in run.stderr
        assert run.stderr.endswith(f"allow it with {remedy}\n")
    control.write_text(f"{source}\ncluster = Cluster({address!r}, reconnect=1)\n")
    run = ringmaster(control, rack, "--insecure")
    assert f"no scheduler answers at {address}: " in run.stderr


def test_worker_that_can_never_join_ends_with_the_reason(tmp_path: Path, rack: Rack) -> None:
    rack.start_scheduler()
    with (
        closing(Rack(tmp_path / "stranger")) as stranger,
        closing(Rack(tmp_path / "none")) as none,
        closing(Rack(tmp_path / "lost")) as lost,
    ):
        stranger.port = rack.port
        none.tls = dict.fromkeys(none.tls, "")
        lost.tls["key"] += ".gone"
        for other, words, reason in (
            (none, [], "TLS needs certificates; name the files in Dask's configuration"),
            (stranger, [], "certificate"),
            (lost, [], "No such file or directory"),
            (rack, ["--listen", "192.0.2.1:0"], "Cannot assign requested address"),
        ):
            command = [sys.executable, "-m", "ringmaster", "worker", rack.address, *words]
            run = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=LONG,
                env=other.environment,
                check=False,
            )
            assert run.returncode == 2, run.stdout + run.stderr
            (line,) = run.stderr.splitlines()
            assert line.startswith(f"ringmaster: cannot join {rack.address}: ")
            assert reason in line


def test_stranger_on_this_machine_reaches_no_part_of_a_local_cluster(
    tmp_path: Path, rack: Rack
) -> None:
    from distributed.security import Security

    from ringmaster.execution.host_process import greet

    control = write_control_file(tmp_path / "event", slow(PLAYOFF), 90_000)
    run = start(rack, control, "--cluster", "local")
    parts: list[psutil.Process] = []
    listening: set[Any] = set()

    def look() -> bool:
        """Look for a scheduler, two workers, and a server of HTTP for each."""
        parts[:] = [psutil.Process(run.pid), *psutil.Process(run.pid).children(recursive=True)]
        for part in parts:
            with suppress(psutil.NoSuchProcess):
                connections = part.net_connections("inet")
                listening.update(c.laddr for c in connections if c.status == psutil.CONN_LISTEN)
        return len(listening) >= 6

    await_that(look, run, rack)
    assert len(listening) == 6
    assert {place.ip for place in listening} == {"127.0.0.1"}
    for place in listening:
        for scheme, security in (("tcp", Security()), ("tls", Security.temporary())):
            with pytest.raises((OSError, TimeoutError)):
                asyncio.run(greet(f"{scheme}://127.0.0.1:{place.port}", security, 2.0))
    run.terminate()
    run.communicate()
    assert psutil.wait_procs(parts[1:], timeout=LONG)[1] == []


#: Commands of Slurm on one machine, where a job is a process.
SLURM = {
    "sbatch": """#!/bin/sh
cat > {folder}/job.$$.sh
setsid sh {folder}/job.$$.sh > {folder}/job.$$.log 2>&1 < /dev/null &
echo $! >> {folder}/jobs
echo $!
""",
    "scancel": """#!/bin/sh
for id; do kill -TERM -- -$id; done
""",
    "squeue": """#!/bin/sh
for id in $(cat {folder}/jobs); do grep -q . /proc/$id/cmdline && echo "$id R"; done
exit 0
""",
}


def test_slurm_jobs_are_submitted_and_cancelled(
    tmp_path: Path, rack: Rack, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "slurm"
    folder.mkdir()
    for name, text in SLURM.items():
        (folder / name).write_text(text.format(folder=folder))
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    control = write_control_file(tmp_path / "event", PLAYOFF, 60)
    arguments = "jobs=2, cores=2, memory='2 GB', queue='short', interface='lo'"
    with_setting(control, f"cluster = Cluster.slurm({arguments}, directives=['--exclusive'])")
    check_complete(control, ringmaster(control, rack), rack)
    scripts = [path.read_text() for path in folder.glob("job.*.sh")]
    assert len(scripts) == 2
    for line in ("#SBATCH -p short", "#SBATCH --cpus-per-task=2", "#SBATCH --exclusive"):
        assert all(line in script for script in scripts)
    jobs = [
        p
        for p in psutil.process_iter(["cmdline"])
        if str(folder) in " ".join(p.info["cmdline"] or ())
    ]
    assert psutil.wait_procs(jobs, timeout=LONG)[1] == []


def test_machines_are_reached_by_ssh(
    tmp_path: Path, rack: Rack, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = shutil.which("sshd", path="/usr/sbin:/usr/bin")
    if server is None or os.geteuid() != 0:
        missing("sshd as root (Debian: apt-get install openssh-server)")
    for name in ("host_key", "user_key"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)]
        subprocess.run(command, check=True)
    holder = held_port()
    port = holder.getsockname()[1]
    words = (tmp_path / "host_key.pub").read_text().split()[:2]
    (tmp_path / "known").write_text(f"[127.0.0.1]:{port} {' '.join(words)}\n")
    Path("/run/sshd").mkdir(exist_ok=True)
    options = {
        "ListenAddress": "127.0.0.1",
        "AuthorizedKeysFile": tmp_path / "user_key.pub",
        "StrictModes": "no",
        "PidFile": "none",
        "UsePAM": "no",
    }
    command = [server, "-D", "-e", "-p", str(port), "-h", str(tmp_path / "host_key")]
    command += [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    with holder, subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as daemon:
        assert daemon.stderr is not None
        assert "listening" in daemon.stderr.readline()
        control = write_control_file(tmp_path / "event", PLAYOFF, 30)
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={REPOSITORY} exec {sys.executable} "$@"\n')
        python.chmod(0o755)
        # a user has these lines in ~/.ssh/config
        (tmp_path / "config").write_text(
            f"User root\nPort {port}\nIdentityFile {tmp_path}/user_key\n"
            f"UserKnownHostsFile {tmp_path}/known\n"
        )
        program = tmp_path / "ssh"
        program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {tmp_path}/config "$@"\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        hosts = "['127.0.0.1', '127.0.0.2']"
        with_setting(control, f"cluster = Cluster.ssh({hosts}, games=2, python='{python}')")
        run = ringmaster(control, rack)
        daemon.terminate()
    # the second host is down: the run plays on the first
    (line,) = run.stderr.splitlines()
    assert line.startswith("warning: host 127.0.0.2 is down: ssh: connect to host 127.0.0.2 port ")
    run.stderr = ""
    check_complete(control, run, rack)


# what travels


def hide(folder: Path) -> list[str]:
    """Return a command before a worker's, which then does not see a folder."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        missing("a machine without a file needs root and unshare (Debian: util-linux)")
    script = f'mount -t tmpfs none "{folder}" && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, "sh"]


def engine_elsewhere(tmp_path: Path) -> Path:
    """Return a copy of an engine, as a program of one file."""
    folder = tmp_path / "engines"
    folder.mkdir()
    program = folder / "engine"
    program.write_text(
        f'#!/bin/sh\nread -r net < "$NET" || exit 3\n'
        f'[ "$net" = "weights" ] || exit 4\n'
        f'exec {sys.executable} -I -S {ENGINE} "$@"\n'
    )
    program.chmod(0o755)
    (folder / "net.bin").write_text("weights\n")
    return folder


def test_shipped_engine_with_its_network_plays_where_it_is_not_installed(
    tmp_path: Path, rack: Rack
) -> None:
    folder = engine_elsewhere(tmp_path)
    control = write_control_file(tmp_path / "event", PLAYOFF, 30)
    text = control.read_text()
    start, end = text.index("    return Player("), text.index("players = ")
    player = f"""    return Player(["{folder}/engine", "--outcome", "by-option"], nodes=1,
                  ship=SHIP, environ={{"NET": "{folder}/net.bin"}},
                  options={{"Strength": strength}})
"""
    text = text[:start] + player + text[end:]
    rack.start_scheduler()
    rack.start_worker(1, command=hide(folder))
    control.write_text(text.replace("SHIP", "False"))
    run = ringmaster(control, rack, "--cluster", rack.address)
    assert run.returncode == 1
    assert f"player 'a': it has no program {folder}/engine" in run.stderr
    control.write_text(text.replace("SHIP", "True"))
    check_complete(control, ringmaster(control, rack, "--cluster", rack.address), rack)
    kept = sorted(path.name for path in (tmp_path / "rack" / "cache").rglob("*") if path.is_file())
    assert kept == ["engine", "net.bin"]


def test_host_with_another_engine_file_is_not_used(tmp_path: Path, rack: Rack) -> None:
    folder = tmp_path / "engines"
    folder.mkdir()
    for path in ENGINES.glob("*.py"):
        shutil.copy(path, folder)
    program = folder / "run"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {ENGINE} "$@"\n')
    program.chmod(0o755)
    control = write_control_file(tmp_path / "event", PLAYOFF, 90_000)
    text = control.read_text()
    control.write_text(
        text.replace(f'[{sys.executable!r}, "-I", "-S", {str(ENGINE)!r}', f'["{program}"')
    )
    rack.start_scheduler()
    rack.start_worker(1)
    hide(folder)
    other = (
        f'mount -t tmpfs none "{folder}" && (echo "#!/bin/sh"; echo exec false) > {program} '
        f'&& chmod +x {program} && exec "$@"'
    )
    run = start(rack, control)
    await_results(control, 1, run, rack)
    rack.start_worker(2, command=["unshare", "--mount", "sh", "-c", other, "sh"])
    message = f"is not used: {program} is another file there (SHA-256 "
    await_log(control, message, run, rack)
    assert message in interrupt(run, rack)


def test_host_that_loses_on_time_gets_no_more_games(tmp_path: Path, rack: Rack) -> None:
    program = tmp_path / "engine"
    program.write_text(
        f"#!/bin/sh\nexec {sys.executable} -I -S {ENGINE} --outcome by-option --slow ${{SLOW:-0}}\n"
    )
    program.chmod(0o755)
    control = write_control_file(tmp_path / "event", PLAYOFF, 90_000)
    text = control.read_text()
    begin, end = text.index("    return Player("), text.index("players = ")
    player = f'    return Player("{program}", options={{"Strength": strength}}, move_time=0.05)\n'
    control.write_text(
        f"{text[:begin]}{player}{text[end:]}\nskip_player_checks = True\nmargin = 2\n"
    )
    rack.start_scheduler()
    rack.start_worker(1)
    rack.start_worker(2)
    rack.start_worker(3, games=1, command=["env", "SLOW=1000"])
    rack.await_workers(3)
    run = start(rack, control)
    await_log(control, "gets no more games: ", run, rack)
    # games in progress end first
    await_results(control, recorded(control) + 100, run, rack)
    assert "had an engine that lost on time, crashed or hung" in interrupt(run, rack)
    hosts = shown(control)["conditions"]["hosts"]
    (bad,) = [host for host in hosts if host["time_losses"]]
    assert bad["time_losses"] == bad["games"] < 20


def test_positions_of_a_texel_tune_travel_to_the_hosts(tmp_path: Path, rack: Rack) -> None:
    control = write_control_file(tmp_path / "event", TEXEL, 2)
    rack.start_scheduler()
    rack.start_worker(1, command=hide(tmp_path / "event"))
    run = ringmaster(control, rack, "--cluster", rack.address)
    assert (run.returncode, run.stderr) == (0, ""), run.stderr + rack.logs()
    local = write_control_file(tmp_path / "local", TEXEL, 2)
    assert ringmaster(local, rack).returncode == 0
    assert _tuned(control) == _tuned(local)


def _tuned(control: Path) -> object:
    summary = shown(control)
    return {name: summary[name] for name in summary if name in ("parameters", "error", "passes")}


# builds


def engine_on_path(folder: Path, build: int) -> None:
    """Put a build of the engine into a folder of programs."""
    folder.mkdir(exist_ok=True)
    other = folder / "next"
    other.write_text(f'#!/bin/sh\n# build {build}\nexec {sys.executable} -I -S {ENGINE} "$@"\n')
    other.chmod(0o755)
    other.replace(folder / "duel-engine")


def with_engine_on_path(control: Path) -> Path:
    """Let a control file use that engine."""
    command = f'{sys.executable!r}, "-I", "-S", {str(ENGINE)!r}'
    text = control.read_text()
    assert command in text
    control.write_text(text.replace(command, '"duel-engine"'))
    return control


def with_path(folder: Path) -> list[str]:
    """Return a command before a worker's, which then finds programs of a folder."""
    return ["env", f"PATH={folder}:{os.environ['PATH']}"]


def test_stale_host_is_refused_though_it_joins_first(tmp_path: Path, rack: Rack) -> None:
    control = write_control_file(tmp_path / "event", PLAYOFF, 90_000)
    with_engine_on_path(control)
    rack.start_scheduler()
    for number, build in ((1, 1), (2, 2), (3, 2)):
        engine_on_path(tmp_path / f"bin{number}", build)
        rack.start_worker(number, 1, command=with_path(tmp_path / f"bin{number}"))
        rack.await_workers(number)
    stop_with_hosts(control, 2, start(rack, control), rack)
    right, stale = (checksum(tmp_path / f"bin{n}" / "duel-engine") for n in (2, 1))
    conditions = shown(control)["conditions"]
    assert {file for b in conditions["builds"] for file in b["files"].values()} == {right}
    assert len(conditions["hosts"]) == 2
    (refused,) = conditions["refused_hosts"]
    assert f"duel-engine is another file there (SHA-256 {stale[:12]})" in refused
    assert f"({right[:12]})" in refused
    # alone, it is refused by what was recorded
    for number in (2, 3):
        rack.kill_worker(number, machine=True)
    run = ringmaster(control, rack, "--cluster", rack.address)
    assert run.returncode == 1
    assert f"(SHA-256 {stale[:12]}) than in this competition ({right[:12]})" in run.stderr


def test_three_builds_at_one_path_of_two_hosts(tmp_path: Path, rack: Rack) -> None:
    control = write_control_file(tmp_path / "event", SPSA, 30)
    with_engine_on_path(control)
    rack.start_scheduler()
    for number in (1, 2):
        rack.start_worker(number, 1, command=with_path(tmp_path / "bin"))
    rack.await_workers(2)
    words = ["--cluster", rack.address, "-g", "6"]
    for number in (1, 2, 3):
        engine_on_path(tmp_path / "bin", number)
        if number > 1:
            run = ringmaster(control, rack, *words)
            assert run.returncode == 1
            assert "duel-engine is another file there" in run.stderr
        accepted = ["--accept-build", "duel"] if number > 1 else []
        run = ringmaster(control, rack, *words, *accepted)
        assert (run.returncode, run.stderr) == (0, ""), run.stderr + rack.logs()
    builds = shown(control)["conditions"]["builds"]
    assert len({b["files"]["duel-engine"] for b in builds}) == 3
    assert [b["games"] for b in builds] == [6, 6, 6]
