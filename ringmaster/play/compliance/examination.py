"""The order of the tests, and what their outcome means for games."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ringmaster.engines.channel import Transcript
from ringmaster.engines.engine import Engine
from ringmaster.errors import EngineError
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import Finding
from ringmaster.play.compliance import conduct, go, handshake, limits, searching
from ringmaster.play.compliance.bench import Bench, Patience
from ringmaster.play.compliance.chess_probes import UCI, of_variant
from ringmaster.play.compliance.dialects import Dialect
from ringmaster.play.compliance.searchbench import SearchBench
from ringmaster.play.compliance.suggestions import suggest
from ringmaster.play.compliance.tape import Tape

AnyBench = TypeVar("AnyBench", bound=Bench)


@dataclass(frozen=True)
class Test(Generic[AnyBench]):
    """One test.

    matters   whether a crash or a hang in it would happen in games, too
    optional  whether to leave it out when the engine takes long to start anew
    """

    name: str
    run: Callable[[AnyBench], None]
    matters: bool = True
    optional: bool = False


def search_tests(player: Player) -> tuple[Test[SearchBench], ...]:
    """Return the tests for UCI and USI, what the player's games need first: other
    tests search with the limits that have been found to be obeyed, and an engine
    may die of a limit that it does not know."""
    control = player.time_control
    tests = (
        ("nodes", limits.test_nodes, player.nodes is not None),
        ("depth", limits.test_depth, player.depth is not None),
        ("movetime", limits.test_movetime, player.move_time is not None),
        ("clock", limits.test_clock, control is not None),
        ("clock with an increment", limits.test_increment, control and control.increment > 0),
        (
            "byo-yomi" if player.protocol == "usi" else "last move of a time control",
            limits.test_overtime,
            control and (control.overtime != "" or control.moves > 0),
        ),
    )
    used = [Test(name, run) for name, run, is_used in tests if is_used]
    unused = [
        Test(name, run, matters=False, optional=True) for name, run, is_used in tests if not is_used
    ]
    return (
        Test("handshake", handshake.test_handshake),
        Test("options", handshake.test_options),
        *used,
        Test("its own limit", limits.test_own_limits),
        Test("moves", searching.test_positions),
        Test("long game", searching.test_long_game),
        Test("new games", conduct.test_new_games),
        Test("silence after bestmove", conduct.test_silence),
        Test("ponder", conduct.test_ponder),
        Test("stop", conduct.test_stop, matters=False),
        Test("stop without a search", conduct.test_idle_stop, matters=False),
        *unused,
        Test("the same search again", conduct.test_repeatability, matters=False),
        Test("unknown command and empty line", conduct.test_unknown_commands, matters=False),
        Test("memory", conduct.test_memory, matters=False),
        Test("quit", conduct.test_quit, matters=False),
    )


GO_TESTS: tuple[Test[Bench], ...] = (
    Test("handshake", go.test_handshake),
    Test("commands", go.test_commands, matters=False),
    Test("moves", go.test_game),
    Test("new games", go.test_new_games),
    Test("final_score", go.test_score),
    Test("unknown command", go.test_unknown_command, matters=False),
    Test("syntax", go.test_syntax, matters=False),
    Test("board size 1000", go.test_board_size, matters=False),
    Test("clock", go.test_clock, matters=False, optional=True),
    Test("quit", go.test_quit, matters=False),
)


@dataclass(frozen=True)
class Examined:
    """What came of an examination.

    problems  what keeps games from being played: of the start, and of every
              finding that is a "fail"
    """

    name: str
    problems: tuple[str, ...]
    findings: tuple[Finding, ...]
    suggestions: tuple[str, ...]
    stderr: tuple[str, ...]
    seconds: float


def examine(
    player: Player,
    settings: GameSettings,
    make: Callable[[], Engine],
    *,
    transcript: Transcript | None = None,
    patience: Patience | None = None,
) -> Examined:
    """Put a player's engine through all tests of its protocol.

    make  returns an engine that has not been launched; called again after each
          failure

    What the engine does wrong is a finding.  Raises JobAbandoned.
    """
    patience = patience or Patience()
    tape = Tape(transcript)
    if player.protocol == "gtp":
        bench = Bench(player, settings, make, tape, patience)
        return _examine(bench, GO_TESTS)
    dialect = dialect_of(player, settings)
    return _examine(
        SearchBench(player, settings, make, tape, patience, dialect), search_tests(player)
    )


def dialect_of(player: Player, settings: GameSettings) -> Dialect:
    """Return the protocol's words and the positions for a player's game."""
    if player.protocol == "usi":
        # the rules of shogi are loaded by those who play it
        from ringmaster.play.compliance.shogi_probes import USI

        return USI
    return UCI if settings.variant == "standard" else of_variant(settings.variant)


def _examine(bench: AnyBench, tests: tuple[Test[AnyBench], ...]) -> Examined:
    start = bench.clock()
    name = ""
    try:
        try:
            name = bench.engine().name
            problems = list(bench.complaints)
        except EngineError as error:
            problems = [str(error)]
        if not problems:
            _run(bench, tests, start)
    finally:
        bench.drop(patience=1.0)
    problems += [f"{f.name}: {f.detail}" for f in bench.findings if f.status == "fail"]
    return Examined(
        name,
        tuple(problems),
        tuple(bench.findings),
        tuple(suggest(bench)) if name or bench.findings else (),
        tuple(bench.stderr),
        bench.clock() - start,
    )


def _run(bench: AnyBench, tests: tuple[Test[AnyBench], ...], start: float) -> None:
    for number, test in enumerate(tests):
        # an engine may take long to start, and has been given that time
        if bench.clock() - start - bench.starting > bench.patience.whole:
            left = ", ".join(t.name for t in tests[number:])
            bench.skipped("time", f"not reached in {bench.patience.whole:g} s: {left}")
            return
        if test.optional and bench.starting > bench.patience.starts:
            bench.skipped(
                test.name, f"it has taken {bench.starting:.0f} s to start again and again"
            )
            continue
        try:
            bench.engine()
            test.run(bench)
        except EngineError as error:
            bench.failed(test.name, str(error), matters=test.matters)
            bench.drop()
