"""Game records in PGN, for chess.

Only writing, and only the text of the record: when and where it is stored is
left to the caller.  Made after a game, never in it: SAN comes from python-chess,
at some 30 microseconds a ply.  Engine text is cleaned first, so that a record
parses whatever an engine calls itself or says of its moves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ringmaster.games.annotations import assignments, note_lines, player_name, search_summary
from ringmaster.games.text import one_line, shown
from ringmaster.model.record import GameRecord

_SIDES = ("White", "Black")
_RESULTS = ("1-0", "0-1", "1/2-1/2", "*")
_WIDTH = 79

#: Values of the Termination tag that the PGN standard knows.
_TERMINATION = {
    "move limit": "adjudication",
    "time": "time forfeit",
    "stall": "time forfeit",
    "illegal move": "rules infraction",
    "refused": "rules infraction",
    "crash": "abandoned",
    "hang": "abandoned",
    "protocol": "abandoned",
    "start": "abandoned",
    "setup": "abandoned",
}

_DRAWS = {
    "stalemate": "Draw by stalemate",
    "repetition": "Draw by threefold repetition",
    "50 moves": "Draw by the 50-move rule",
    "material": "Draw by insufficient material",
    "move limit": "Draw by the move limit",
}

#: What the loser did; in a void game nobody is named.
_FAULTS = {
    "resignation": "resigns",
    "time": "loses on time",
    "stall": "loses on time, stalling",
    "illegal move": "makes an illegal move",
    "refused": "refuses a command",
    "crash": "crashes",
    "hang": "hangs",
    "protocol": "breaks the protocol",
    "start": "does not start",
    "setup": "cannot be set up",
}


def write_pgn(record: GameRecord) -> str:
    """Return `record` as one PGN game, ending in an empty line.

    Player 0 is White.  Moves are commented in the field's style,
    {+0.31/12 0.52s}, those of the opening {book}; the last comment gives the
    reason of the result.  A move that is not legal ends the record with a
    comment that shows it.

    Raises ValueError for a record of another game than chess.
    """
    if record.settings.game != "chess":
        raise ValueError(f"PGN records are for chess, not for {record.settings.game}")
    result = record.score if record.score in _RESULTS else "*"
    movetext, plies = _movetext(record)
    words = [*movetext, *_comment(_closing_comment(record, result)), result]
    tags = "".join(f'[{name} "{_quoted(value)}"]\n' for name, value in _tags(record, result, plies))
    return f"{tags}\n{_wrapped(words)}\n\n"


def _tags(record: GameRecord, result: str, plies: int) -> Iterator[tuple[str, str]]:
    """Yield the seven tag roster, then the others that have a value."""
    yield "Event", one_line(record.event) or "?"
    yield "Site", "?"
    known = re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", record.date)
    yield "Date", record.date.replace("-", ".") if known else "????.??.??"
    yield "Round", one_line(record.game_id) or "?"
    for i, side in enumerate(_SIDES):
        yield side, player_name(record, i)
    yield "Result", result
    if record.opening.fen is not None:
        yield "SetUp", "1"
        yield "FEN", record.opening.fen
    if record.time_controls[0] == record.time_controls[1]:
        yield "TimeControl", record.time_controls[0] or "-"
    else:
        for i, side in enumerate(_SIDES):
            yield f"{side}TimeControl", record.time_controls[i] or "-"
    yield "Termination", _TERMINATION.get(record.reason, "normal")
    yield "PlyCount", str(plies)
    for i, side in enumerate(_SIDES):
        if record.parameters[i]:
            yield f"{side}Parameters", assignments(record.parameters[i])


def _movetext(record: GameRecord) -> tuple[list[str], int]:
    """Return the words of the moves with their comments, and how many plies
    they are."""
    import chess

    words: list[str] = []
    try:
        board = chess.Board(record.opening.fen or chess.STARTING_FEN)
    except ValueError as error:
        return list(_comment(f"The opening cannot be shown: {error}")), 0
    book = record.opening.moves
    after_comment = True
    for ply, move in enumerate(record.moves):
        try:
            step = chess.Move.from_uci(move.move)
            if not board.is_legal(step):
                raise ValueError("not legal")
        except ValueError:
            words += _comment(f"The move {shown(move.move)} is not legal here")
            return words, ply
        if board.turn or after_comment:
            words.append(f"{board.fullmove_number}{'.' if board.turn else '...'}")
        words.append(board.san_and_push(step))
        if ply < len(book) and move.move == book[ply]:
            comment = "book"
        else:
            comment = ", ".join(filter(None, (search_summary(move), one_line(move.comment))))
        words += _comment(comment)
        after_comment = bool(comment)
    return words, len(record.moves)


def _closing_comment(record: GameRecord, result: str) -> str:
    """Return why the game ended so: "White mates", "Black loses on time: …"."""
    reason, detail = one_line(record.reason), one_line(record.detail)
    if result == "*" and reason in _FAULTS:
        sentence = f"Void game: an engine {_FAULTS[reason]}"
    elif result == "*":
        sentence = f"No result: {reason}" if reason else "No result"
    elif result == "1/2-1/2":
        sentence = _DRAWS.get(reason, f"Draw: {reason}" if reason else "Draw")
    else:
        winner, loser = _SIDES if result == "1-0" else _SIDES[::-1]
        if reason in _FAULTS:
            sentence = f"{loser} {_FAULTS[reason]}"
        elif reason == "mate":
            sentence = f"{winner} mates"
        else:
            sentence = f"{winner} wins" + (f": {reason}" if reason else "")
    sentence += f" ({detail})" if detail else ""
    return "; ".join([sentence, *map(one_line, note_lines(record))])


def _comment(text: str) -> Iterator[str]:
    """Yield the words of a comment; braces, which PGN cannot quote, become
    parentheses."""
    words = one_line(text, 2000).translate(_BRACES).split()
    if words:
        words[0] = "{" + words[0]
        words[-1] += "}"
        yield from words


_BRACES = str.maketrans("{}", "()")


def _wrapped(words: list[str]) -> str:
    """Return words on lines of at most 79 characters.

    In the first column % would hide a line and [ look like a tag, so a space
    goes before them; ; likewise.
    """
    finished: list[str] = []
    line = ""
    for word in words:
        while word:
            if line and len(line) + 1 + len(word) <= _WIDTH:
                line, word = f"{line} {word}", ""
                continue
            if line:
                finished.append(line)
            indent = " " if word[0] in "%[;" else ""
            room = _WIDTH - len(indent)
            line, word = indent + word[:room], word[room:]
    return "\n".join([*finished, line])


def _quoted(value: str) -> str:
    """Return a tag's value, cleaned, as it stands between quotation marks."""
    return one_line(value, 10_000).replace("\\", "\\\\").replace('"', '\\"')
