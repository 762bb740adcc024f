"""Before the first run of a competition each player is tested once; a UCI process then plays."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from ringmaster.execution.executor import JobEnd
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.jobs import CheckJob, Job
from ringmaster.model.results import CheckResult
from ringmaster.player_checks import FirstTests, check_players
from ringmaster.storage.store import Store
from tests.execution.inline import InlineExecutor
from tests.program import (
    ENGINES,
    PLAYOFF,
    engine_pids,
    living_engines,
    ringmaster,
    write_control_file,
)

pytestmark = pytest.mark.process

CAREFUL = ENGINES / "careful_uci.py"
SCORED = ENGINES / "scored.py"


class HostsLater(InlineExecutor):
    """An executor whose hosts join after a while; one is refused."""

    waits = 0

    def in_progress(self) -> Sequence[Job]:
        return super().in_progress() if self.waits > 3 else []

    def notices(self) -> list[tuple[str, bool]]:
        return [("host one is not used: it has no ringmaster", True)] if self.waits == 1 else []

    def wait(self, timeout: float | None, wake: Sequence[int] = ()) -> list[JobEnd]:
        self.waits += 1
        return super().wait(timeout, wake) if self.waits > 5 else []


class Checks:
    """Work that finds no fault."""

    def run(self, job: Job) -> CheckResult:
        assert isinstance(job, CheckJob)
        return CheckResult(job.id, job.player.code)

    def close(self) -> None:
        """Nothing to end."""


def test_no_engine_is_called_silent_before_a_host_has_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a quarter of a minute passes at each look
    clock = SimpleNamespace(monotonic=itertools.count(0, 15).__next__)
    monkeypatch.setattr("ringmaster.player_checks.time", clock)
    loaded = LoadedCompetition(write_control_file(tmp_path / "event", PLAYOFF, 2))
    executor = HostsLater(Checks())
    reported: list[tuple[int, str, bool]] = []
    check_players(
        loaded,
        executor,
        lambda notices: reported.extend((executor.waits, *notice) for notice in notices),
        thorough=False,
    )
    assert reported[0] == (1, "host one is not used: it has no ringmaster", True)
    assert {waits for waits, text, _ in reported if "its check has taken" in text} == {5}


DUEL = """
competition_type = "playoff"
game = "chess"
def duel(strength):
    return Player([{python!r}, "-I", "-S", {engine!r}, "--outcome", "by-option",
                   "--pid-file", {log!r}], options={{"Strength": strength}}, nodes=1)
players = {{"a": duel(600), "b": duel(500)}}
openings = Openings("book.epd")
matchups = [Matchup("a", "b", number_of_games={games})]
"""

LIAR = f"""
competition_type = "playoff"
game = "chess"
move_limit = 2
players = {{
    "liar": Player([{sys.executable!r}, {str(CAREFUL)!r}, "--nodes", "7"], nodes=5000),
    "sound": Player([{sys.executable!r}, {str(CAREFUL)!r}], nodes=5000),
}}
matchups = [Matchup("liar", "sound", number_of_games=4)]
"""

#: A light engine serves the startup check, which has no slot; it loses every game.
LIGHT_CHECK = f"""#!/bin/sh
if [ "$GOMILL_GAME_ID" = startup-check ]
then
    set -- "$@" --resign-at 1
    echo "slot <$GOMILL_SLOT>" >> "${{0%/*}}/slots.txt"
fi
exec {sys.executable} -I -S {ENGINES / "fault_gtp.py"} "$@"
"""
GO = """
game = "go"
board_size = 5
komi = 0.5
scorer = "internal"
players = {"light": Player("./light.sh", restart="RESTART"), "other": Player("./light.sh")}
"""
GO_MATCH = f"""
competition_type = "playoff"
{GO}
matchups = [Matchup("light", "other", number_of_games=4)]
"""
GO_TUNER = f"""
competition_type = "mc_tuner"
{GO}
def make_candidate(x):
    return Player("./light.sh", restart="RESTART")
opponent = "other"
candidate_colour = "b"
parameters = [Parameter("x", scale=LINEAR(0, 1), split=2)]
exploration_coefficient = 0.2
initial_visits = 10
initial_wins = 5
number_of_games = 4
"""
FOUND = "player 'liar': nodes: with nodes 5,000 it searched 7 nodes; "

#: The engine declares Weight, which has an effect, and Idle.
TUNE = f"""
competition_type = "COMPETITION"
game = "chess"
players = {{"e": Player([{sys.executable!r}, {str(SCORED)!r}, "--nodes", "0"], depth=1)}}
player = "e"
"""
SPSA = (
    TUNE.replace("COMPETITION", "spsa")
    + """
parameters = [Parameter("Weight", start=100, min=0, max=1000, integer=True),
              Parameter("Idle", start=3, min=0, max=9, integer=True)]
number_of_games = 2
"""
)
CANDIDATES = """
opponent = "e"
candidate_colour = "w"
"""
MC_TUNER = (
    TUNE.replace("COMPETITION", "mc_tuner")
    + CANDIDATES
    + """
parameters = [Parameter("Weight", scale=LINEAR(0, 1000, integer=True), split=4),
              Parameter("Idle", scale=LINEAR(0, 9, integer=True), split=4)]
exploration_coefficient = 0.2
initial_visits = 10
initial_wins = 5
number_of_games = 2
"""
)
CE_TUNER = (
    TUNE.replace("COMPETITION", "ce_tuner")
    + CANDIDATES
    + """
parameters = [Parameter("Weight", initial_mean=500, initial_variance=900, transform=int),
              Parameter("Idle", initial_mean=5, initial_variance=1, transform=int)]
number_of_generations = 1
samples_per_generation = 4
batch_size = 2
elite_proportion = 0.5
step_size = 0.5
"""
)
IGNORED = """
competition_type = "spsa"
game = "chess"
def duel(strength):
    return Player([{python!r}, "-I", "-S", {engine!r}, "--outcome", "by-option"],
                  options={{"Strength": strength}}, nodes=1)
players = {{"duel": duel(500)}}
player = "duel"
def make_candidate(Strength, Unused):
    return duel(Strength)
parameters = [
    Parameter("Strength", start=300, min=0, max=1000, integer=True),
    Parameter("Unused", start=400, min=0, max=1000, integer=True),
]
openings = Openings("book.epd")
number_of_games = {games}
"""


def write(folder: Path, text: str) -> Path:
    control = folder / "event.ctl"
    control.write_text(text)
    return control


def test_run_starts_each_engine_once(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, DUEL, 6)
    assert ringmaster(control, "run", "-q").returncode == 0
    assert len(engine_pids(control)) == 2
    assert living_engines(control) == []


@pytest.mark.parametrize("restart", ["auto", "on", "off"])
@pytest.mark.parametrize("source", [GO_MATCH, GO_TUNER], ids=["match", "mc_tuner"])
def test_go_engine_that_is_told_of_a_check_plays_no_game(
    tmp_path: Path, source: str, restart: str
) -> None:
    (tmp_path / "light.sh").write_text(LIGHT_CHECK)
    (tmp_path / "light.sh").chmod(0o755)
    control = write(tmp_path, source.replace("RESTART", restart))
    done = ringmaster(control, "run", "-q", "-j", "2")
    assert done.returncode == 0, done.stderr
    games = ringmaster(control, "export", "--format", "jsonl", "-o", "-").stdout.splitlines()
    assert [json.loads(game)["score"] for game in games] == 4 * ["B+4.5"]
    assert set((tmp_path / "slots.txt").read_text().splitlines()) == {"slot <>"}


def test_engine_that_ignores_its_limit_is_warned_of_before_the_first_game(tmp_path: Path) -> None:
    control = write(tmp_path, LIAR)
    first = ringmaster(control, "run", "-q", "-g", "1")
    assert first.returncode == 0, first.stderr
    assert FOUND in first.stderr
    assert "'sound'" not in first.stderr
    log = (tmp_path / "event.log").read_text()
    assert log.index(FOUND) < log.index("starting game")


def due(control: Path, outcomes: dict[str, list[str]] | None) -> list[str]:
    """Return the players with limits that a run would test."""
    loaded = LoadedCompetition(control)
    tests = FirstTests(loaded, outcomes)
    jobs = map(tests.add_to, loaded.competition.setup().checks)
    return [job.player.code for job in jobs if job.limits]


def test_limits_are_tested_again_after_a_warning_and_after_another_command_or_limit(
    tmp_path: Path,
) -> None:
    control = write(tmp_path, LIAR)
    assert ringmaster(control, "run", "-q", "-g", "1").returncode == 0
    store = Store.open(control.with_suffix(".status"))
    outcomes = store.read_value("tests")
    store.close()
    assert due(control, None) == ["liar", "sound"]
    # an engine that was warned of may have been mended under its name
    assert due(control, outcomes) == ["liar"]
    for old, new, codes in [
        ('"7"', '"8"', ["liar"]),
        ("nodes=5000", "nodes=4000", ["liar", "sound"]),
        ("nodes=5000)", 'nodes=5000, options={"Hash": 2})', ["liar"]),
        ("number_of_games=4", "number_of_games=6", ["liar"]),
    ]:
        control.write_text(LIAR.replace(old, new))
        assert due(control, outcomes) == codes
    control.write_text(LIAR)
    assert FOUND in ringmaster(control, "run", "-q", "-g", "1").stderr


def test_engine_that_was_mended_is_warned_of_no_more_until_it_is_rebuilt(tmp_path: Path) -> None:
    shim = tmp_path / "engine.sh"
    command = f"exec {sys.executable} {CAREFUL}"
    shim.write_text(f"#!/bin/sh\n{command} --nodes 7\n")
    shim.chmod(0o755)
    player = f'{sys.executable!r}, {str(CAREFUL)!r}, "--nodes", "7"'
    control = write(tmp_path, LIAR.replace(player, repr(str(shim))))
    assert FOUND in ringmaster(control, "run", "-q", "-g", "1").stderr
    shim.write_text(f"#!/bin/sh\n{command}\n")
    accepted = ("run", "-q", "-g", "1", "--accept-build", "liar")
    for _ in range(2):
        assert "nodes" not in ringmaster(control, *accepted).stderr
    # a build that was not tested yet
    shim.write_text(f"#!/bin/sh\n{command} --nodes 8\n")
    assert FOUND.replace("7", "8") in ringmaster(control, *accepted).stderr


@pytest.mark.parametrize("source", [SPSA, MC_TUNER, CE_TUNER], ids=["spsa", "mc", "ce"])
def test_tune_of_an_option_without_effect_is_warned_of(tmp_path: Path, source: str) -> None:
    control = write(tmp_path, source)
    result = ringmaster(control, "run", "-q", "-g", "1")
    assert "no effect seen of 1 of 2 tuned options: Idle; " in result.stderr, result.stderr


def test_check_tells_of_tuned_options_without_effect(tmp_path: Path) -> None:
    result = ringmaster(write(tmp_path, SPSA), "check")
    assert "tuned options" in result.stdout
    assert "no effect seen of 1 of 2 tuned options: Idle; " in result.stdout


def test_parameter_that_make_candidate_does_not_use_is_warned_of(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, IGNORED, 2)
    result = ringmaster(control, "run", "-q")
    assert "parameter 'Unused' does not change the player" in result.stderr
    assert "'Strength' changes" not in result.stderr
