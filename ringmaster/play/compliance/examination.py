"""The order of the tests, and what their outcome means for games."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ringmaster.engines.engine import Engine
from ringmaster.engines.exchange import Transcript
from ringmaster.errors import EngineError
from ringmaster.model.jobs import GameSettings, OptionChange
from ringmaster.model.players import Player
from ringmaster.model.results import TUNED_OPTIONS, Finding
from ringmaster.play.compliance import conduct, effects, go, handshake, limits, searching
from ringmaster.play.compliance.bench import Bench, Patience
from ringmaster.play.compliance.chess_probes import UCI, of_variant
from ringmaster.play.compliance.dialects import Dialect
from ringmaster.play.compliance.searchbench import SearchBench
from ringmaster.play.compliance.suggestions import suggest
from ringmaster.play.compliance.tape import Tape

AnyBench = TypeVar("AnyBench", bound=Bench)


@dataclass(frozen=True)
class Trial(Generic[AnyBench]):
    """One test.

    matters   whether a crash or a hang in it would happen in games, too
    optional  whether to leave it out when the engine takes long to start anew
    """

    name: str
    run: Callable[[AnyBench], None]
    matters: bool = True
    optional: bool = False


def search_tests(player: Player) -> tuple[Trial[SearchBench], ...]:
    """Return the tests for UCI and USI, what the player's games need first: other
    tests search with the limits that have been found to be obeyed, and an engine
    may die of a limit that it does not know."""
    control = player.time_control
    tests = (
        ("nodes", limits.try_nodes, player.nodes is not None),
        ("depth", limits.try_depth, player.depth is not None),
        ("movetime", limits.try_movetime, player.move_time is not None),
        ("clock", limits.try_clock, control is not None),
        ("clock with an increment", limits.try_increment, control and control.increment > 0),
        (
            "byo-yomi" if player.protocol == "usi" else "last move of a time control",
            limits.try_overtime,
            control and (control.overtime != "" or control.moves > 0),
        ),
    )
    used = [Trial(name, run) for name, run, is_used in tests if is_used]
    unused = [
        Trial(name, run, matters=False, optional=True)
        for name, run, is_used in tests
        if not is_used
    ]
    return (
        Trial("handshake", handshake.try_handshake),
        Trial("options", handshake.try_options),
        *used,
        Trial("its own limit", limits.try_own_limits),
        Trial("moves", searching.try_positions),
        Trial("long game", searching.try_long_game),
        Trial("new games", conduct.try_new_games),
        Trial("silence after bestmove", conduct.try_silence),
        Trial("ponder", conduct.try_ponder),
        Trial("stop", conduct.try_stop, matters=False),
        Trial("stop without a search", conduct.try_idle_stop, matters=False),
        *unused,
        Trial("the same search again", conduct.try_repeatability, matters=False),
        Trial("unknown command and empty line", conduct.try_unknown_commands, matters=False),
        Trial("memory", conduct.try_memory, matters=False),
        Trial("quit", conduct.try_quit, matters=False),
    )


GO_TESTS: tuple[Trial[Bench], ...] = (
    Trial("handshake", go.try_handshake),
    Trial("commands", go.try_commands, matters=False),
    Trial("moves", go.try_game),
    Trial("new games", go.try_new_games),
    Trial("final_score", go.try_score),
    Trial("unknown command", go.try_unknown_command, matters=False),
    Trial("syntax", go.try_syntax, matters=False),
    Trial("board size 1000", go.try_board_size, matters=False),
    Trial("clock", go.try_clock, matters=False, optional=True),
    Trial("quit", go.try_quit, matters=False),
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
    changes: Sequence[OptionChange] = (),
    patience: Patience | None = None,
) -> Examined:
    """Put a player's engine through all tests of its protocol.

    make  returns an engine that has not been launched; called again after each
          failure
    changes  options that are tuned, to test if they have an effect

    What the engine does wrong is a finding.  Raises JobAbandoned.
    """
    patience = patience or Patience()
    tape = Tape(transcript)
    if player.protocol == "gtp":
        bench = Bench(player, settings, make, tape, patience)
        return _examine(bench, GO_TESTS)
    dialect = dialect_of(player, settings)
    tests = search_tests(player)
    if changes:
        of_effect = Trial[SearchBench](
            TUNED_OPTIONS, lambda bench: effects.try_effects(bench, changes), matters=False
        )
        tests = (*tests[:-1], of_effect, tests[-1])
    return _examine(SearchBench(player, settings, make, tape, patience, dialect), tests)


def dialect_of(player: Player, settings: GameSettings) -> Dialect:
    """Return the protocol's words and the positions for a player's game."""
    if player.protocol == "usi":
        # the rules of shogi are loaded by those who play it
        from ringmaster.play.compliance.shogi_probes import USI

        return USI
    return UCI if settings.variant == "standard" else of_variant(settings.variant)


def _examine(bench: AnyBench, tests: tuple[Trial[AnyBench], ...]) -> Examined:
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


def _run(bench: AnyBench, tests: tuple[Trial[AnyBench], ...], start: float) -> None:
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
