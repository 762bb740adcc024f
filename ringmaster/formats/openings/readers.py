"""Read openings from text files: EPD, FEN, SFEN, lists of moves, and PGN."""

from __future__ import annotations

import codecs
import re
from collections.abc import Generator, Iterator, Sequence

from ringmaster.errors import DataFileError, IllegalMove
from ringmaster.games.clean_text import shown
from ringmaster.games.game import Begin, Game, beginning
from ringmaster.model.jobs import Opening

#: Characters of a bad line that an error shows.
QUOTED = 60
#: Bytes in a line: keeps a wrong file (a disk image, /dev/zero) out of memory.
LONGEST = 1 << 16
#: A whole game with comments may stand on one line.
LONGEST_OF_PGN = 1 << 20


def cannot_read(path: str, error: OSError) -> DataFileError:
    """Return the error for an operating system's refusal."""
    reason = (error.strerror or str(error)).lower()
    return DataFileError(path, None, f"cannot read the opening file: {reason}")


def numbered_lines(
    path: str, *, longest: int = LONGEST, latin: bool = False
) -> Generator[tuple[int, str], None, None]:
    """Yield (number from 1, stripped line) for lines that are not blank.

    longest  limit of a line in bytes
    latin    whether other lines than UTF-8 are ISO 8859-1, as the PGN standard prescribes

    Raises DataFileError for an unreadable file or one that is not text.
    """
    try:
        with open(path, "rb") as file:
            for number, raw in enumerate(iter(lambda: file.readline(longest), b""), 1):
                if number == 1:
                    raw = raw.removeprefix(codecs.BOM_UTF8)
                if len(raw) == longest:
                    raise DataFileError(path, number, "the line is too long for a text file")
                if b"\0" in raw:
                    raise DataFileError(path, number, "this is not a text file (it has a NUL)")
                try:
                    line = raw.decode().strip()
                except UnicodeDecodeError:
                    if not latin:
                        line = raw.decode(errors="backslashreplace").strip()
                        raise DataFileError(
                            path, number, f"this is not UTF-8 text: {shown(line, QUOTED)}"
                        ) from None
                    line = raw.decode("latin-1").strip()
                if line:
                    yield number, line
    except OSError as error:
        raise cannot_read(path, error) from None


_COUNTER = re.compile("[0-9]{1,6}")


def read_epd(line: str, begin: Begin, plies: int | None, source: str) -> Opening:
    """Return the opening of a line: FEN, EPD, or `startpos` or `fen …` with `moves`.

    The operations `hmvc`, `fmvn`, `id` and `eco` of an EPD are used.

    Raises ValueError for an illegal line, or one that ends the game.
    """
    if _is_list(line):
        return _read_list(line, "fen", begin, plies, source)
    fen, name = _fen_of(line)
    game = begin(fen)
    check_goes_on(game)
    return Opening(fen=game.position(), source=source, name=name)


def read_variant_epd(line: str, begin: Begin, plies: int | None, source: str) -> Opening:
    """Return the opening of a line for a chess variant; see `read_epd`.

    A FEN may have a seventh field here (remaining checks).
    """
    if _is_list(line):
        return _read_list(line, "fen", begin, plies, source)
    position, _, rest = line.partition(";")
    fields = position.split()
    count = next((i for i, f in enumerate(fields) if i > 3 and not _NUMBERS.fullmatch(f)), None)
    if count is not None:  # EPD: operations follow the position
        rest = f"{' '.join(fields[count:])};{rest}"
        fields = fields[:count]
    names = [_unquoted(operand) for opcode, operand in _operations(rest) if opcode == "id"]
    if len(fields) == 4:
        fields += ["0", "1"]
    game = begin(" ".join(fields))
    check_goes_on(game)
    return Opening(fen=game.position(), source=source, name=" ".join(names))


def _is_list(line: str) -> bool:
    """Return whether a line is `startpos` or `fen …` with moves, not an EPD."""
    first, *_ = line.split(None, 1)
    return first in ("position", "startpos", "fen") or (" moves " in line and '"' not in line)


_NUMBERS = re.compile("[0-9]+|[0-9]*[+][0-9]+|-")


def read_sfen(line: str, begin: Begin, plies: int | None, source: str) -> Opening:
    """Return the opening of a line of shogi: `startpos` or an SFEN, then perhaps `moves`.

    The word `sfen` before the SFEN is optional.  Raises ValueError; see `read_epd`.
    """
    return _read_list(line, "sfen", begin, plies, source)


def _read_list(line: str, keyword: str, begin: Begin, plies: int | None, source: str) -> Opening:
    words = line.split()
    if words[0] == "position":
        del words[0]
    at = words.index("moves") if "moves" in words else len(words)
    place, moves = words[:at], words[at + 1 :]
    if not place:
        raise ValueError(f"there is no position: expected startpos or {keyword} …")
    if place[0] == "startpos":
        if len(place) > 1:
            raise ValueError(f"after startpos comes {shown(place[1])}, not moves")
        fen = None
    else:
        fen = _completed(place[1:] if place[0] == keyword else place, keyword)
    game = begin(fen)
    fen = None if fen is None else game.position()
    play_line(game, moves if plies is None else moves[:plies])
    return Opening(fen=fen, moves=tuple(game.moves), source=source)


def _completed(fields: list[str], keyword: str) -> str:
    """Return a position with default counters where a line has none."""
    if keyword == "sfen":
        if len(fields) == 3:
            fields = [*fields, "1"]
        if len(fields) != 4:
            raise ValueError(f"a SFEN has 4 fields, then moves; this has {len(fields)}")
    elif len(fields) == 4:
        fields = [*fields, "0", "1"]
    return " ".join(fields)


def play_line(game: Game, moves: Sequence[str]) -> None:
    """Play the moves of an opening.

    Raises ValueError for an illegal move, and for a line that ends the game.
    """
    for number, move in enumerate(moves, 1):
        try:
            game.play(move)
        except IllegalMove as error:
            raise ValueError(
                f"move {number}, {shown(error.move)}, is not legal: {error.reason}"
            ) from None
    check_goes_on(game)


def check_goes_on(game: Game) -> None:
    """Raise ValueError for a finished game."""
    ending = game.ending()
    if ending is not None:
        after = f"after {len(game.moves)} plies" if game.moves else "in this position"
        raise ValueError(f"the game is over {after} ({ending.reason})")


def _fen_of(line: str) -> tuple[str, str]:
    """Return the FEN of a FEN or EPD line, and the opening's name ("" for none).

    Raises ValueError for missing fields.  The board is not checked.
    """
    fields = line.split(None, 6)
    if len(fields) == 6 and fields[4].isdigit() and fields[5].isdigit():
        return " ".join(fields), ""
    if len(fields) < 4:
        raise ValueError(f"an EPD has at least 4 fields, this has {len(fields)}")
    counters = {"hmvc": "0", "fmvn": "1"}
    names = {"eco": "", "id": ""}
    if len(fields) > 4:
        rest = line.split(None, 4)[4]
        if fields[4][0].isdigit():
            if len(fields) == 5:
                raise ValueError("a FEN has 6 fields, this has 5")
            counters = {"hmvc": fields[4], "fmvn": fields[5]}
            rest = fields[6] if len(fields) > 6 else ""
        for opcode, operand in _operations(rest):
            if opcode in counters:
                if not _COUNTER.fullmatch(operand):
                    raise ValueError(f"{opcode} is {shown(operand)}, not a number")
                counters[opcode] = operand
            elif opcode in names:
                names[opcode] = _unquoted(operand)
    fen = f"{' '.join(fields[:4])} {counters['hmvc']} {counters['fmvn']}"
    return fen, " ".join(filter(None, names.values()))


#: An opcode and its operands, in which a quoted string may hold semicolons.
_OPERATION = re.compile(r'\s*([A-Za-z][A-Za-z0-9_]*)(?=[\s;"]|$)((?:[^;"]|"[^"]*")*)(?:;|$)')


def _operations(text: str) -> Iterator[tuple[str, str]]:
    """Yield (opcode, operands) of EPD operations; the last ; may be missing."""
    at = 0
    while text[at:].strip(" \t;"):
        match = _OPERATION.match(text, at)
        if match is None:
            raise ValueError(f'{shown(text[at:].strip())} is not an EPD operation such as id "x";')
        yield match[1], match[2].strip()
        at = match.end()


def _unquoted(operand: str) -> str:
    return operand.strip('"').strip()


def read_pgn(path: str, name: str, variant: str, plies: int | None) -> Iterator[Opening]:
    """Yield the openings of a PGN file, each cut after `plies` moves.

    name  first part of the openings' sources

    Raises DataFileError with line and game.  Moves after the first `plies` are not checked.
    """
    # imported late, so that programs without such a file start faster
    from ringmaster.formats.pgn import pgn_games
    from ringmaster.formats.source import Source

    source = Source(path, "chess", variant)
    begin = beginning("chess", variant=variant)
    try:
        for game in pgn_games(source, plies):
            try:
                play_line(begin(game.start), game.moves)
            except ValueError as error:
                fault = f"game {game.number}: {error}; fewer `plies` would end the line before"
                raise source.error(game.line, fault) from None
            yield Opening(game.start, tuple(game.moves), f"{name}#{game.number}", game.opening)
        source.finish()
    except DataFileError as error:
        raise source.error(error.number, error.message.partition("\n")[0]) from None
