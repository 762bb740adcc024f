"""Run all tests of an engine in order, and suggest settings."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ringmaster.engines.channel import Transcript
from ringmaster.engines.engine import Engine, start_timeout
from ringmaster.errors import EngineError
from ringmaster.model.jobs import GameSettings, OptionChange
from ringmaster.model.players import Player
from ringmaster.model.results import TUNED_OPTIONS, CheckResult, Problem, problems_of
from ringmaster.play.compliance import check_gtp, check_moves, check_uci
from ringmaster.play.compliance.check_uci import THREADS
from ringmaster.play.compliance.engine_check import EngineCheck, Patience, TranscriptTail
from ringmaster.play.compliance.first_tests import try_effects
from ringmaster.play.compliance.positions import dialect_of

#: Overstepping by more than this (ms) is no matter of margin.
NO_MARGIN = 1000
#: A suggested margin is the measured overstepping plus this room, rounded up to a step, in ms.
MARGIN_ROOM, MARGIN_STEP = 20, 10
#: A start that takes this part of ready_timeout calls for the measured time multiplied by a factor.
READY_PART, READY_FACTOR = 0.25, 4
#: The same for a move and hang_timeout.
MOVE_PART, MOVE_FACTOR = 0.2, 10
#: Options that make an engine play from its own book.
BOOKS = ("ownbook", "own book", "usebook", "usi_ownbook")
#: A GTP engine that takes more seconds to start should keep its process.
LONG_START = 1.0


class EngineTest(NamedTuple):
    """One test.

    matters   whether its crash or hang would happen in games, too
    optional  whether to leave it out when the engine takes long to start again
    """

    name: str
    run: Callable[[EngineCheck], None]
    matters: bool = True
    optional: bool = False


GO_TESTS = (
    EngineTest("handshake", check_gtp.try_handshake),
    EngineTest("commands", check_gtp.try_commands, matters=False),
    EngineTest("moves", check_gtp.try_game),
    EngineTest("new games", check_gtp.try_new_games),
    EngineTest("final_score", check_gtp.try_score),
    EngineTest("unknown command", check_gtp.try_unknown_command, matters=False),
    EngineTest("syntax", check_gtp.try_syntax, matters=False),
    EngineTest("board size 1000", check_gtp.try_board_size, matters=False),
    EngineTest("clock", check_gtp.try_clock, matters=False, optional=True),
    EngineTest("quit", check_gtp.try_quit, matters=False),
)


def search_tests(player: Player) -> tuple[EngineTest, ...]:
    """Return the tests for UCI and USI, the limits of the player's games first.

    Other tests search with limits that the engine obeys, and an engine may crash on a limit that
    it does not know.
    """
    control = player.time_control
    overtime = "byo-yomi" if player.protocol == "usi" else "last move of a time control"
    limits = (
        ("nodes", check_uci.try_nodes, player.nodes is not None),
        ("depth", check_uci.try_depth, player.depth is not None),
        ("movetime", check_uci.try_movetime, player.move_time is not None),
        ("clock", check_uci.try_clock, control is not None),
        ("clock with an increment", check_uci.try_increment, control and control.increment > 0),
        (overtime, check_uci.try_overtime, control and (control.overtime or control.moves)),
    )
    return (
        EngineTest("handshake", check_uci.try_handshake),
        EngineTest("options", check_uci.try_options),
        *(EngineTest(name, run) for name, run, is_used in limits if is_used),
        EngineTest("its own limit", check_uci.try_own_limits),
        EngineTest("moves", check_moves.try_positions),
        EngineTest("long game", check_moves.try_long_game),
        EngineTest("new games", check_uci.try_new_games),
        EngineTest("silence after bestmove", check_uci.try_silence),
        EngineTest("ponder", check_uci.try_ponder),
        EngineTest("stop", check_uci.try_stop, matters=False),
        EngineTest("stop without a search", check_uci.try_idle_stop, matters=False),
        *(EngineTest(name, run, False, True) for name, run, is_used in limits if not is_used),
        EngineTest("the same search again", check_uci.try_repeatability, matters=False),
        EngineTest("unknown command and empty line", check_uci.try_unknown_commands, matters=False),
        EngineTest("memory", check_uci.try_memory, matters=False),
        EngineTest("quit", check_uci.try_quit, matters=False),
    )


def examine(
    player: Player,
    settings: GameSettings,
    make: Callable[[], Engine],
    *,
    check_id: str = "",
    transcript: Transcript | None = None,
    changes: Sequence[OptionChange] = (),
    patience: Patience | None = None,
) -> CheckResult:
    """Run all tests of a player's engine; its faults are findings.  Raises JobAbandoned.

    make     returns an engine that has not been launched; called again after each failure
    changes  tuned options whose effect is tested
    """
    dialect = dialect_of(player, settings)
    tail = TranscriptTail(transcript)
    check = EngineCheck(player, settings, make, tail, patience or Patience(), dialect)
    tests = GO_TESTS if player.protocol == "gtp" else search_tests(player)
    if changes and player.protocol != "gtp":
        effects = EngineTest(
            TUNED_OPTIONS, lambda check: try_effects(check, changes), matters=False
        )
        tests = (*tests[:-1], effects, tests[-1])
    start = time.monotonic()
    name = ""
    try:
        try:
            name = check.engine().name
            problems = list(check.complaints)
        except EngineError as error:
            problems = problems_of(error)
        if not problems:
            _run(check, tests, start)
    finally:
        check.drop(patience=1.0)
    failures = [finding for finding in check.findings if finding.status == "fail"]
    return CheckResult(
        check_id,
        player.code,
        name,
        (*problems, *(Problem(f"{f.name}: {f.detail}") for f in failures)),
        tuple(check.stderr),
        tuple(check.findings),
        tuple(suggest(check)) if name or check.findings else (),
        time.monotonic() - start,
    )


def _run(check: EngineCheck, tests: tuple[EngineTest, ...], start: float) -> None:
    patience = check.patience
    for number, test in enumerate(tests):
        if time.monotonic() - start - check.starting > patience.whole:
            names = ", ".join(test.name for test in tests[number:])
            check.skipped("time", f"not reached in {patience.whole:g} s: {names}")
            return
        if test.optional and check.starting > patience.starts:
            check.skipped(test.name, f"all starts took {check.starting:.0f} s")
            continue
        try:
            check.engine()
            test.run(check)
        except EngineError as error:
            check.failed(test.name, str(error), matters=test.matters)
            check.drop()


# suggestions


def suggest(check: EngineCheck) -> list[str]:
    """Return settings with reasons, such as "margin=0.09: it answered 63 ms after its time"."""
    return [*_margin(check), *_timeouts(check), *_restart(check), *_options(check)]


def _margin(check: EngineCheck) -> Iterator[str]:
    player = check.player
    limits = {"clock": player.time_control, "movetime": player.move_time}
    over = max(
        (check.overstep.get(kind, 0.0) for kind, limit in limits.items() if limit is not None),
        default=0.0,
    )
    if check.margin_ms < over < NO_MARGIN:
        ms = MARGIN_STEP * math.ceil((over + MARGIN_ROOM) / MARGIN_STEP)
        names = [o.name for o in check.options.values() if "overhead" in o.name.casefold()]
        overhead = f", or a higher option {names[0]!r}" if names else ""
        busy = " (on a busy machine)" if check.is_busy else ""
        yield f"margin={ms / 1000:g}{overhead}: it answered {over:.0f} ms after its time{busy}"


def _timeouts(check: EngineCheck) -> Iterator[str]:
    start = max(check.handshake_seconds, check.setup_seconds)
    if start > READY_PART * start_timeout(check.settings, check.player):
        seconds = math.ceil(READY_FACTOR * start)
        yield f"ready_timeout={seconds}: it took {start:.1f} s to start"
    if check.move_seconds > MOVE_PART * check.settings.hang_timeout:
        seconds = math.ceil(MOVE_FACTOR * check.move_seconds)
        yield f"hang_timeout={seconds}: it took {check.move_seconds:.1f} s for a move"


def _restart(check: EngineCheck) -> Iterator[str]:
    if check.player.keeps_process:
        if check.needs_restart:
            yield 'restart="on": it broke down after other games, but not in a new process'
        elif check.grows:
            yield 'restart="on": its memory grows from game to game'
        elif not check.is_repeatable:
            yield 'restart="on" for repeatable games: its answers depend on earlier games'
    elif check.player.protocol == "gtp" and check.handshake_seconds > LONG_START:
        yield f'restart="off": it takes {check.handshake_seconds:.1f} s to start for each game'


def _options(check: EngineCheck) -> Iterator[str]:
    given = {name.casefold() for name in check.player.options}
    options = {name: option for name, option in check.options.items() if name not in given}
    memory = options.get(check.dialect.memory.casefold())
    if memory is not None:
        yield f"options={{{memory.name!r}: …}}: not set, its default is {memory.default} MB"
    for name in THREADS:
        option = options.get(name)
        if option is not None and option.default not in ("0", "1"):
            yield f"options={{{option.name!r}: 1}}: not set, it uses {option.default} threads"
    for name in BOOKS:
        option = options.get(name)
        if option is not None and option.default == "true":
            yield f"options={{{option.name!r}: False}}: it plays from its own book"
