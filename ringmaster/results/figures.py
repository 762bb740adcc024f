"""Figures of a tournament for its report: depth, time and speed of each player and its score by
the phase that decided a game (from the last records), and openings with extreme scores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from statistics import fmean
from typing import Any, Final

from ringmaster.competitions.tournaments.game_charts import FEWEST_GAMES
from ringmaster.competitions.tournaments.tournament import Tournament
from ringmaster.errors import counted
from ringmaster.games.game import beginning
from ringmaster.games.san import move_of
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.board import BoardGame
from ringmaster.model.report import LEFT, RIGHT, ChartGroup, Column, Comparison, Listing, Table
from ringmaster.results.boards import board_game
from ringmaster.results.games import GameReader
from ringmaster.results.records import TAIL, Records
from ringmaster.storage.store import Store

#: Most games whose records are read: a thousand take some seconds.
MOST_GAMES = 1000
#: Centipawns of the winner, for both engines until the end, that decide a game.
DECIDED: Final = 200
#: Least number of pieces beside kings and pawns in each phase of chess: the bounds of lichess.org
#: (scalachess, Divider).
PHASES: Final = {"opening": 11, "middlegame": 7, "endgame": 0}


#: The values are lists, of all moves or of all games of a player.
_COLUMNS = (
    Column("player", "", align=LEFT),
    Column("ms", "ms a move", lambda ms: f"{fmean(ms):,.3g}"),
    Column("depths", "depth", lambda depths: f"{fmean(depths):.1f}"),
    Column("nodes", "nodes a move", lambda nodes: f"{fmean(nodes):,.0f}"),
    Column("nps", "nodes/s", "{:,.0f}".format),
    *(
        Column(name, name, lambda points: f"{fmean(points):.1%} of {len(points)}")
        for name in PHASES
    ),
)


def figures(
    loaded: LoadedCompetition, store: Store | None, groups: Sequence[ChartGroup] | None = None
) -> tuple[Table, ...]:
    """Return the tables of a restored tournament, none for other competitions; `groups` are its
    charts, if they are known.  Raises StoreError."""
    if store is None or not isinstance(loaded.competition, Tournament):
        return ()
    groups = loaded.charts(store) if groups is None else groups
    return (*_searches(loaded, store), *_openings(groups))


def _searches(loaded: LoadedCompetition, store: Store) -> Iterator[Table]:
    name, reader = loaded.control_file.values["game"], GameReader(loaded)
    newest = (reader.game(each) for each in store.games(max(0, sum(store.counts()) - MOST_GAMES)))
    codes = dict.fromkeys(c for tally in loaded.competition.tallies.values() for c in tally.players)
    players: dict[str, dict[str, Any]] = {code: {"player": code} for code in codes}
    games = 0
    for game, record in Records(loaded.paths, name, store, TAIL).each(newest):
        if game.is_void:
            continue
        games += 1
        board = board_game(game, record)
        sides = [players.setdefault(code, {"player": code}) for code in game.players]
        for key in ("ms", "depths", "nodes"):
            for index, value in enumerate(getattr(board, key)):
                if value is not None:
                    sides[(index + board.first) % 2].setdefault(key, []).append(value)
        if name == "chess" and board.moves and (game.winner or game.is_draw):
            with suppress(ValueError):  # a start position that somebody has edited
                phase = _phase(board)
                for side, code in zip(sides, game.players, strict=True):
                    points = 0.5 if game.is_draw else float(game.winner == code)
                    side.setdefault(phase, []).append(points)
    for side in players.values():
        if "nodes" in side and any(side.get("ms", ())):
            side["nps"] = 1000 * fmean(side["nodes"]) / fmean(side["ms"])
    if games:
        notes = (
            "Score by the phase that decided a game: both engines gave the winner "
            f"{DECIDED / 100:g} pawns or more to its end.  Opening: more than 10 pieces beside "
            "kings and pawns; endgame: at most 6.",
        )
        title = f"searches (records of the last {counted(games, 'game')})"
        rows = tuple(players.values())
        yield Listing(_COLUMNS, rows).table(title, notes if name == "chess" else ())


def _phase(board: BoardGame) -> str:
    """Return the phase of chess in which a game was decided."""
    sign = -1 if board.winner else 1
    known = [(count, sign * s) for count, s in enumerate(board.scores, 1) if s is not None]
    moves = max((count for count, score in known if score < DECIDED), default=0)
    words = board.moves.split()
    position = beginning("chess", variant=board.variant)(board.start or None)
    with suppress(ValueError):  # the illegal move that ended the game
        for word in words if board.winner is None or not known else words[:moves]:
            position.play(move_of(position, word))
    pieces = re.sub("[^nbrqNBRQ]", "", re.split(r"[ \[]", position.position())[0])
    return next(name for name, least in PHASES.items() if len(pieces) >= least)


def _openings(groups: Sequence[ChartGroup]) -> Iterator[Table]:
    # the last chart has the first player's score, where there are two players
    for chart in (group.charts[-1] for group in groups if group.key == "openings"):
        assert isinstance(chart, Comparison)
        rows = [(row.name, row.text) for row in chart.rows]
        del rows[3:-3]
        title = f"{chart.title} by opening, the extremes of {FEWEST_GAMES} games or more"
        yield Table(("opening", "score"), tuple(rows), title, align=(LEFT, RIGHT))
