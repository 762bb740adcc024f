"""Read the games of PGN files with the scores of their moves.

Three kinds of comments hold scores:

- fastchess, cutechess-cli and ringmaster write "+0.35/12 0.1s" or "-M4/20" after a move, from
  its mover's side;
- lichess.org writes "[%eval 0.17]" and "[%eval #-3]", from White's side, for the position
  *after* the move;
- TCEC writes "wv=0.35", from White's side, for the move.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from ringmaster.formats.pgn_reader import PgnError, PgnGame, read_games
from ringmaster.formats.recorded_game import (
    RESULTS,
    RecordedGame,
    limited,
    positions_of,
)
from ringmaster.formats.source import MATE, Batch, Source, batches_of
from ringmaster.games.clean_text import one_line

_OF_MOVE = re.compile(
    r"\s*(?:\([^)]*\)\s*)?([+-]?)(?:[M#](\d+)|(\d{1,5}\.\d+))(?:/\d+)?(?=[\s,;]|$)"
)
_OF_POSITION = re.compile(r"\[%eval\s+(?:#([+-]?)\d+|([+-]?\d{1,5}(?:\.\d+)?))")
_OF_TCEC = re.compile(r"(?:^|[\s,])wv=(?:([+-]?)M\d+|([+-]?\d{1,5}(?:\.\d+)?))")

#: Values of the Termination tag that tell of a fault.
_FORFEITS = frozenset(("time forfeit", "rules infraction", "abandoned", "stalled connection"))


def read_pgn(source: Source) -> Iterator[Batch]:
    """Yield the positions of a PGN file.  Raises DataFileError."""
    # most programs write the mover's scores; `score_pov` selects another point of view
    return batches_of(source, positions_of(source, pgn_games(source), mover=True))


def pgn_games(source: Source, plies: int | None = None) -> Iterator[RecordedGame]:
    """Yield the games of a PGN file, unfinished ones included.

    plies  moves that are read of each game, None for all

    Raises DataFileError, with line and game, for text that is not PGN, illegal moves, and
    games of another variant.
    """
    try:
        for game in read_games(source.lines(), source.variant, plies):
            yield _recorded(game)
    except PgnError as error:
        raise source.error(error.line, error.message) from None


def _recorded(game: PgnGame) -> RecordedGame:
    """Return a game with the scores of its comments."""
    tags = game.tags
    count = len(game.moves)
    result = game.result or tags.get("Result", "*")
    recorded = RecordedGame(
        game.number,
        game.line,
        one_line(tags.get("GameId") or tags.get("Round", "")).strip("?-"),
        game.start,
        game.moves,
        [math.nan] * count,
        result=RESULTS.get(result, math.nan),
        is_forfeit=tags.get("Termination", "").casefold() in _FORFEITS,
        opening=_opening_name(tags),
    )
    black_begins = game.start is not None and game.start.split()[1] == "b"
    for plies, text in game.comments:
        if plies:
            _read_comment(recorded, plies - 1, text, (plies - 1 + black_begins) % 2 == 1)
        if plies < count and "[%eval" in text:
            recorded.scores[plies] = _white_score(text, _OF_POSITION)
    return recorded


def _opening_name(tags: dict[str, str]) -> str:
    titles = [one_line(tags.get(key, ""), 80) for key in ("ECO", "Opening", "Variation")]
    return " ".join(title for title in titles if title.strip("?"))


def _read_comment(game: RecordedGame, ply: int, text: str, of_black: bool) -> None:
    """Record a comment on the move `ply`, which Black made where `of_black` is true."""
    own = _OF_MOVE.match(text)
    if text == "book" and game.book == ply:
        game.book += 1
    elif own is not None:
        score = MATE if own[3] is None else _centipawns(own[3])
        game.scores[ply] = -score if (own[1] == "-") != of_black else score
    elif "wv=" in text:
        game.scores[ply] = _white_score(text, _OF_TCEC)


def _white_score(text: str, form: re.Pattern[str]) -> float:
    """Return White's score in a comment, NaN for none.

    form  first group: sign of a mate; second group: pawns
    """
    match = form.search(text)
    if match is None:
        return math.nan
    if match[2] is None:
        return -MATE if match[1] == "-" else MATE
    return _centipawns(match[2])


def _centipawns(pawns: str) -> float:
    return limited(round(100 * float(pawns), 3))
