"""Run the tests of an engine: all for `check`, those of limits and options before a game."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

from ringmaster.engines.channel import Transcript
from ringmaster.engines.engine import Engine, start_timeout
from ringmaster.errors import EngineError, EngineNotStarted, EngineTimeout
from ringmaster.model.jobs import GameSettings, OptionChange
from ringmaster.model.players import Player
from ringmaster.model.results import (
    SEARCH,
    TUNED_OPTIONS,
    CheckResult,
    Finding,
    Problem,
    problems_of,
)
from ringmaster.play.compliance import check_gtp as gtp
from ringmaster.play.compliance import check_uci as uci
from ringmaster.play.compliance.effects import try_effects
from ringmaster.play.compliance.engine_check import EngineCheck, Patience, TranscriptTail

#: The searches before a first game take a second.
TRIAL = Patience(search=0.5, stop=0.4, clock=0.2, limits=0.9)
#: A margin is suggested up to this overstepping: the measured one plus room, rounded up, in ms.
NO_MARGIN, MARGIN_ROOM, MARGIN_STEP = 1000, 20, 10
#: A start that takes this part of ready_timeout calls for the measured time multiplied by a factor.
READY_PART, READY_FACTOR = 0.25, 4
MOVE_PART, MOVE_FACTOR = 0.2, 10  # the same for a move and hang_timeout
#: Options that make an engine play from its own book.
BOOKS = ("ownbook", "own book", "usebook", "usi_ownbook")

#: The name of a test, and the test.
EngineTest = tuple[str, Callable[[EngineCheck], None]]

GTP_TESTS: tuple[EngineTest, ...] = (
    ("handshake", gtp.try_handshake),
    ("moves", gtp.try_game),
    ("final_score", gtp.try_score),
    ("clock", gtp.try_clock),
    ("quit", EngineCheck.try_quit),
)
#: Limits come first: other tests search with limits that the engine obeys.
UCI_TESTS: tuple[EngineTest, ...] = (
    ("handshake", uci.try_handshake),
    ("options", uci.try_options),
    ("limits", uci.try_limits),
    ("moves", uci.try_positions),
    ("silence after bestmove", uci.try_silence),
    ("stop", uci.try_stop),
    ("quit", EngineCheck.try_quit),
)
#: Tests of a fault that does not spoil games.
HARMLESS = ("stop", "quit", TUNED_OPTIONS)


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
    check = EngineCheck(player, settings, make, TranscriptTail(transcript), patience or Patience())
    begin, name, problems = time.monotonic(), "", list[Problem]()
    whole = check.patience.whole
    tests = list(GTP_TESTS if player.protocol == "gtp" else UCI_TESTS)
    if changes:
        tests.insert(-1, (TUNED_OPTIONS, lambda check: try_effects(check, changes)))
    try:
        name = check.engine().name
        problems += check.complaints or []
        while tests and not problems and time.monotonic() < begin + check.starting + whole:
            run_test(check, tests.pop(0))
        if tests and not problems:
            names = ", ".join(name for name, _ in tests)
            check.note("skip", f"not reached in {whole:g} s: {names}", "time")
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
        tuple(suggest(check)),
        time.monotonic() - begin,
    )


def run_test(check: EngineCheck, test: EngineTest) -> None:
    """Run one test; a crash or hang is its finding."""
    check.name, run = test
    try:
        check.engine()
        run(check)
    except EngineError as error:
        check.judge(str(error), matters=check.name not in HARMLESS)
        check.drop()


def run_first_tests(
    engine: Engine,
    player: Player,
    settings: GameSettings,
    changes: Sequence[OptionChange],
    *,
    own_limits: bool,
) -> tuple[Finding, ...]:
    """Test an engine that is set up; return faults and tests that were impossible.

    own_limits  whether to test the player's limits
    changes     options whose effect is tested

    The engine needs a new game afterwards.  Raises JobAbandoned.
    """
    if player.protocol == "gtp":
        return ()

    def no_new_process() -> Engine:
        raise EngineNotStarted("it has ended", player.code)

    check = EngineCheck(player, settings, no_new_process, patience=TRIAL, is_trial=True)
    check.running, check.complaints, check.name = engine, [], SEARCH
    former, engine.channel.transcript = engine.channel.transcript, check.tail
    engine.checked_for = None
    try:
        if own_limits:
            uci.try_limits(check)
        if changes:
            check.name = TUNED_OPTIONS
            try_effects(check, changes)
    except EngineTimeout as error:
        # the searches cannot be judged; games have longer deadlines
        check.note("skip", str(error))
    except EngineError as error:
        check.judge(str(error), name=SEARCH)
    finally:
        engine.channel.transcript = former
    return tuple(finding for finding in check.findings if finding.status != "pass")


def suggest(check: EngineCheck) -> Iterator[str]:
    """Yield settings with reasons, such as "margin=0.09: it answered 63 ms after its time"."""
    over, move = check.over_ms, check.move_seconds
    start = max(check.handshake_seconds, check.setup_seconds)
    if check.margin_ms < over < NO_MARGIN:
        ms = MARGIN_STEP * math.ceil((over + MARGIN_ROOM) / MARGIN_STEP)
        yield f"margin={ms / 1000:g}: it answered {over:.0f} ms after its time"
    if start > READY_PART * start_timeout(check.settings, check.player):
        yield f"ready_timeout={math.ceil(READY_FACTOR * start)}: it took {start:.1f} s to start"
    if move > MOVE_PART * check.settings.hang_timeout:
        yield f"hang_timeout={math.ceil(MOVE_FACTOR * move)}: it took {move:.1f} s for a move"
    given = {name.casefold() for name in check.player.options}
    for name, option in check.options.items():
        if name in BOOKS and name not in given and option.default == "true":
            yield f"options={{{option.name!r}: False}}: it plays from its own book"
