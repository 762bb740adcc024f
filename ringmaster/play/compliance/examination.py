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
from ringmaster.model.players import THREADS, Player
from ringmaster.model.results import TUNED_OPTIONS, CheckResult, Problem, problems_of
from ringmaster.model.time_control import TimeControl
from ringmaster.play.compliance import check_gtp as gtp
from ringmaster.play.compliance import check_uci as uci
from ringmaster.play.compliance.engine_check import EngineCheck, Patience, TranscriptTail
from ringmaster.play.compliance.first_tests import try_effects
from ringmaster.play.compliance.positions import dialect_of

#: A margin is suggested up to this overstepping: the measured one plus room, rounded up, in ms.
NO_MARGIN, MARGIN_ROOM, MARGIN_STEP = 1000, 20, 10
#: A start that takes this part of ready_timeout calls for the measured time multiplied by a factor.
READY_PART, READY_FACTOR = 0.25, 4
MOVE_PART, MOVE_FACTOR = 0.2, 10  # the same for a move and hang_timeout
#: Options that make an engine play from its own book.
BOOKS = ("ownbook", "own book", "usebook", "usi_ownbook")
LONG_START = 1.0  # A GTP engine that takes more seconds to start should keep its process


class EngineTest(NamedTuple):
    """One test.

    matters   whether games depend on it: a crash or hang would happen in games, too
    optional  whether to leave it out when the engine takes long to start again
    """

    name: str
    run: Callable[[EngineCheck], None]
    matters: bool = True
    optional: bool = False


GO_TESTS = (
    EngineTest("handshake", gtp.try_handshake),
    EngineTest("commands", gtp.try_commands, False),
    EngineTest("moves", gtp.try_game),
    EngineTest("new games", uci.try_new_games),
    EngineTest("final_score", gtp.try_score),
    EngineTest("unknown command", gtp.try_unknown_command, False),
    EngineTest("syntax", gtp.try_syntax, False),
    EngineTest("board size 1000", gtp.try_board_size, False),
    EngineTest("clock", gtp.try_clock, False, optional=True),
    EngineTest("quit", gtp.try_quit, False),
)


def list_tests(player: Player, changes: Sequence[OptionChange]) -> tuple[EngineTest, ...]:
    """Return the tests of a player's engine, over UCI and USI the limits of its games first.

    Other tests search with limits that the engine obeys, and an engine may crash on a limit that
    it does not know.
    """
    if player.protocol == "gtp":
        return GO_TESTS
    control = player.time_control or TimeControl(0)
    overtime = "byo-yomi" if player.protocol == "usi" else "last move of a time control"
    limits = (
        EngineTest("nodes", uci.try_count, player.nodes is not None),
        EngineTest("depth", uci.try_count, player.depth is not None),
        EngineTest("movetime", uci.try_movetime, player.move_time is not None),
        # with byo-yomi alone, both clocks are at 0
        EngineTest("clock", uci.try_clock, control.base > 0),
        EngineTest("clock with an increment", uci.try_increment, control.increment > 0),
        EngineTest(overtime, uci.try_overtime, bool(control.overtime or control.moves)),
    )
    effects = EngineTest(TUNED_OPTIONS, lambda check: try_effects(check, changes), False)
    return (
        EngineTest("handshake", uci.try_handshake),
        EngineTest("options", uci.try_options),
        *(test for test in limits if test.matters),
        EngineTest("its own limit", uci.try_own_limits),
        EngineTest("moves", uci.try_positions),
        EngineTest("long game", uci.try_long_game),
        EngineTest("new games", uci.try_new_games),
        EngineTest("silence after bestmove", uci.try_silence),
        EngineTest("ponder", uci.try_ponder),
        EngineTest("stop", uci.try_stop, False),
        EngineTest("stop without a search", uci.try_idle_stop, False),
        *(test._replace(optional=True) for test in limits if not test.matters),
        EngineTest("the same search again", uci.try_repeatability, False),
        EngineTest("unknown command and empty line", uci.try_unknown_commands, False),
        EngineTest("memory", uci.try_memory, False),
        *([effects] if changes else []),
        EngineTest("quit", uci.try_quit, False),
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
    dialect, tail = dialect_of(player, settings), TranscriptTail(transcript)
    check = EngineCheck(player, settings, make, tail, patience or Patience(), dialect)
    start = time.monotonic()
    name, problems = "", list[Problem]()
    try:
        name = check.engine().name
        problems += check.complaints or []
        tests = [] if problems else list(list_tests(player, changes))
        while tests and time.monotonic() - start - check.starting <= check.patience.whole:
            run_test(check, tests.pop(0))
        if tests:
            names = ", ".join(test.name for test in tests)
            check.note("skip", f"not reached in {check.patience.whole:g} s: {names}", "time")
    except EngineError as error:
        problems += problems_of(error)
    finally:
        check.drop(patience=1.0)
    problems += [Problem(f"{f.name}: {f.detail}") for f in check.findings if f.status == "fail"]
    return CheckResult(
        check_id,
        player.code,
        name,
        tuple(problems),
        tuple(check.stderr),
        tuple(check.findings),
        tuple(suggest(check)) if name or check.findings else (),
        time.monotonic() - start,
    )


def run_test(check: EngineCheck, test: EngineTest) -> None:
    """Run one test; a crash or hang is its finding."""
    check.name, check.matters = test.name, test.matters
    if test.optional and check.starting > check.patience.starts:
        check.note("skip", f"all starts took {check.starting:.0f} s")
        return
    try:
        check.engine()
        test.run(check)
    except EngineError as error:
        check.judge(str(error), matters=test.matters)
        check.drop()


def suggest(check: EngineCheck) -> Iterator[str]:
    """Yield settings with reasons, such as "margin=0.09: it answered 63 ms after its time"."""
    player, over, start = (
        check.player,
        check.over,
        max(check.handshake_seconds, check.setup_seconds),
    )
    if check.margin_ms < over < NO_MARGIN:
        ms = MARGIN_STEP * math.ceil((over + MARGIN_ROOM) / MARGIN_STEP)
        names = [o.name for o in check.options.values() if "overhead" in o.name.casefold()]
        overhead = f", or a higher option {names[0]!r}" if names else ""
        busy = " (on a busy machine)" if check.is_busy else ""
        yield f"margin={ms / 1000:g}{overhead}: it answered {over:.0f} ms after its time{busy}"
    if start > READY_PART * start_timeout(check.settings, player):
        yield f"ready_timeout={math.ceil(READY_FACTOR * start)}: it took {start:.1f} s to start"
    move = check.move_seconds
    if move > MOVE_PART * check.settings.hang_timeout:
        yield f"hang_timeout={math.ceil(MOVE_FACTOR * move)}: it took {move:.1f} s for a move"
    if player.keeps_process:
        if check.needs_restart:
            yield 'restart="on": it broke down after other games, but not in a new process'
        elif check.grows:
            yield 'restart="on": its memory grows from game to game'
        elif not check.is_repeatable:
            yield 'restart="on" for repeatable games: its answers depend on earlier games'
    elif player.protocol == "gtp" and check.handshake_seconds > LONG_START:
        yield f'restart="off": it takes {check.handshake_seconds:.1f} s to start for each game'
    given = {name.casefold() for name in player.options}
    for name, option in check.options.items():
        default = option.default
        if name in given:
            continue
        if name == check.dialect.options[0].casefold():
            yield f"options={{{option.name!r}: …}}: not set, its default is {default} MB"
        elif name in THREADS and default not in ("0", "1"):
            yield f"options={{{option.name!r}: 1}}: not set, it uses {default} threads"
        elif name in BOOKS and default == "true":
            yield f"options={{{option.name!r}: False}}: it plays from its own book"
