"""Files of game records as labelled positions: the position before each move, with the
score that the engine found there, the game's result and its length.

A record may begin from any position; its plies are counted from the move number that
this gives.
"""

from __future__ import annotations

from collections.abc import Iterator

from ringmaster.datasets.batch import Batch, Record, batches_of
from ringmaster.datasets.pgn import pgn_games
from ringmaster.datasets.recorded_game import RecordedGame, plies_before
from ringmaster.datasets.source import Source
from ringmaster.games.start import beginning

#: Bytes in a line: a whole game with comments may stand on one.
_LONGEST = 1 << 20


def read_pgn(source: Source) -> Iterator[Batch]:
    """Yield the positions of a PGN file.  Raises DatasetError."""
    lines = text_lines(source, "latin-1")
    # by default the mover's, as the field writes them; `score_pov` may say otherwise
    return batches_of(_records(source, pgn_games(lines, source.path, source.variant), mover=True))


def read_csa(source: Source) -> Iterator[Batch]:
    """Yield the positions of a CSA file.  Raises DatasetError."""
    from ringmaster.datasets.shogi_games import csa_games

    # older files are in Shift JIS, the names of players at least
    return batches_of(_records(source, csa_games(text_lines(source, "cp932"), source.path)))


def read_kif(source: Source) -> Iterator[Batch]:
    """Yield the positions of a KIF file, in UTF-8 or Shift JIS.  Raises DatasetError."""
    from ringmaster.datasets.shogi_games import kif_games

    return batches_of(_records(source, kif_games(text_lines(source, "cp932"), source.path)))


def text_lines(source: Source, fallback: str) -> Iterator[str]:
    """Yield the lines of a file, unpacked, without their ends.

    fallback  the encoding of lines that are not UTF-8

    Raises DatasetError.
    """
    number, rest = 0, b""
    for piece in source.pieces():
        if b"\0" in piece:
            raise source.error(None, "this is not a text file (it has a NUL)")
        if not number and not rest:
            piece = piece.removeprefix(b"\xef\xbb\xbf")
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > _LONGEST:
            raise source.error(number + 1, "the line is too long for a text file")
        number += len(lines)
        for line in lines:
            yield _decoded(line, fallback)
    if rest:
        yield _decoded(rest, fallback)


def _decoded(line: bytes, fallback: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode(fallback, "replace")


def _records(
    source: Source, games: Iterator[RecordedGame], mover: bool = False
) -> Iterator[Record]:
    """Yield the positions of games.  Scores are told from the side to move where `mover`
    is true, else from the side that moves first; results always from the latter."""
    begin = beginning(source.game, variant=source.variant)
    for game in games:
        if not game.is_finished:
            source.counts["unfinished games"] += 1
            continue
        if game.is_forfeit:
            source.counts["games lost by a fault or on time"] += 1
            continue
        position = begin(game.start)
        before = plies_before(source.game, game.start)
        length = before + len(game.moves)
        name = str(game.number)
        for ply, (move, score) in enumerate(zip(game.moves, game.scores, strict=True), before):
            text = position.position().encode()
            if mover and position.to_move:
                score = -score
            yield Record(text, game.result, score, ply, name, game.line, length)
            position.play(move)
