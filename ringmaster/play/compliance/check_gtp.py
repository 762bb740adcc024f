"""Test Go engines over GTP."""

from __future__ import annotations

import time

from ringmaster.engines.engine import Limits
from ringmaster.engines.gtp import GtpEngine
from ringmaster.errors import EngineRefused, IllegalMove
from ringmaster.games.clean_text import one_line
from ringmaster.games.go import format_vertex
from ringmaster.games.go_rules import new_go_game
from ringmaster.play.compliance.engine_check import EngineCheck
from ringmaster.play.go_referee import FinalScore

PLIES, GAME_SECONDS = 16, 4.0  # plies of the engine's game against itself, and seconds for it
CLOCK_SECONDS = 2  # seconds on the clock of the clock test


def _engine(check: EngineCheck) -> GtpEngine:
    engine = check.engine()
    assert isinstance(engine, GtpEngine)
    return engine


def try_handshake(check: EngineCheck) -> None:
    """Report remarks of the start, such as on an engine that takes one command at a time."""
    remarks = "; ".join(_engine(check).remarks)
    check.judge(remarks, f"{1000 * check.handshake_seconds:.0f} ms after its start", exchange=())
    check.note("pass", f"in {1000 * check.setup_seconds:.0f} ms", "ready for a game")


def try_game(check: EngineCheck) -> None:
    """Test a short game of the engine against itself: legal moves, its own moves on its board."""
    engine, rules, start = _engine(check), check.settings, time.monotonic()
    check.new_game()
    game = new_go_game(rules.board_size, (), 0, ko_rule=rules.ko_rule, suicide=rules.suicide)
    while len(game.moves) < PLIES and time.monotonic() - start < GAME_SECONDS:
        thought = engine.think(game.to_move, Limits(seconds=check.settings.hang_timeout))
        check.move_seconds = max(check.move_seconds, thought.elapsed_ns / 1e9)
        if thought.kind != "move":
            break
        try:
            game.play(thought.move)
        except IllegalMove as error:
            fault = f"move {len(game.moves) + 1}, {error.move!r}: {error.reason}"
            check.judge(fault, matters=True)
            return
        if game.ending() is not None:
            break
    slowest = f"at most {check.move_seconds:.2f} s a move"
    check.note("pass", f"legal in a game of {len(game.moves)} moves, {slowest}")
    check.judge_silence("silence after a move", matters=True)


def try_score(check: EngineCheck) -> None:
    """Test final_score on a board with a wall in the middle, where the games need it."""
    engine, size = _engine(check), check.settings.board_size
    if check.settings.scorer != "players" or not check.player.is_reliable_scorer:
        return
    if not engine.knows("final_score"):
        check.judge("it has none: the opponent scores the games", exchange=())
        return
    wall = [(column, row) for row in range(size) for column in (size // 2 - 1, size // 2)]
    check.new_game(*map(format_vertex, wall), "pass", "pass")
    try:
        score = engine.command("final_score")
    except EngineRefused as refusal:
        check.judge(f"refused: {refusal}")
        return
    fault = "" if FinalScore.read(score) else f"{score[:40]!r} is no score such as B+3.5"
    check.judge(fault, one_line(score, 40), matters=True)


def try_clock(check: EngineCheck) -> None:
    """Test a move with two seconds left, for players with a clock."""
    engine = _engine(check)
    if check.player.time_control is None:
        return
    if not engine.knows("time_settings") or not engine.knows("time_left"):
        check.note("skip", "it has no time_settings or no time_left")
        return
    check.new_game()
    engine.require("time_settings", str(CLOCK_SECONDS), "0", "0")
    engine.require("time_left", "b", str(CLOCK_SECONDS), "0")
    thought = engine.think(0, Limits(seconds=CLOCK_SECONDS + check.patience.search))
    check.over_ms = thought.elapsed_ns / 1e6 - 1000 * CLOCK_SECONDS
    fault = f"answered {check.over_ms:.0f} ms after its clock of {CLOCK_SECONDS} s had run out"
    detail = f"used {thought.elapsed_ns / 1e9:.2f} of {CLOCK_SECONDS} s"
    is_late = check.over_ms > check.margin_ms
    check.judge(fault if is_late else "", detail, matters=True, is_late=True)
    # GTP has no command that turns a clock off
    check.drop()
