"""Read recorded games for the boards of a page.

The records are ringmaster's own (`games.pgn`, `games.sgf`, `games.csa`, `games.kif`).  Moves
of chess are not checked here: a board stops at a move that its rules do not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from ringmaster.errors import DataFileError
from ringmaster.formats.annotations import score_of, winrate_of
from ringmaster.formats.recorded_game import RecordedGame
from ringmaster.formats.registry import read_record
from ringmaster.formats.source import Source
from ringmaster.games.clean_text import one_line
from ringmaster.model.board import BoardGame
from ringmaster.model.players import GameName
from ringmaster.results.games import COLOURS, Game

#: Bytes of the longest record that is read, and characters of an engine's longest words.
_LONGEST, _WORDS = 1_000_000, 300
#: The seconds of a summary, and its end.
_SECONDS: Final = re.compile(r" ?(?:(\d{1,7}\.\d{3})s)?(?=,|\n|$)")
#: Lines of shogi that repeat the score of the summary, and the line of play.
_SHOGIHOME: Final = ("評価値=", "読み筋=")
#: A clock in PGN, and in records of shogi.
_CLOCK: Final = re.compile(r"\[%clk (\d{1,6}):(\d\d):(\d\d(?:\.\d{3})?)\]|\bleft=(\d{1,9}\.\d{3})s")
_NODES: Final = re.compile(r"(?:^|[,\n]\s*)(?:n=(\d{1,15})|(\d{1,15}) visits)(?=,|\n|$)")
#: Details of the search, which a board does not show.
_DETAILS: Final = re.compile(
    r"(?:^|,\s*)(?:(?:sd|n|nps|hashfull|tbhits)=\d+|left=[\d.]+s|pv=\"[^\"]*\"|\[%clk [^\]]*\])"
    r"(?=,|\n|$)"
)


def board_game(game: Game, record: bytes) -> BoardGame:
    """Return a game for a board.

    A damaged record gives a game with fewer moves, or without moves.
    """
    facts = _read(game.game, record)
    colour = game.winning_colour
    first, second = game.sides
    return BoardGame(
        number=game.number,
        id=game.id,
        game=game.game,
        players=game.players,
        names=(one_line(first.name), one_line(second.name)),
        result=one_line(game.score),
        reason=one_line(game.reason),
        detail=one_line(game.detail, _WORDS),
        winner=None if colour is None else COLOURS[game.game].index(colour),
        matchup=game.matchup,
        **facts,
    )


def board_in_progress(
    game: GameName, game_id: str, codes: tuple[str, str], record: str
) -> BoardGame:
    """Return a game in progress for a board, from its record so far."""
    facts = _read(game, record.encode(errors="replace"))
    return BoardGame(number=0, id=game_id, game=game, players=codes, in_progress=True, **facts)


def _read(game: GameName, record: bytes) -> dict[str, Any]:
    """Return fields of a `BoardGame` from a record, none from a damaged one."""
    source = Source("", game, skip_bad=True, data=record[:_LONGEST])
    source.annotated = True
    recorded = None
    # a record that somebody has edited may have anything
    with suppress(LookupError, ValueError, DataFileError):
        recorded = next(read_record(source), None)
    return {} if recorded is None else _facts(recorded)


def _facts(game: RecordedGame) -> dict[str, Any]:
    """Return fields of a `BoardGame`."""
    moves = [_read_comment(game, index) for index in range(len(game.moves))]
    columns = zip(*moves, strict=True) if moves else [()] * 7
    ms, clocks, scores, leads, depths, nodes, texts = columns
    of_go = {"size": game.size, "komi": game.komi, "setup": " ".join(game.setup)}
    controls = tuple(map(one_line, game.time_controls))
    return {
        **(of_go if game.size else {}),
        "variant": one_line(game.variant, 40),
        "opening": one_line(game.opening),
        "date": one_line(game.date),
        "time_control": controls[: len(set(controls))] if any(controls) else (),
        "start": one_line(game.start or "", 200),
        "first": game.first,
        "moves": " ".join(game.moves),
        "book": game.book,
        "ms": _known(ms),
        "clocks": _known(clocks),
        "scores": _known(scores),
        "leads": _known(leads),
        "depths": _known(depths),
        "nodes": _known(nodes),
        "comments": tuple((i, text) for i, text in enumerate(texts) if text and i >= game.book),
    }


def _read_comment(
    game: RecordedGame, index: int
) -> tuple[int | None, int | None, int | None, float | None, int | None, int | None, str]:
    """Return milliseconds, clock, score, lead, depth and nodes of a move, and the engine's words,
    in Go with its visits and expected moves."""
    clock = game.clocks.get(index)
    lines = game.comments[index].split("\n")
    comment = "\n".join(line for line in lines if not line.startswith(_SHOGIHOME))
    # the summary is the last line in Go, and the beginning in other games
    before = comment.rfind("\n") + 1 if game.size else 0
    side = (index + game.first) % 2
    read = winrate_of if game.size else score_of
    score, details, seconds, rest = _read_summary(read, comment[before:], side)
    comment = comment[:before] + rest.lstrip(", ")
    lead, depth = details.get("lead"), details.get("depth")
    left = None if game.size else _CLOCK.search(comment)
    if left is not None:
        hours, minutes, remaining, others = left.groups("0")
        clock = 3600 * int(hours) + 60 * int(minutes) + float(remaining) + float(others)
    nodes = _NODES.search(comment)
    return (
        None if seconds is None else round(1000 * float(seconds)),
        None if clock is None else round(1000 * clock),
        None if score is None else round(score),
        None if lead is None else 0.0 - float(lead) if side else float(lead),
        None if depth is None else int(depth),
        None if nodes is None else int(nodes[1] or nodes[2]),
        one_line(_DETAILS.sub("", comment).strip(", \n"), _WORDS) if comment else "",
    )


def _read_summary(
    read: Callable[[str, int], tuple[float | None, re.Match[str] | None]], text: str, side: int
) -> tuple[float | None, dict[str, str | None], str | None, str]:
    """Return the score, lead and depth, and seconds of a summary at the beginning, and the other
    text.

    Other words may begin with a number.
    """
    score, match = read(text, side)
    seconds = _SECONDS.match(text, 0 if match is None else match.end())
    if seconds is None:
        return None, {}, None, text
    details = {} if match is None else match.groupdict()
    return score, details, seconds[1], text[seconds.end() :]


def _known(column: tuple[float | None, ...]) -> tuple[float | None, ...]:
    """Return a column, () if it has no value."""
    return () if column.count(None) == len(column) else column
