"""Read the games of PGN files: main lines with the scores of their comments.

`chess.pgn` knows neither line numbers nor variants such as xiangqi, and passes over words that
are no moves.  A CPU second reads 175,000 plies of engine games with comments (`chess.pgn`:
52,000), and 185,000 plies of a book with 16 plies a game (`chess.pgn`: 63,000).

Three kinds of comments hold scores:

- fastchess, cutechess-cli and ringmaster write "+0.35/12 0.1s" or "-M4/20" after a move, from
  its mover's side;
- lichess.org writes "[%eval 0.17]" and "[%eval #-3]", from White's side, for the position
  *after* the move;
- TCEC writes "wv=0.35", from White's side, for the move.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ringmaster.errors import DataFileError
from ringmaster.formats.annotations import score_of
from ringmaster.formats.recorded_game import RESULTS, RecordedGame, limited
from ringmaster.formats.source import MATE, Source
from ringmaster.games.clean_text import one_line, shown
from ringmaster.games.game import Begin, beginning
from ringmaster.games.san import move_of, san_moves
from ringmaster.games.variants import check_variant_tag

#: A comment, which ends before a tag behind an empty line; text without a meaning; a tag, which
#: begins its line or follows another, and whose value may have lines, and quotes and backslashes
#: that are not escaped, but no other tag; a tag that is not complete; words up to the end of their
#: line.
_PGN = re.compile(
    r"(?P<comment>\{(?:[^}\n]+|\n(?!(?:[ \t]*\n)+\[\s*\w+\s+\"))*\}?)|;[^\n]*|^%[^\n]*|\$\d*"
    r'|(?:^|(?<=\])[ \t]*)(?P<tag>\[\s*(\w+)\s+"'
    r'((?:\\.|[^"\\\n\[]|\[(?!\s*\w+\s+")|"(?!\s*\])|\\(?="\s*\]\s*$)|\n(?![ \t]*\n|\[))*)"'
    r"\s*\])"
    r"|(?P<bad>(?:^|(?<=\])[ \t]*)\[[^\n]*(?:\n(?!\[|[ \t]*\n|\Z)[^\n]*){0,9})"
    r"|(?P<bracket>[()}])"
    r"|(?P<words>[^{}();$\n]+(?:(?<=[a-h][18])\([NBRQ]\)[^{}();$\n]*)*)",
    re.MULTILINE,
)
_AFTER_BLANK = re.compile(r"\n[ \t]*\n\Z")
_TOKEN = re.compile(r"\S+")
_POINTS = {**RESULTS, "*": math.nan}
_NULL_MOVES = frozenset(("--", "Z0", "0000", "@@@@", "null"))
#: Signs that judge a move or a position, and words of printed games.
_SIGNS = "!?±∓⩲⩱=∞□⊕⟳→↑⇆⇄⇔∆Δ○⌓≤≥+-/#~…"
_WORDS = frozenset(("N", "D", "e.p.", "ep", "ch", "mate"))
#: Characters of a bad line that an error shows.
_QUOTED = 60
#: Characters of the longest game.
_LONGEST = 1 << 24

_OF_POSITION = re.compile(r"\[%eval\s+(?:#([+-]?)\d+|([+-]?\d{1,5}(?:\.\d+)?))")
_OF_TCEC = re.compile(r"(?:^|[\s,])wv=(?:([+-]?)M\d+|([+-]?\d{1,5}(?:\.\d+)?))")

#: The Termination tag, or the comment of the last move, of a game that was lost by a fault: words
#: of engine matches, of lichess.org, chess.com and FICS.
_FORFEIT = re.compile(
    r"\b(?:time forfeit|(?:loses|lost|won|wins) on time|forfeits|rules infraction|illegal move"
    r"|abandoned|disconnects|stalled connection|connection stalls)\b",
    re.IGNORECASE,
)


def pgn_games(source: Source) -> Iterator[RecordedGame]:
    """Yield the games of a PGN file, unfinished ones included.

    Bad games are left out and reported to `source`; the caller calls `source.finish`.  An
    illegal last move of a game that was lost by it is no fault of the file.  Moves with
    annotations are as they are written, and are not checked: a page shows many games.

    Raises DataFileError.
    """
    begin = beginning("chess", variant=source.variant)
    for number, text in enumerate(game_texts(source), source.previous + 1):
        if source.annotated:
            yield _annotated(text, number)
            continue
        try:
            game = _played(source, begin, text, number)
        except DataFileError as fault:
            source.bad(fault.number or 0, f"game {number}: {fault.message}", "bad games")
        else:
            yield game


@dataclass(slots=True)
class GameText:
    """The text of a game, without knowledge of the rules.  Places are those of characters.

    tags      values by names in lower case
    words     moves as they are written, with signs
    runs      number of moves before each run of moves, and its place
    comments  with the number of moves before them
    result    "" for none
    fault     number of moves before the first fault, its place and message
    begin     place of the first tag, move, result or fault, -1 for no game
    text      text from the end of the game before, its place and first line
    """

    tags: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    runs: list[tuple[int, int]] = field(default_factory=list)
    comments: list[tuple[int, str]] = field(default_factory=list)
    result: str = ""
    fault: tuple[int, int, str] | None = None
    begin: int = -1
    text: tuple[str, int, int] = ("", 0, 0)

    def add_moves(self, words: list[str], place: int) -> None:
        """Add a run of moves, of which some may be empty."""
        before = len(self.words)
        self.words += filter(None, words)
        if len(self.words) > before:
            self.add_place(place)
            self.runs.append((before, place))

    def add_place(self, place: int) -> None:
        """Note the beginning of the game."""
        if self.begin < 0:
            self.begin = place

    def add_fault(self, place: int, message: str) -> None:
        """Record a fault, unless there is an earlier one."""
        self.add_place(place)
        self.fault = self.fault or (len(self.words), place, message)

    def line(self, place: int) -> int:
        text, start, first = self.text
        return first + text.count("\n", 0, place - start)


def game_texts(source: Source) -> Iterator[GameText]:
    """Yield the texts of a file's games.

    A game ends at its result or before the next tags.  Raises DataFileError.
    """
    text, line = "", source.first
    pieces = ((piece + "\n", False) for _, piece in source.texts())
    for piece, is_whole in itertools.chain(pieces, [("", True)]):
        text += piece
        stop = 0
        for game, end in _split(text, is_whole):
            game.text = text[stop:end], stop, line
            line += text.count("\n", stop, end)
            stop = end
            yield game
        text = text[stop:]
        if len(text) > _LONGEST:
            raise source.error(line, "a game begins here and does not end")


def _split(text: str, is_whole: bool) -> Iterator[tuple[GameText, int]]:
    """Yield the games of a text with their ends; the last one only where the text is whole."""
    game = GameText()
    #: Whether the next tag begins another game, even without moves.
    is_broken = False
    #: Places of open variations.
    variations: list[int] = []
    for match in _PGN.finditer(text):
        place, kind = match.start(), match.lastgroup
        if kind == "words":
            if variations:
                continue
            text_of_run = match[0].replace("…", ".")
            words = list(map(_word, text_of_run.split()))
            if _POINTS.keys().isdisjoint(words):
                game.add_moves(words, place)
                continue
            for word, token in zip(words, _TOKEN.finditer(text_of_run), strict=True):
                if word in _POINTS:
                    if game.begin < 0:
                        continue  # a repeated result is no game
                    game.add_place(place + token.start())
                    game.result = word
                    yield game, place + token.end()
                    game, is_broken = GameText(), False
                else:
                    game.add_moves([word], place + token.start())
        elif kind == "comment":
            if not match[0].endswith("}"):
                game.add_fault(place, "a comment begins here and does not end")
                is_broken = True
            elif not variations:
                game.comments.append((len(game.words), match[0][1:-1]))
        elif kind == "bracket":
            if match[0] == "(":
                variations.append(place)
            elif match[0] == ")" and variations:
                variations.pop()
            else:
                quoted = shown(text[place : text.find("\n", place)], _QUOTED)
                game.add_fault(place, f"{match[0]} closes nothing: {quoted}")
        elif kind == "bad":
            if not variations:
                quoted = shown(match[0].strip().partition("\n")[0], _QUOTED)
                game.add_fault(place, f"this is not a PGN tag: {quoted}")
        elif kind == "tag":
            if variations:
                game.add_fault(variations[-1], "a variation begins here and does not end")
                variations.clear()
            name, value = match[3].lower(), match[4].replace("\n", " ")
            if "\\" in value:
                value = re.sub(r"\\(.)", r"\1", value)
            is_repeated = name in game.tags and _AFTER_BLANK.search(text, max(place - 80, 0), place)
            if game.words or is_broken or is_repeated:
                yield game, place
                game, is_broken = GameText(), False
            game.add_place(place)
            # comments before the tags belong to the game before
            game.comments.clear()
            if game.tags.setdefault(name, value) != value and name == "fen":
                game.add_fault(place, f"there is a second position: {shown(value, _QUOTED)}")
    if is_whole:
        if variations:
            game.add_fault(variations[-1], "a variation begins here and does not end")
        if game.begin >= 0:
            yield game, len(text)


def _word(token: str) -> str:
    """Return a move or a result without its number, "" for other words."""
    if token < ":":  # no letter
        number, dot, rest = token.partition(".")
        if dot and (not number or number.isdigit()):
            token = rest.lstrip(".")
        elif number.isdigit() and len(number) < 4:
            return ""
    if token in _POINTS or token in _NULL_MOVES:
        return token
    bare = token.rstrip(_SIGNS)
    return token if bare and bare not in _WORDS else ""


def _played(source: Source, begin: Begin, text: GameText, number: int) -> RecordedGame:
    """Return a game with checked moves.  Raises DataFileError for its first fault."""
    tags, words = text.tags, text.words
    points = _POINTS.get(text.result or tags.get("result", "*"), math.nan)
    behind = [comment for count, comment in text.comments if count == len(words)]
    is_forfeit = any(map(_FORFEIT.search, (tags.get("termination", ""), *behind)))
    before, place, fault = text.fault or (len(words), 0, "")
    if fault and not before:
        raise source.error(text.line(place), fault)
    fen = tags.get("fen")
    try:
        if fen is None and tags.get("setup") == "1":
            raise ValueError("the tag SetUp tells of a position, but there is no tag FEN")
        check_variant_tag(tags.get("variant", ""), source.variant)
        position = begin(fen)
    except ValueError as error:
        quoted = "" if fen is None else f": {shown(fen, _QUOTED)}"
        raise source.error(text.line(text.begin), f"{error}{quoted}") from None
    start, first = None if fen is None else position.position(), position.to_move
    for word in words[:before][: source.plies]:
        try:
            if word in _NULL_MOVES:
                raise ValueError("is a null move, which no player can make")
            word = word.rstrip(_SIGNS)
            position.play(move_of(position, word))
        except ValueError as error:
            is_last = len(position.moves) == len(words) - 1
            if is_last and is_forfeit and points in (0.0, 1.0):
                break
            sans = san_moves(source.variant, start, position.moves)
            after = f" (after {'… ' if len(sans) > 4 else ''}{' '.join(sans[-4:])})"
            message = f"{shown(word, _QUOTED)} {error}{after if sans else ''}"
            runs = [run for count, run in text.runs if count <= len(position.moves)]
            raise source.error(text.line(runs[-1]), message) from None
    if fault:
        raise source.error(text.line(place), fault)
    if not (words or start or text.result):
        raise source.error(text.line(text.begin), "it has no moves and no result")
    game = RecordedGame(
        number,
        text.line(text.begin),
        one_line(tags.get("gameid") or tags.get("round", "")).strip("?-"),
        start,
        position.moves,
        [math.nan] * len(position.moves),
        result=points,
        is_forfeit=is_forfeit,
        opening=_opening_name(tags),
        first=first,
    )
    _read_comments(game, text.comments)
    return game


def _opening_name(tags: dict[str, str]) -> str:
    titles = [one_line(tags.get(key, ""), 80) for key in ("eco", "opening", "variation")]
    return " ".join(title for title in titles if title.strip("?"))


def _read_comments(game: RecordedGame, comments: list[tuple[int, str]]) -> None:
    """Record the scores of comments."""
    first, count = game.first, len(game.moves)
    for plies, text in comments:
        if plies > count:
            # the moves are limited, or the last one is illegal
            break
        score = score_of(text, (plies - 1 + first) % 2)[0] if plies else None
        if score is not None:
            game.scores[plies - 1] = limited(score)
        elif text == "book" and game.book == plies - 1:
            game.book += 1
        elif plies and "wv=" in text:
            game.scores[plies - 1] = _white_score(text, _OF_TCEC)
        if plies < count and "[%eval" in text:
            game.scores[plies] = _white_score(text, _OF_POSITION)


def _white_score(text: str, form: re.Pattern[str]) -> float:
    """Return White's score in a comment, NaN for none.

    form  first group: sign of a mate; second group: pawns
    """
    match = form.search(text)
    if match is None:
        return math.nan
    if match[2] is None:
        return -MATE if match[1] == "-" else MATE
    return limited(round(100 * float(match[2]), 3))


def _annotated(text: GameText, number: int) -> RecordedGame:
    """Return a game of our own records with its annotations, and moves as they are written."""
    tags, fen = text.tags, text.tags.get("fen")
    game = RecordedGame(
        number,
        text.line(text.begin),
        start=fen,
        moves=text.words,
        opening=_opening_name(tags),
        first=int(fen is not None and fen.split()[1:2] == ["b"]),
        variant=tags.get("variant", "standard").lower().replace(" ", ""),
        date=tags.get("date", "").replace(".", "-").strip("?-"),
        comments=[""] * len(text.words),
    )
    common = tags.get("timecontrol", "")
    for side in ("white", "black"):
        clock = tags.get(f"{side}timecontrol", common).strip("-")
        game.time_controls += (tags.get(f"{side}limits") or clock,)
    # the last comment gives the reason of the result
    for plies, comment in text.comments[:-1]:
        if plies:
            game.comments[plies - 1] = comment
            game.book += comment == "book" and game.book == plies - 1
    return game
