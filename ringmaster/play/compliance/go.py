"""The tests of Go engines over GTP."""

from __future__ import annotations

import re

from ringmaster.engines.engine import Limits
from ringmaster.engines.exchange import Exchange
from ringmaster.engines.gtp import GtpEngine
from ringmaster.errors import EngineRefused, IllegalMove
from ringmaster.games.go import GoGame
from ringmaster.games.go_rules import new_go_game
from ringmaster.games.text import one_line
from ringmaster.games.vertices import format_vertex
from ringmaster.play.compliance.bench import Bench

#: Plies of the game that the engine plays against itself, and seconds for it.
PLIES = 16
GAME_SECONDS = 4.0
#: Games that are begun in a row.
NEW_GAMES = 20
#: Seconds left on the clock for one move.
CLOCK_SECONDS = 2
NONSENSE = "ringmaster-has-no-such-command"

_SCORE = re.compile(r"[BWbw]\+(?:\d+(?:\.\d*)?|R|Resign|r|resign|)|0(?:\.0)?|[Dd]raw|[Jj]igo")


class Response(Exchange):
    """Raw lines, and the response that follows: its first line and what came
    before it."""

    def __init__(self, request: bytes) -> None:
        self.request = request
        self.first = ""
        self.before: list[str] = []

    def feed(self, line: bytes) -> bool:
        text = one_line(line[:500].decode("utf-8", "replace"), 100)
        if not self.first:
            if line[:1] in (b"=", b"?"):
                self.first = text
            elif text and len(self.before) < 5:
                self.before.append(text)
            return False
        return not line.strip()


def _gtp(bench: Bench) -> GtpEngine:
    engine = bench.engine()
    assert isinstance(engine, GtpEngine)
    return engine


def _set_up(bench: Bench) -> GoGame:
    """Begin a game as a match does; returns it by the rules."""
    engine = _gtp(bench)
    settings = bench.settings
    engine.require("boardsize", str(settings.board_size))
    engine.require("clear_board")
    return new_go_game(
        settings.board_size, (), 0, ko_rule=settings.ko_rule, suicide=settings.suicide
    )


def try_handshake(bench: Bench) -> None:
    bench.passed(
        "handshake", f"protocol version 2, {1000 * bench.handshake_seconds:.0f} ms after its start"
    )
    bench.passed("ready for a game", f"in {1000 * bench.setup_seconds:.0f} ms")
    if _gtp(bench).takes_one_command:
        bench.warned(
            "commands together",
            "it takes one command at a time: of two that were written together it answered"
            " the first; it is given one after the other, which takes longer",
            exchange=(),
        )
    else:
        bench.passed("commands together", "of two that were written together both are answered")


def try_commands(bench: Bench) -> None:
    """list_commands and known_command agree."""
    engine = _gtp(bench)
    try:
        listed = engine.command("list_commands").split()
    except EngineRefused:
        bench.warned("commands", "it has no list_commands, which GTP requires")
        return
    name = "commands"
    lacking = [c for c in ("known_command", "name", "version", "quit") if c not in listed]
    if lacking:
        bench.warned(name, f"list_commands lacks {', '.join(lacking)}, which GTP requires")
    try:
        denied = [
            c
            for c in ("play", "genmove", "boardsize", "clear_board", "komi", "final_score")
            if c in listed and engine.command("known_command", c).lower() != "true"
        ]
        if denied:
            bench.warned(name, f"it lists {denied[0]!r}, and known_command denies it")
        elif engine.command("known_command", NONSENSE).lower() != "false":
            bench.warned(name, "known_command says of a command that does not exist: not false")
        elif not lacking:
            bench.passed(name, f"{len(listed)} listed, known_command agrees")
    except EngineRefused as refusal:
        bench.warned(name, f"known_command is refused: {refusal}")


def try_unknown_command(bench: Bench) -> None:
    name = "unknown command"
    try:
        answer = _gtp(bench).command(NONSENSE)
    except EngineRefused as refusal:
        bench.passed(name, f"refused: {one_line(str(refusal), 60)}")
        return
    bench.warned(name, f"it answers '= {one_line(answer, 60)}' to a command that does not exist")


def try_syntax(bench: Bench) -> None:
    """Blank lines and comments are passed over, an id comes back (GTP 2, 2.2, 2.5)."""
    response = Response(b"\n  \n# a comment\n7 protocol_version # another\n")
    bench.converse(response, bench.patience.search)
    if not response.first.startswith("=7"):
        bench.warned("syntax", f"'7 protocol_version' is answered by {response.first!r}, not =7 …")
    else:
        bench.passed("syntax", "blank lines, comments, ids")


def try_game(bench: Bench) -> None:
    """A short game of the engine against itself: is every move legal, and does the
    engine put its own moves on the board?"""
    engine = _gtp(bench)
    game = _set_up(bench)
    start = bench.clock()
    slowest = 0.0
    while len(game.moves) < PLIES and bench.clock() - start < GAME_SECONDS:
        colour = game.to_move
        before = bench.clock()
        thought = engine.think(colour, Limits(seconds=bench.settings.hang_timeout))
        slowest = max(slowest, bench.clock() - before)
        if thought.kind != "move":
            break
        try:
            game.play(thought.move)
        except IllegalMove as error:
            bench.failed("moves", f"move {len(game.moves) + 1}, {error.move!r}: {error.reason}")
            return
        if game.ending() is not None:
            break
    bench.move_seconds = slowest
    bench.passed("moves", f"legal in a game of {len(game.moves)}, {slowest:.2f} s at most for one")
    played = [move for move in game.moves if move != "pass"]
    if played:
        _expect_occupied(bench, engine, played[-1])
    said = bench.overhear()
    if said:
        bench.failed("silence after a move", f"it goes on to say {said[0]!r}")
    else:
        bench.passed("silence after a move")


def _expect_occupied(bench: Bench, engine: GtpEngine, vertex: str) -> None:
    name = "illegal moves are refused"
    try:
        engine.command("play", "b", vertex)
    except EngineRefused as refusal:
        bench.passed(name, f"it says {one_line(str(refusal), 60)!r}")
        return
    bench.warned(name, f"it takes a stone at {vertex}, where one stands already")


def try_score(bench: Bench) -> None:
    engine = _gtp(bench)
    settings = bench.settings
    matters = settings.scorer == "players" and bench.player.is_reliable_scorer
    if not engine.knows("final_score"):
        if matters:
            bench.warned(
                "final_score", "it has none: games it plays are scored by its opponent", ()
            )
        else:
            bench.skipped("final_score", "it has none")
        return
    # a wall in the middle leaves each side its half
    _set_up(bench)
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
        bench.warned("final_score", f"refused: {refusal}")
        return
    if _SCORE.fullmatch(score.split()[0] if score else ""):
        bench.passed("final_score", one_line(score, 40))
    else:
        bench.failed("final_score", f"{score[:40]!r} is no score such as B+3.5", matters=matters)


def try_new_games(bench: Bench) -> None:
    times = []
    for _ in range(NEW_GAMES):
        start = bench.clock()
        _set_up(bench)
        times.append(bench.clock() - start)
        if sum(times) > GAME_SECONDS:
            break
    bench.passed("new games", f"{len(times)} in a row, {1000 * max(times):.0f} ms at most for each")


def try_board_size(bench: Bench) -> None:
    """A size that cannot be is refused (GTP 2, 6.3.1)."""
    engine = _gtp(bench)
    try:
        engine.command("boardsize", "1000")
    except EngineRefused as refusal:
        bench.passed("board size 1000", f"refused: {one_line(str(refusal), 60)}")
        return
    bench.warned("board size 1000", "accepted")
    # whatever it has set up now
    bench.drop()


def try_clock(bench: Bench) -> None:
    """A move with two seconds left, where it can be told so."""
    engine = _gtp(bench)
    matters = bench.player.time_control is not None
    if not engine.knows("time_settings") or not engine.knows("time_left"):
        bench.skipped("clock", "it has no time_settings or no time_left")
        return
    _set_up(bench)
    engine.require("time_settings", str(CLOCK_SECONDS), "0", "0")
    engine.require("time_left", "b", str(CLOCK_SECONDS), "0")
    thought = engine.think(0, Limits(seconds=CLOCK_SECONDS + bench.patience.search))
    over = thought.elapsed_ns / 1e6 - 1000 * CLOCK_SECONDS
    bench.note_overstep("clock", over)
    if over > 1000 * bench.margin:
        bench.late(
            "clock",
            f"answered {over:.0f} ms after its clock of {CLOCK_SECONDS} s had run out",
            matters=matters,
        )
    else:
        bench.passed("clock", f"used {thought.elapsed_ns / 1e9:.2f} of {CLOCK_SECONDS} s")
    # GTP has no way back to a game without a clock
    bench.drop()


def try_quit(bench: Bench) -> None:
    process = bench.engine().channel.process
    start = bench.clock()
    response = Response(b"quit\n")
    try:
        bench.converse(response, bench.patience.quit)
    finally:
        gone = process.wait(bench.patience.quit)
    if not gone:
        bench.warned("quit", f"it has not exited after {bench.patience.quit:g} s")
    elif not response.first.startswith("="):
        bench.warned("quit", f"answered by {response.first!r}")
    else:
        bench.passed("quit", f"it exits after {1000 * (bench.clock() - start):.0f} ms")
    bench.drop()
