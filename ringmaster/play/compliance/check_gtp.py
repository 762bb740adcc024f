"""Test Go engines over GTP."""

from __future__ import annotations

import time

from ringmaster.engines.engine import Limits
from ringmaster.engines.gtp import GtpEngine
from ringmaster.errors import EngineRefused, IllegalMove
from ringmaster.games.clean_text import one_line
from ringmaster.games.go import format_vertex
from ringmaster.games.go_rules import new_go_game
from ringmaster.play.compliance.check_uci import NONSENSE, judge_end
from ringmaster.play.compliance.engine_check import Dialogue, EngineCheck, Lines
from ringmaster.play.go_referee import FinalScore

PLIES, GAME_SECONDS = 16, 4.0  # plies of the engine's game against itself, and seconds for it
CLOCK_SECONDS = 2  # seconds on the clock of the clock test
#: Commands that GTP requires, and those that list_commands and known_command are compared for.
REQUIRED = ("known_command", "name", "version", "quit")
COMPARED = ("play", "genmove", "boardsize", "clear_board", "komi", "final_score")


def _engine(check: EngineCheck) -> GtpEngine:
    engine = check.engine()
    assert isinstance(engine, GtpEngine)
    return engine


def _is_refused(check: EngineCheck, name: str, fault: str, *command: str) -> bool:
    """Record whether a command is refused; `fault` is the warning if it is not."""
    try:
        answer = one_line(_engine(check).command(*command), 60)
    except EngineRefused as refusal:
        check.note("pass", f"refused: {one_line(str(refusal), 60)}", name)
        return True
    check.judge(fault.format(answer=answer), name=name)
    return False


def try_handshake(check: EngineCheck) -> None:
    """Test two commands in one write."""
    ms = 1000 * check.handshake_seconds
    check.note("pass", f"protocol version 2, {ms:.0f} ms after its start")
    check.note("pass", f"in {1000 * check.setup_seconds:.0f} ms", "ready for a game")
    fault = (
        "it takes one command at a time: of two commands in one write, it answered only the "
        "first; ringmaster now waits for each answer, which takes longer"
    )
    fault = fault if _engine(check).takes_one_command else ""
    detail = "two commands in one write are both answered"
    check.judge(fault, detail, "commands together", exchange=())


def try_commands(check: EngineCheck) -> None:
    """Test that list_commands and known_command agree."""
    engine, command = _engine(check), "list_commands"
    listed = list[str]()
    faults: list[tuple[str, Lines]] = []

    def add(fault: str) -> None:
        faults.append((fault, check.tail.evidence()))

    try:
        listed = engine.command(command).split()
        missing = ", ".join(name for name in REQUIRED if name not in listed)
        if missing:
            add(f"list_commands lacks {missing}, which GTP requires")
        command = "known_command"
        for name in (name for name in COMPARED if name in listed):
            if engine.command(command, name).lower() != "true":
                add(f"it lists {name!r}, but known_command denies it")
        if engine.command(command, NONSENSE).lower() != "false":
            add("known_command does not answer false for an unknown command")
    except EngineRefused as refusal:
        add(f"it has no {command}, which GTP requires: {refusal}")
    check.judge_all(faults, f"{len(listed)} listed, known_command agrees")


def try_unknown_command(check: EngineCheck) -> None:
    fault = "it answers '= {answer}' to an unknown command"
    _is_refused(check, check.name, fault, NONSENSE)


def try_syntax(check: EngineCheck) -> None:
    """Test blank lines, comments and ids (GTP 2, 2.2, 2.5)."""
    request = "\n  \n# a comment\n7 protocol_version # another\n"
    response = check.converse(Dialogue(request, b"=", b"?"), check.patience.search).last
    check.unexpected_lines()
    fault = f"'7 protocol_version' is answered by {response!r}, not =7 …"
    check.judge("" if response.startswith("=7") else fault, "blank lines, comments, ids")


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
    vertices = [move for move in game.moves if move != "pass"]
    if vertices:
        fault = f"it takes a stone at {vertices[-1]}, an occupied point"
        _is_refused(check, "illegal moves are refused", fault, "play", "b", vertices[-1])
    lines = check.unexpected_lines()
    fault = f"the engine also prints {lines[0]!r}" if lines else ""
    check.judge(fault, name="silence after a move", matters=True)


def try_score(check: EngineCheck) -> None:
    """Test final_score on a board with a wall in the middle."""
    engine, settings, size = _engine(check), check.settings, check.settings.board_size
    matters = settings.scorer == "players" and check.player.is_reliable_scorer
    if not engine.knows("final_score"):
        if matters:
            check.judge("it has none: the opponent scores the games", exchange=())
        else:
            check.note("skip", "it has none")
        return
    wall = [(column, row) for row in range(size) for column in (size // 2 - 1, size // 2)]
    check.new_game(*map(format_vertex, wall), "pass", "pass")
    try:
        score = engine.command("final_score")
    except EngineRefused as refusal:
        check.judge(f"refused: {refusal}")
        return
    fault = "" if FinalScore.read(score) else f"{score[:40]!r} is no score such as B+3.5"
    check.judge(fault, one_line(score, 40), matters=matters)


def try_board_size(check: EngineCheck) -> None:
    """Test that an impossible size is refused (GTP 2, 6.3.1)."""
    if not _is_refused(check, check.name, "accepted", "boardsize", "1000"):
        # the state of the engine is unknown now
        check.drop()


def try_clock(check: EngineCheck) -> None:
    """Test a move with two seconds left, where the engine knows time_left."""
    engine = _engine(check)
    if not engine.knows("time_settings") or not engine.knows("time_left"):
        check.note("skip", "it has no time_settings or no time_left")
        return
    check.new_game()
    engine.require("time_settings", str(CLOCK_SECONDS), "0", "0")
    engine.require("time_left", "b", str(CLOCK_SECONDS), "0")
    thought = engine.think(0, Limits(seconds=CLOCK_SECONDS + check.patience.search))
    over = thought.elapsed_ns / 1e6 - 1000 * CLOCK_SECONDS
    check.over = max(0.0, over)
    fault = f"answered {over:.0f} ms after its clock of {CLOCK_SECONDS} s had run out"
    detail = f"used {thought.elapsed_ns / 1e9:.2f} of {CLOCK_SECONDS} s"
    matters = check.player.time_control is not None
    check.judge(fault if over > check.margin_ms else "", detail, matters=matters, is_late=True)
    # GTP has no command that turns a clock off
    check.drop()


def try_quit(check: EngineCheck) -> None:
    quit = check.converse(Dialogue("quit\n", b"=", b"?"), check.patience.quit)
    fault = "" if quit.last.startswith("=") else f"answered by {quit.last!r}"
    judge_end(check, check.name, fault)
