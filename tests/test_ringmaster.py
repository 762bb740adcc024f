"""Test the loop in one process, with failing stores and control files."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringmaster.conditions import REFUSED_HOSTS
from ringmaster.errors import (
    CompetitionHalted,
    ControlFileError,
    DataFileError,
    StoreUnwritable,
)
from ringmaster.execution.executor import JobEnd as ExecutorEvent
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.cluster import Host
from ringmaster.model.jobs import GameJob, Job, Ticket
from ringmaster.model.results import CheckResult, EngineUsage, GameResult, JobResult, Result
from ringmaster.reporting.live import Display
from ringmaster.reporting.progress import DisplayView
from ringmaster.ringmaster import Ringmaster
from ringmaster.run_control import RunOptions, SpareTime
from ringmaster.storage.paths import COMMANDS, OutputPaths
from ringmaster.storage.store import Store, Transaction
from tests.execution.inline import InlineExecutor

SOURCE = """
competition_type = "spsa"
game = "chess"
players = {"e": Player("engine", nodes=1)}
player = "e"
parameters = [Parameter("X", start=50, min=0, max=100, c_end=5, integer=True)]
number_of_games = 12
def make_candidate(X):
    if (HERE / "fail").exists():
        raise RuntimeError("fail exists")
    return Player(["engine", str(X)], nodes=1)
HERE = __import__("pathlib").Path(__file__).parent
"""


class Players:
    """Complete every job at once: the first to move wins."""

    def run(self, job: Job) -> JobResult:
        if not isinstance(job, GameJob):
            return CheckResult(job.id, job.player.code)
        return GameResult(job.id, job.attempt, "win", winner=0, reason="mate", score="1-0")

    def close(self) -> None: ...


class VoidPlayers(Players):
    def run(self, job: Job) -> JobResult:
        if not isinstance(job, GameJob):
            return CheckResult(job.id, job.player.code)
        return GameResult(job.id, job.attempt, "void", reason="crash", detail="it exited")


@pytest.fixture
def control(tmp_path: Path) -> Path:
    path = tmp_path / "tune.ctl"
    path.write_text(SOURCE)
    return path


class AtOnce(InlineExecutor):
    """Report the results of all submitted jobs together."""

    def wait(self, timeout: float | None, wake: Sequence[int] = ()) -> list[ExecutorEvent]:
        return [event for _ in self.running() for event in super(AtOnce, self).wait(timeout, wake)]


def run(
    control: Path,
    *,
    max_games: int | None = None,
    players: Players | None = None,
    at_once: int = 1,
    period: float = 0.0,
    executor: InlineExecutor | None = None,
    display: Display | None = None,
) -> int:
    return Ringmaster(
        LoadedCompetition(control),
        RunOptions(max_games=max_games),
        executor=lambda: executor or AtOnce(players or Players(), at_once),
        display=display or Display(sys.stderr),
        period=period,
    ).run()


class Messages(Display):
    """Collect messages."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self.lines: list[str] = []

    def message(self, line: str) -> None:
        self.lines.append(line)


class Views(Messages):
    """Collect messages and views."""

    def __init__(self) -> None:
        super().__init__()
        self.views: list[DisplayView] = []

    def update(self, build: Callable[[], DisplayView]) -> None:
        self.views.append(build())


def test_address_of_the_live_page_is_shown_logged_and_in_every_view(control: Path) -> None:
    address = "http://127.0.0.1:35027/a5kV1IGPXpi6ifYC934Dvw/"
    display = Views()
    options = RunOptions(max_games=2, page=address)
    Ringmaster(
        LoadedCompetition(control),
        options,
        executor=lambda: AtOnce(Players(), 1),
        display=display,
        period=0.0,
    ).run()
    assert display.lines[0] == f"the live page: {address}"
    assert f"the live page: {address}" in control.with_suffix(".log").read_text()
    assert {view.page for view in display.views} == {address}


class Roomy(AtOnce):
    """Accept three jobs ahead, and count the most jobs at a time."""

    most = 0

    def room(self, *, ahead: bool = False) -> int:
        return super().room() + (3 if ahead and len(self.running()) < 3 else 0)

    def submit(self, job: Job) -> None:
        super().submit(job)
        if isinstance(job, GameJob):
            self.most = max(self.most, len(self.running()))


class Late(AtOnce):
    """Let three waits of 6 s each pass before the first result."""

    now = 0.0

    def wait(self, timeout: float | None, wake: Sequence[int] = ()) -> list[ExecutorEvent]:
        self.now += 6.0
        return [] if self.now < 20 else super().wait(timeout, wake)


PLAYOFF = """
competition_type = "playoff"
game = "chess"
players = {"a": Player("engine", nodes=1), "b": Player("engine", nodes=1)}
matchups = [Matchup("a", "b", number_of_games=12)]
"""
#: A competition that results may end.
TEST = PLAYOFF + "sprt = SPRT(0, 5)\n"
ADAPTIVE = """
competition_type = "mc_tuner"
game = "chess"
players = {"e": Player("engine", nodes=1)}
opponent = "e"
candidate_colour = "w"
parameters = [Parameter("X", scale=LINEAR(0, 1), split=8)]
initial_visits = 10
initial_wins = 5
def make_candidate(X):
    return Player(["engine", str(X)], nodes=1)
exploration_coefficient = 0.2
number_of_games = 12
"""


def test_last_message_of_a_run_ends_with_the_verdict_however_it_ends(control: Path) -> None:
    halted = Messages()
    with pytest.raises(CompetitionHalted):
        run(control, players=VoidPlayers(), display=halted)
    assert halted.lines[-1].startswith("halted: the first 5 games all ended by faults")
    assert (
        ": Tuning: iteration 0 of 6, 0 games; gain not measured yet; doubtful: 5 games "
        in (halted.lines[-1])
    )
    complete = Messages()
    assert run(control, display=complete) == 0
    assert complete.lines[-1].startswith(
        "competition complete (12/12 games): Tuned: iteration 6 of 6"
    )


class Silent(Late):
    """Report the engine that does not answer."""

    def notices(self) -> list[tuple[str, bool]]:
        line = "player 'b' (engine) has not answered 'uci' for 10 s; waiting up to 60 s"
        return [(line, True)] if self.now == 6.0 else []


@pytest.mark.parametrize(
    ("kind", "report", "other"),
    [
        (
            Late,
            "its check has taken 12 s so far; an engine that does not answer is given 60 s",
            "uci",
        ),
        (Silent, "player 'b' (engine) has not answered 'uci' for 10 s", "its check has taken"),
    ],
)
def test_engine_that_is_silent_at_its_check_is_reported_once_while_the_run_waits(
    control: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Late], report: str, other: str
) -> None:
    control.write_text(PLAYOFF)
    executor = kind(Players())
    monkeypatch.setattr("ringmaster.player_checks.time.monotonic", lambda: executor.now)
    assert run(control, max_games=1, executor=executor) == 0
    assert log(control).count(report) == 1
    assert other not in log(control)


@pytest.mark.parametrize(
    ("source", "parallel", "ahead"),
    [
        (PLAYOFF, 2, True),
        (TEST, 2, True),
        (TEST, 1, False),
        (SOURCE, 2, True),
        (SOURCE, 1, False),
        (ADAPTIVE, 2, False),
    ],
)
def test_short_games_are_queued_ahead_of_results(
    control: Path, source: str, parallel: int, ahead: bool
) -> None:
    control.write_text(source)
    executor = Roomy(Players(), parallel)
    assert run(control, at_once=parallel, executor=executor) == 0
    assert executor.most == parallel + 3 * ahead
    assert len(history(control)) == 12


class Growing(AtOnce):
    """A cluster: hosts join during the games, and there is news of them."""

    most = 0

    def wait(self, timeout: float | None, wake: Sequence[int] = ()) -> list[ExecutorEvent]:
        self.most = max(self.most, len(self.running()))
        if self._slots < 4 and isinstance(self.running()[0], GameJob):
            self._slots += 1
            return []
        return super().wait(timeout, wake)

    def notices(self) -> list[tuple[str, bool]]:
        return [(f"host {self._slots} joins", False)] if self._slots < 4 else []


def test_new_hosts_get_games_before_the_next_result(control: Path) -> None:
    control.write_text(PLAYOFF)
    executor = Growing(Players(), 1)
    assert run(control, executor=executor) == 0
    assert executor.most == 4
    assert len(history(control)) == 12
    assert "host 3 joins" in control.with_suffix(".log").read_text()


@pytest.mark.parametrize("parallel", [1, 2])
def test_log_has_starts_and_results_in_their_order(control: Path, parallel: int) -> None:
    control.write_text(PLAYOFF)
    # one commit has several results; the first of them frees the slot of the next game
    assert run(control, at_once=parallel, executor=AtOnce(Players(), parallel), period=60.0) == 0
    events = re.findall(r" (starting )?game (\S+): ", log(control))
    in_progress: list[str] = []
    for starting, game in events:
        if starting:
            in_progress.append(game)
        else:
            in_progress.remove(game)
        assert len(in_progress) <= parallel
    assert in_progress == []
    assert len(events) == 24


class Pressing(AtOnce):
    """Press keys, or give commands of `storage.paths.COMMANDS`, at given waits for results."""

    def __init__(self, paths: OutputPaths, keys: dict[int, str], slots: int = 1) -> None:
        super().__init__(Players(), slots)
        self._paths = paths
        self._keys = keys
        self._waits = 0
        self._pressed = ""
        self.running_at: list[int] = []
        self.held_at: list[bool] = []

    def wait(self, timeout: float | None, wake: Sequence[int] = ()) -> list[ExecutorEvent]:
        if not all(isinstance(job, GameJob) for job in self.running()):
            return super().wait(timeout, wake)
        self._waits += 1
        assert self._waits < 100, "the run does not end"
        keys = self._keys.get(self._waits, "")
        commands = [word for word in keys.split() if word in COMMANDS]
        for command in commands:
            self._paths.give_command(command)
        self._pressed += "" if commands else keys
        self.running_at.append(len(self.running()))
        self.held_at.append(self.is_held)
        return super().wait(0 if timeout is None else min(timeout, 0.001), wake)

    def fileno(self) -> None:
        return None

    def read(self) -> str:
        keys, self._pressed = self._pressed, ""
        return keys


def run_pressing(
    control: Path, keys: dict[int, str], slots: int = 1, max_games: int | None = None
) -> tuple[int, Pressing]:
    control.write_text(PLAYOFF)
    loaded = LoadedCompetition(control)
    executor = Pressing(loaded.paths, keys, slots)
    status = Ringmaster(
        loaded,
        RunOptions(max_games=max_games),
        executor=lambda: executor,
        display=Display(sys.stderr),
        keys=executor,
        period=0.0,
    ).run()
    return status, executor


def log(control: Path) -> str:
    return control.with_suffix(".log").read_text()


@pytest.fixture(autouse=True)
def _commands_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringmaster.run_control.COMMAND_PERIOD", 0.0)


@pytest.mark.parametrize(
    ("pause", "resume", "until"),
    [("p", "p", "p is pressed"), ("pause pause", "resume resume", "the command resume")],
)
def test_paused_run_starts_no_games_until_it_goes_on(
    control: Path, pause: str, resume: str, until: str
) -> None:
    status, executor = run_pressing(control, {3: pause, 9: resume})
    assert status == 0
    assert executor.running_at[:10] == [1, 1, 1, 1, 0, 0, 0, 0, 0, 1]
    # nor those that wait for tokens
    assert executor.held_at[:10] == [False] * 3 + [True] * 6 + [False]
    assert len(history(control)) == 12
    assert log(control).count(f"paused: no games start until {until}") == 1
    assert log(control).count("continued") == 1


@pytest.mark.parametrize(("key", "name"), [("q", "q"), ("\x18", "Ctrl-X"), ("stop", "command")])
@pytest.mark.parametrize("pause", ["", "p"])
def test_key_stops_the_run_after_games_in_progress_even_while_it_is_paused(
    control: Path, key: str, name: str, pause: str
) -> None:
    status, executor = run_pressing(control, {2: pause, 4: key}, 2)
    assert status == 0
    assert executor.running_at[-1] == (0 if pause else 2)
    assert 2 <= len(history(control)) < 12
    assert f"stopped by {name}" in log(control)
    assert executor.held_at[-1]


@pytest.mark.parametrize("key", ["q", "stop"])
def test_games_that_wait_at_the_limit_of_games_wait_for_a_later_run_after_a_stop(
    control: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(AtOnce, "wait", InlineExecutor.wait)
    status, executor = run_pressing(control, {3: key}, 4, 6)
    assert status == 0
    assert executor.held_at == [False] * 3 + [True] * 3
    assert f"stopped by {'command' if key == 'stop' else key}: waiting" in log(control)


def test_pause_before_the_limit_of_games_does_not_end_the_run(
    control: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(self: Any, *arguments: Any) -> list[ExecutorEvent]:
        # no result before the key
        return [] if len(self.running_at) == 1 else InlineExecutor.wait(self, *arguments)

    monkeypatch.setattr(AtOnce, "wait", wait)
    status, executor = run_pressing(control, {1: "p", 9: "p"}, 2, 2)
    assert status == 0
    assert executor.running_at[:9] == [2, 2, 1, 0, 0, 0, 0, 0, 0]
    assert log(control).count("continued") == 1
    assert len(history(control)) == 2


def test_pause_before_the_last_result_ends_with_the_competition(control: Path) -> None:
    assert run_pressing(control, {12: "p"})[0] == 0
    assert len(history(control)) == 12


@pytest.mark.parametrize("keys", [{1: "++", 2: "---"}, {1: "more more", 2: "fewer fewer fewer"}])
def test_keys_change_the_number_of_games_at_a_time(control: Path, keys: dict[int, str]) -> None:
    status, executor = run_pressing(control, keys)
    assert status == 0
    assert max(executor.running_at) == 3
    assert executor.running_at[-1] == 1
    assert "3 games at a time" in log(control)
    assert "still 1 game at a time, the least number" in log(control)
    assert len(history(control)) == 12


def recorded(control: Path) -> tuple[list[str], int]:
    """Return the ids of recorded games, and the number of games in the state."""
    store = Store.open_readonly(control.with_suffix(".status"))
    try:
        ids = [r.result.game_id for r in store.results()]
        snapshot = store.snapshot()
        assert snapshot is not None
        tallies = snapshot[1]["tallies"].values()
        return ids, sum(map(sum, (column for tally in tallies for column in tally["by_colour"])))
    finally:
        store.close()


@pytest.mark.parametrize(
    ("at_once", "period", "shared"),
    [(5, 0.0, [5, 5, 2]), (1, 0.0, [1] * 12), (1, 1e9, [1, 11]), (5, 1e9, [5, 7])],
)
def test_results_before_the_next_commit_share_a_transaction(
    control: Path,
    monkeypatch: pytest.MonkeyPatch,
    at_once: int,
    period: float,
    shared: list[int],
) -> None:
    in_one: list[int] = []
    begin, store_result = Store.transaction, Transaction.store_result

    def counted(self: Transaction, ticket: Ticket, result: Result) -> int | None:
        in_one[-1] += 1
        return store_result(self, ticket, result)

    def begun(self: Store, *, full: bool = False) -> AbstractContextManager[Transaction]:
        in_one.append(0)
        return begin(self, full=full)

    monkeypatch.setattr(Store, "transaction", begun)
    monkeypatch.setattr(Transaction, "store_result", counted)
    assert run(control, at_once=at_once, period=period) == 0
    assert [number for number in in_one if number] == shared
    assert history(control) == recorded(control)[0]


def history(control: Path) -> list[str]:
    """Return the ids of games in the history."""
    lines = control.with_suffix(".hist").read_text().splitlines()
    return [line.split()[1].rstrip(":") for line in lines if line.startswith("game ")]


def test_tree_log_has_a_line_for_each_of_simultaneous_results(tmp_path: Path) -> None:
    logs = []
    for at_once in (1, 5):
        folder = tmp_path / str(at_once)
        folder.mkdir()
        control = folder / "tune.ctl"
        control.write_text(ADAPTIVE + "log_tree_to_history_period = 2\n")
        assert run(control, at_once=at_once) == 0
        log = LoadedCompetition(control).paths.tree_log
        logs.append(len(log.read_text().splitlines()))
    assert logs[0] == logs[1] > 5


@pytest.mark.parametrize(("at_once", "period"), [(1, 0.0), (5, 0.0), (1, 1e9)])
@pytest.mark.parametrize("commit", range(1, 16))
def test_failing_commit_loses_and_doubles_nothing(
    control: Path, monkeypatch: pytest.MonkeyPatch, commit: int, at_once: int, period: float
) -> None:
    commits = 0
    transaction = Store.transaction

    @contextmanager
    def failing(self: Store, *, full: bool = False):  # type: ignore[no-untyped-def]
        nonlocal commits
        commits += 1
        with transaction(self, full=full) as open_transaction:
            yield open_transaction
            if commits == commit:
                raise StoreUnwritable("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "transaction", failing)
        with suppress(StoreUnwritable):
            run(control, at_once=at_once, period=period)
    assert run(control, at_once=at_once, period=period) == 0
    ids, counted = recorded(control)
    assert len(ids) == len(set(ids)) == counted == 12


@pytest.mark.parametrize("games", range(0, 12, 3))
def test_failing_function_of_the_control_file_loses_no_game(control: Path, games: int) -> None:
    if games:
        assert run(control, max_games=games) == 0
    (control.parent / "fail").touch()
    with pytest.raises(ControlFileError, match="fail exists"):
        run(control)
    (control.parent / "fail").unlink()
    assert run(control) == 0
    ids, counted = recorded(control)
    assert len(ids) == len(set(ids)) == counted == 12


def test_void_games_without_a_result_end_the_run_and_are_played_again_in_the_next(
    control: Path,
) -> None:
    with pytest.raises(CompetitionHalted, match="the first 5 games all ended by faults"):
        run(control, players=VoidPlayers())
    assert run(control) == 0
    ids, counted = recorded(control)
    assert (len(ids), counted) == (17, 12)


def test_interrupted_startup_says_so_with_the_verdict(control: Path) -> None:
    class Interrupted(Players):
        def run(self, job: Job) -> JobResult:
            signal.raise_signal(signal.SIGINT)
            return super().run(job)

    messages = Messages()
    assert run(control, players=Interrupted(), display=messages) == 3
    verdict = LoadedCompetition(control).competition.summary().verdict
    assert messages.lines[-1] == f"interrupted by SIGINT during startup: {verdict}"


def interrupted_before_a_result(control: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a store with issued games and no result."""
    with monkeypatch.context() as patch:

        def no_loop(self: Ringmaster) -> None:
            self._control.signals.received = signal.SIGINT

        patch.setattr(Ringmaster, "_loop", no_loop)
        assert run(control) == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [("start=50", "start=20"), ('"X"', '"Z"'), ("number_of_games", "seed = 5\nnumber_of_games")],
)
def test_everything_may_be_edited_before_the_first_result(
    control: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    interrupted_before_a_result(control, monkeypatch)
    control.write_text(
        SOURCE.replace(old, new).replace("candidate(X)", "candidate(**v)").replace("str(X)", "'x'")
    )
    loaded = LoadedCompetition(control)
    assert run(control) == 0
    ids, counted = recorded(control)
    assert len(ids) == len(set(ids)) == counted == 12
    store = Store.open_readonly(control.with_suffix(".status"))
    try:
        first = next(iter(store.results()))
        assert list(store.issues()) == []
    finally:
        store.close()
    job = loaded.competition.next_job()
    assert job is not None
    assert first.ticket == job.ticket


GENERATIONS = """
competition_type = "ce_tuner"
game = "chess"
players = {"opponent": Player("engine", nodes=1)}
opponent = "opponent"
candidate_colour = "w"
parameters = [Parameter("x", initial_mean=0, initial_variance=1, transform=TRANSFORM)]
def make_candidate(x):
    return Player(["engine", str(x)], nodes=1)
number_of_generations = 2
samples_per_generation = SAMPLES
batch_size = 1
elite_proportion = 0.1
step_size = 0.5
skip_player_checks = True
"""


@pytest.mark.slow
def test_finished_generation_is_stored_with_its_result(tmp_path: Path) -> None:
    """A finished generation must not be computed again under other settings."""
    control = tmp_path / "tune.ctl"
    source = GENERATIONS.replace("SAMPLES", "1500").replace("TRANSFORM", "None")
    control.write_text(source)
    generations = []

    class Watching(Players):
        def run(self, job: Job) -> JobResult:
            assert isinstance(job, GameJob)
            if job.id in ("g0#1499r0", "g1#0r0"):
                store = Store.open_readonly(control.with_suffix(".status"))
                snapshot = store.snapshot()
                store.close()
                assert snapshot is not None
                generations.append((snapshot[0], snapshot[1]["generation"]))
            return super().run(job)

    assert run(control, max_games=1501, players=Watching()) == 0
    (before, first), (after, second) = generations
    assert (first, after, second) == (0, 1500, 1)
    assert before < 1499, "a large state is not stored with every result"


def test_state_that_cannot_be_read_is_refused(control: Path) -> None:
    loaded = LoadedCompetition(control)
    store = Store.open(loaded.paths.status)
    with store.transaction() as transaction:
        transaction.save_state({"matchups": "another form"})
    with pytest.raises(ControlFileError, match="`fsck` repairs"):
        loaded.restore(store, loaded.compare(store))
    store.close()


def test_leftovers_of_an_earlier_run_are_logged(
    control: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringmaster.engines.reaper.kill_leftovers", lambda *, shared: 2)
    run(control)
    log = control.with_suffix(".log").read_text()
    assert "killed 2 processes that engines of an earlier run had left" in log


class Renamed(Players):
    """Play with another version of the engine in the third game, on another host."""

    def __init__(self) -> None:
        self.games = 0

    def run(self, job: Job) -> JobResult:
        result = super().run(job)
        if not isinstance(result, GameResult):
            return result
        self.games += 1
        usage = EngineUsage("Engine 2" if self.games == 3 else "Engine 1")
        host = Host("stale" if self.games == 3 else "right", load=0.5)
        return msgspec.structs.replace(result, usage=(usage, usage), host=host)


class OnHosts(AtOnce):
    """Has hosts that may be refused."""

    def __init__(self, players: Players) -> None:
        super().__init__(players)
        self.reasons: dict[str, str] = {}

    def refuse(self, host: Host | None, reason: str) -> bool:
        assert host is not None
        self.reasons[host.name] = reason
        return True

    def refused(self) -> list[str]:
        return [f"host {name} is not used: {reason}" for name, reason in self.reasons.items()]


def test_game_of_another_engine_is_played_again_on_another_host(control: Path) -> None:
    players = Renamed()
    assert run(control, executor=OnHosts(players)) == 0
    assert players.games == 13
    with closing(Store.open_readonly(control.with_suffix(".status"))) as store:
        assert store.counts() == (12, 0)
        assert [tally.name for tally in store.hosts()] == ["right"]
        assert [build.name for build in store.builds().values()] == ["Engine 1"]
        (reason,) = store.read_value(REFUSED_HOSTS)
    assert reason == (
        "host stale is not used: player 'e': its engine is Engine 2 now and was Engine 1, with "
        "the same files"
    )


def test_game_of_another_engine_on_this_machine_ends_the_run_and_is_played_in_the_next(
    control: Path,
) -> None:
    with pytest.raises(CompetitionHalted, match="its engine is Engine 2 now and was Engine 1"):
        run(control, players=Renamed())
    with closing(Store.open_readonly(control.with_suffix(".status"))) as store:
        assert store.counts() == (2, 0)
        assert len(store.issues()) == 1
    assert run(control) == 0


# openings that are verified while games run

PLAYOFF_OF_BOOK = """
competition_type = "playoff"
game = "chess"
players = {{"a": Player("engine", nodes=1), "b": Player("engine", nodes=1)}}
matchups = [Matchup("a", "b", openings=Openings("book.epd"{}), number_of_games=12)]
"""
BOARD = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a book of 20 lines, none of which is verified at the start."""
    monkeypatch.setattr("ringmaster.formats.openings.index.VERIFIED_AT_FIRST", 0)
    monkeypatch.setattr("ringmaster.run_control.SpareTime.PERIOD", 0.0)
    path = tmp_path / "book.epd"
    path.write_text("".join(f"{BOARD} 0 {number}\n" for number in range(1, 21)))
    return path


def test_a_fault_far_down_a_book_ends_the_run_with_its_line(control: Path, book: Path) -> None:
    control.write_text(PLAYOFF_OF_BOOK.format(""))
    text = book.read_text()
    book.write_text(text.replace(f"{BOARD} 0 18\n", "nonsense\n"))
    with pytest.raises(DataFileError, match=r"book\.epd:18: an EPD has at least 4 fields"):
        run(control)
    assert "ended: an error in the openings: " in control.with_suffix(".log").read_text()
    book.write_text(text)
    assert run(control) == 0


def completed(control: Path) -> int:
    with closing(Store.open(control.with_suffix(".status"))) as store:
        return store.counts()[0]


def test_a_bad_opening_is_never_issued(
    control: Path, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringmaster.run_control.SpareTime.SLICE", 0.0)
    control.write_text(PLAYOFF_OF_BOOK.format(""))
    text = book.read_text()
    book.write_text(text.replace(f"{BOARD} 0 3\n", "nonsense\n"))
    with pytest.raises(DataFileError, match=r"book\.epd:3: "):
        run(control)
    # two pairs of games
    assert completed(control) == 4
    # the game without an opening is not lost
    book.write_text(text)
    assert run(control) == 0
    assert completed(control) == 12


def test_bad_openings_that_are_skipped_are_told_when_all_are_verified(
    control: Path, book: Path
) -> None:
    control.write_text(PLAYOFF_OF_BOOK.format(", skip_bad=True"))
    book.write_text(book.read_text().replace(f"{BOARD} 0 18\n", "nonsense\n"))
    display = Messages()
    assert run(control, display=display) == 0
    (line,) = [line for line in display.lines if "left out" in line]
    assert "left out: 1 bad lines; the first: " in line


def test_spare_time_is_used_in_short_slices() -> None:
    seconds = 0.0
    done: list[int] = []

    def checks() -> Iterator[int]:
        nonlocal seconds
        for number in range(1, 8):
            seconds += 0.001
            done.append(number)
            yield number

    spare_time, tasks = SpareTime(clock=lambda: seconds), [checks()]
    spare_time.use(tasks)
    assert done == [1, 2]
    spare_time.use(tasks)
    assert done == [1, 2]
    seconds = 0.05
    spare_time.use(tasks)
    assert done == [1, 2, 3, 4]
    for _ in range(3):
        seconds += 0.05
        spare_time.use(tasks)
    assert done == list(range(1, 8))
    assert not tasks
