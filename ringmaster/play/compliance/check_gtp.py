"""Test Go engines over GTP."""

from __future__ import annotations

import re
import time

from ringmaster.engines.engine import Limits
from ringmaster.engines.gtp import GtpEngine
from ringmaster.errors import EngineRefused, IllegalMove
from ringmaster.games.clean_text import one_line
from ringmaster.games.go import GoGame, format_vertex
from ringmaster.games.go_rules import new_go_game
from ringmaster.play.compliance.check_uci import NEW_GAMES, NONSENSE
from ringmaster.play.compliance.engine_check import Dialogue, EngineCheck

#: Plies of the engine's game against itself, and seconds for it.
PLIES, GAME_SECONDS = 16, 4.0
#: Seconds on the clock of the clock test.
CLOCK_SECONDS = 2

_SCORE = re.compile(r"[BWbw]\+(?:\d+(?:\.\d*)?|R|Resign|r|resign|)|0(?:\.0)?|[Dd]raw|[Jj]igo")


def _engine(check: EngineCheck) -> GtpEngine:
    engine = check.engine()
    assert isinstance(engine, GtpEngine)
    return engine


def _response(check: EngineCheck, request: bytes, seconds: float) -> str:
    """Send raw lines; return the first line of the response."""

    def is_response(line: bytes) -> bool:
        return line[:1] in (b"=", b"?")

    def ends(line: bytes) -> bool:
        return not line.strip() and any(map(is_response, dialogue.lines))

    dialogue = Dialogue(request, ends)
    check.converse(dialogue, seconds)
    return next(text for text in dialogue.texts() if text.startswith(("=", "?")))


def _new_game(check: EngineCheck) -> GoGame:
    """Begin a game as in a match; return it by the rules."""
    settings = check.settings
    _engine(check).require("boardsize", str(settings.board_size))
    _engine(check).require("clear_board")
    return new_go_game(
        settings.board_size, (), 0, ko_rule=settings.ko_rule, suicide=settings.suicide
    )


def try_handshake(check: EngineCheck) -> None:
    """Test two commands in one write."""
    ms = 1000 * check.handshake_seconds
    check.passed("handshake", f"protocol version 2, {ms:.0f} ms after its start")
    check.passed("ready for a game", f"in {1000 * check.setup_seconds:.0f} ms")
    if _engine(check).takes_one_command:
        detail = (
            "it takes one command at a time: of two commands in one write, it answered only the "
            "first; ringmaster now waits for each answer, which takes longer"
        )
        check.warned("commands together", detail, ())
    else:
        check.passed("commands together", "two commands in one write are both answered")


def try_commands(check: EngineCheck) -> None:
    """Test that list_commands and known_command agree."""
    name, engine = "commands", _engine(check)
    try:
        listed = engine.command("list_commands").split()
    except EngineRefused:
        check.warned(name, "it has no list_commands, which GTP requires")
        return
    missing = [c for c in ("known_command", "name", "version", "quit") if c not in listed]
    if missing:
        check.warned(name, f"list_commands lacks {', '.join(missing)}, which GTP requires")
    try:
        denied = [
            c
            for c in ("play", "genmove", "boardsize", "clear_board", "komi", "final_score")
            if c in listed and engine.command("known_command", c).lower() != "true"
        ]
        if denied:
            check.warned(name, f"it lists {denied[0]!r}, but known_command denies it")
        elif engine.command("known_command", NONSENSE).lower() != "false":
            check.warned(name, "known_command does not answer false for an unknown command")
        elif not missing:
            check.passed(name, f"{len(listed)} listed, known_command agrees")
    except EngineRefused as refusal:
        check.warned(name, f"known_command is refused: {refusal}")


def _expect_refusal(check: EngineCheck, name: str, accepted: str, *command: str) -> bool:
    """Record whether a command is refused; `accepted` is the warning if it is not."""
    try:
        answer = _engine(check).command(*command)
    except EngineRefused as refusal:
        check.passed(name, f"refused: {one_line(str(refusal), 60)}")
        return True
    check.warned(name, accepted.format(answer=one_line(answer, 60)))
    return False


def try_unknown_command(check: EngineCheck) -> None:
    """Test that an unknown command is refused."""
    accepted = "it answers '= {answer}' to an unknown command"
    _expect_refusal(check, "unknown command", accepted, NONSENSE)


def try_syntax(check: EngineCheck) -> None:
    """Test blank lines, comments and ids (GTP 2, 2.2, 2.5)."""
    request = b"\n  \n# a comment\n7 protocol_version # another\n"
    response = _response(check, request, check.patience.search)
    fault = f"'7 protocol_version' is answered by {response!r}, not =7 …"
    is_right = response.startswith("=7")
    check.judged("syntax", "" if is_right else fault, "blank lines, comments, ids")


def try_game(check: EngineCheck) -> None:
    """Test a short game of the engine against itself: legal moves, its own moves on its board."""
    engine, game = _engine(check), _new_game(check)
    start = time.monotonic()
    while len(game.moves) < PLIES and time.monotonic() - start < GAME_SECONDS:
        before = time.monotonic()
        thought = engine.think(game.to_move, Limits(seconds=check.settings.hang_timeout))
        check.move_seconds = max(check.move_seconds, time.monotonic() - before)
        if thought.kind != "move":
            break
        try:
            game.play(thought.move)
        except IllegalMove as error:
            check.failed("moves", f"move {len(game.moves) + 1}, {error.move!r}: {error.reason}")
            return
        if game.ending() is not None:
            break
    slowest = f"at most {check.move_seconds:.2f} s a move"
    check.passed("moves", f"legal in a game of {len(game.moves)} moves, {slowest}")
    vertices = [move for move in game.moves if move != "pass"]
    if vertices:
        accepted = f"it takes a stone at {vertices[-1]}, an occupied point"
        _expect_refusal(check, "illegal moves are refused", accepted, "play", "b", vertices[-1])
    lines = check.unexpected_lines()
    fault = f"the engine also prints {lines[0]!r}" if lines else ""
    check.judged("silence after a move", fault, matters=True)


def try_score(check: EngineCheck) -> None:
    """Test final_score on a board with a wall in the middle."""
    name, engine, settings = "final_score", _engine(check), check.settings
    matters = settings.scorer == "players" and check.player.is_reliable_scorer
    if not engine.knows("final_score"):
        if matters:
            check.warned(name, "it has none: the opponent scores the games", ())
        else:
            check.skipped(name, "it has none")
        return
    _new_game(check)
    size = settings.board_size
    for row in range(size):
        for colour, column in (("b", size // 2 - 1), ("w", size // 2)):
            if 0 <= column < size:
                engine.command("play", colour, format_vertex((column, row)))
    engine.command("play", "b", "pass")
    engine.command("play", "w", "pass")
    try:
        score = engine.command("final_score")
    except EngineRefused as refusal:
        check.warned(name, f"refused: {refusal}")
        return
    if _SCORE.fullmatch(score.split()[0] if score else ""):
        check.passed(name, one_line(score, 40))
    else:
        check.failed(name, f"{score[:40]!r} is no score such as B+3.5", matters=matters)


def try_new_games(check: EngineCheck) -> None:
    """Test many new games."""
    times: list[float] = []
    while len(times) < NEW_GAMES and sum(times) <= GAME_SECONDS:
        start = time.monotonic()
        _new_game(check)
        times.append(time.monotonic() - start)
    check.passed("new games", f"{len(times)} in a row, at most {1000 * max(times):.0f} ms each")


def try_board_size(check: EngineCheck) -> None:
    """Test that an impossible size is refused (GTP 2, 6.3.1)."""
    if not _expect_refusal(check, "board size 1000", "accepted", "boardsize", "1000"):
        # the state of the engine is unknown now
        check.drop()


def try_clock(check: EngineCheck) -> None:
    """Test a move with two seconds left, where the engine knows time_left."""
    engine = _engine(check)
    if not engine.knows("time_settings") or not engine.knows("time_left"):
        check.skipped("clock", "it has no time_settings or no time_left")
        return
    _new_game(check)
    engine.require("time_settings", str(CLOCK_SECONDS), "0", "0")
    engine.require("time_left", "b", str(CLOCK_SECONDS), "0")
    thought = engine.think(0, Limits(seconds=CLOCK_SECONDS + check.patience.search))
    over = thought.elapsed_ns / 1e6 - 1000 * CLOCK_SECONDS
    check.note_overstep("clock", over)
    if over > check.margin_ms:
        detail = f"answered {over:.0f} ms after its clock of {CLOCK_SECONDS} s had run out"
        check.late("clock", detail, matters=check.player.time_control is not None)
    else:
        check.passed("clock", f"used {thought.elapsed_ns / 1e9:.2f} of {CLOCK_SECONDS} s")
    # GTP has no command that turns a clock off
    check.drop()


def try_quit(check: EngineCheck) -> None:
    """Test quit."""
    process = check.engine().channel.process
    start, patience = time.monotonic(), check.patience.quit
    try:
        response = _response(check, b"quit\n", patience)
    finally:
        has_exited = process.wait(patience)
    if not has_exited:
        check.warned("quit", f"the engine has not exited after {patience:g} s")
    elif not response.startswith("="):
        check.warned("quit", f"answered by {response!r}")
    else:
        ms = 1000 * (time.monotonic() - start)
        check.passed("quit", f"the engine exits after {ms:.0f} ms")
    check.drop()
