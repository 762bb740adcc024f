"""The processor time and memory of a whole command with `--safe` are bounded."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ringmaster.cli import run
from ringmaster.control import safe_bounds
from ringmaster.loaded_competition import LoadedCompetition
from tests.processes import LONG
from tests.program import PLAYOFF, environment, ringmaster, write_control_file

#: macOS does not limit memory.
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")

TUNE = """competition_type = "mc_tuner"
players = {"other": Player("engine")}
opponent = "other"
candidate_colour = "w"
board_size = 9
komi = 7.5
exploration_coefficient = 0.2
initial_visits = 10
initial_wins = 5
number_of_games = 10
def power(x):
    for i in range(4000): pass
    return x
def make_candidate(x):
    return Player(["engine", str(x)])
"""
MANY_CALLS = TUNE + 'parameters = [Parameter("x", split=100000, scale=power)]\n'
MANY_COLUMNS = (
    TUNE + 'parameters = [Parameter("x", split=3, scale=LINEAR(0, 1), format="%3000000000d")]\n'
)
MANY_PLAYERS = """competition_type = "allplayall"
board_size = 9
komi = 7.5
players = {str(i): Player("x") for i in range(1200)}
competitors = [*players]
rounds = 2
"""


#: A process of its own: at a bound pytest's own callbacks would fail.  A first command of a small
#: file imports what the second one needs.
BOUNDED = """
import sys
from ringmaster.cli import run
from ringmaster.control import safe_bounds
verb, seconds, small, control = sys.argv[1:]
# a server of it would not end, and a run closes the error stream
run([small, "show" if verb in ("serve", "run") else verb, "--safe"])
print("BOUNDED", file=sys.stderr, flush=True)
safe_bounds.MOST_SECONDS, safe_bounds.MOST_MEGABYTES = float(seconds), 60
sys.exit(run([control, verb, "--safe"]))
"""


def message_of(folder: Path, text: str, verb: str, seconds: float) -> str:
    """Return the message with which a command ends within so many seconds and 60 MB."""
    small, control = folder / "small.ctl", folder / "x.ctl"
    small.write_text(MANY_PLAYERS.replace("1200", "2"))
    control.write_text(text)
    words = [verb, str(seconds), str(small), str(control)]
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED, *words],
        capture_output=True,
        text=True,
        timeout=3 * LONG,
        stdin=subprocess.DEVNULL,
        env=environment(),
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    before, _, message = done.stderr.partition("BOUNDED\n")
    assert "the most with --safe" not in before
    return message


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["show", "report", "check", "run", "plan", "serve"])
def test_functions_that_settings_call_without_end_are_ended(verb: str, tmp_path: Path) -> None:
    message = message_of(tmp_path, MANY_CALLS, verb, 0.5)
    assert "takes more than 0.5 seconds of processor time, the most with --safe" in message


@pytest.mark.slow
@ON_LINUX
@pytest.mark.parametrize("text", [MANY_COLUMNS, MANY_PLAYERS], ids=["columns", "players"])
@pytest.mark.parametrize("verb", ["show", "check"])
def test_settings_that_take_too_much_memory_are_refused(
    verb: str, text: str, tmp_path: Path
) -> None:
    message = message_of(tmp_path, text, verb, 60)
    assert "60 MB of memory, the most with --safe" in message or "%3000000000d" in message


def test_lack_of_memory_anywhere_in_a_safe_command_is_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def compare(loaded: LoadedCompetition, store: object) -> None:
        raise MemoryError

    monkeypatch.setattr(LoadedCompetition, "compare", compare)
    control = tmp_path / "x.ctl"
    control.write_text(MANY_PLAYERS.replace("1200", "3"))
    assert run([str(control), "show", "--safe"]) == 1
    message = capfd.readouterr().err
    assert "the command takes more than 512 MB of memory, the most with --safe" in message


def test_bounds_end_with_the_command_or_before_engines_start() -> None:
    def state() -> tuple[object, ...]:
        return (
            resource.getrlimit(resource.RLIMIT_DATA),
            signal.getsignal(signal.SIGPROF),
            signal.getitimer(signal.ITIMER_PROF),
            dict(os.environ),
        )

    before = state()
    with safe_bounds.bounds():
        assert state() != before
        with safe_bounds.bounds():
            pass
        assert state() != before
        safe_bounds.lift()
        assert state() == before
    with safe_bounds.bounds():
        pass
    assert state() == before


@ON_LINUX
@pytest.mark.process
def test_engines_of_a_safe_run_have_no_bounds(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2)
    limits = tmp_path / "limits"
    script = f'ulimit -d >> {limits}; echo "$OMP_NUM_THREADS" >> {limits}; exec "$@"'
    text = control.read_text().replace("Player([", f"Player(['sh', '-c', {script!r}, 'sh', ")
    control.write_text(text)
    former = resource.getrlimit(resource.RLIMIT_DATA)[0]
    done = ringmaster(control, "--safe", "-q")
    assert done.returncode == 0, done.stderr
    expected = "unlimited" if former == resource.RLIM_INFINITY else str(former // 1024)
    assert {*limits.read_text().split("\n")} == {
        expected,
        os.environ.get("OMP_NUM_THREADS", ""),
        "",
    }
