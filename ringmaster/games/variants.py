"""Variants of chess, and its relatives, by the rules of Fairy-Stockfish (pyffish).

pyffish keeps no position: every call is given the start and the moves, and costs
about 2 milliseconds whatever it is asked, most of it for setting the variant up.
So a ply asks as little as it can: the legal moves, whether the rules of the
variant have ended the game, the position; what else may have ended it is asked
only when a position has come again, men have gone, or the game is quiet.

pyffish is an optional dependency (the extra `variants`).
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

from ringmaster.errors import IllegalMove
from ringmaster.games.game import Ending, Game
from ringmaster.games.text import cut, one_line, shown

#: What `variant` may be beside the names that pyffish has.
OWN = ("standard", "chess960")

#: Names of pyffish for what `OWN` is the better choice for, and what cannot be
#: played by two engines on one board.
_NOT_OFFERED = {"chess", "normal", "fairy", "fischerandom", "bughouse", "koedem", "supply"}

#: What game records call chess and Chess960.
_CHESS960 = frozenset(("chess960", "fischerandom", "fischerrandom", "freestyle"))
_STANDARD = frozenset(("", "standard", "chess", "normal", "classical", "fromposition"))

#: Variants in which pyffish's optional endings are repetition and the count of
#: moves without progress only, so that they need not be looked for at every ply.
_PLAIN_ENDINGS = frozenset(
    (
        *("3check", "5check", "antichess", "atomic", "capablanca", "capahouse", "crazyhouse"),
        *("extinction", "giveaway", "gothic", "grand", "horde", "kingofthehill", "losers"),
        *("minixiangqi", "nocheckatomic", "racingkings", "seirawan", "shouse", "suicide"),
        *("threekings", "xiangqi"),
    )
)
#: Plies without a man lost from which on a count of moves may end a game.
_QUIET = 16


def variant_names() -> tuple[str, ...]:
    """Return the names that `variant` may have, `OWN` first.

    Raises ValueError where pyffish is not installed.
    """
    return (*OWN, *(v for v in _pyffish().variants() if v not in _NOT_OFFERED))


def check_variant(name: str) -> None:
    """Raises ValueError, saying what would be right, when `name` is no variant
    that can be played here."""
    if name in OWN:
        return
    if name in _NOT_OFFERED:
        better = {"chess": "standard", "normal": "standard", "fischerandom": "chess960"}.get(name)
        raise ValueError(
            f"variant {name!r} is called {better!r} here"
            if better
            else f"variant {name!r} cannot be played by two engines on one board"
        )
    names = variant_names()
    if name not in names:
        raise ValueError(f"there is no variant {name!r}; {_nearest(name, names)}")


def check_variant_tag(tag: str, variant: str) -> None:
    """Raises ValueError when a game record that names its variant so is of another
    variant than this."""
    played = re.sub(r"[\s_-]", "", tag.casefold())
    if variant == "standard" and played not in _STANDARD:
        right = "chess960" if played in _CHESS960 else tag
        raise ValueError(f"this is a game of {shown(tag)}; expected variant = {right!r}")
    if variant == "chess960" and played not in _CHESS960 | _STANDARD:
        raise ValueError(f"this is a game of {shown(tag)}, not of Chess960")


def _nearest(name: str, names: tuple[str, ...]) -> str:
    """Return what may have been meant, as part of a sentence."""
    import difflib

    folded = re.sub(r"[\W_]", "", name.casefold())
    close = difflib.get_close_matches(folded, names, n=3, cutoff=0.5)
    if not close:
        return "there are standard, chess960, crazyhouse, xiangqi and others"
    return f"the nearest {'is' if len(close) == 1 else 'are'} {', '.join(close)}"


def _pyffish() -> ModuleType:
    try:
        import pyffish
    except ImportError:
        raise ValueError(
            "variants other than Chess960 need pyffish, which is not installed: "
            "pip install 'ringmaster-engines[variants]'"
        ) from None
    module: ModuleType = pyffish
    return module


class VariantGame(Game):
    """A game of a variant.  White is the side that FEN calls w, whatever it is
    called over the board."""

    colours = ("white", "black")

    __slots__ = (
        "_ending",
        "_fen",
        "_legal",
        "_men",
        "_quiet",
        "_seen",
        "_side",
        "_start_fen",
        "_variant",
    )

    def __init__(self, variant: str, fen: str | None = None) -> None:
        """Start from `fen`, in pyffish's form, or the variant's usual position.

        Raises ValueError, saying what is wrong, for another variant than
        `check_variant` lets pass, or a FEN that is none of this variant.
        """
        super().__init__()
        check_variant(variant)
        rules = _pyffish()
        if fen is None:
            fen = str(rules.start_fen(variant))
        else:
            with _what_is_printed() as printed:
                valid = rules.validate_fen(fen, variant) == rules.FEN_OK
            if not valid:
                raise ValueError(_said(printed) or f"this is no position of {variant}")
        self._variant = variant
        self._start_fen = fen
        self._seen: Counter[str] = Counter()
        self._men = ""
        self._quiet = 0
        self._take_stock()

    @property
    def to_move(self) -> int:
        return self._side

    def play(self, move: str) -> None:
        if move not in self._legal:
            raise IllegalMove(cut(move, 40), self._fen, self._why_illegal(move))
        self.moves.append(move)
        self._take_stock()

    def ending(self) -> Ending | None:
        return self._ending

    def position(self) -> str:
        return self._fen

    def in_check(self) -> bool:
        return bool(_pyffish().gives_check(self._variant, self._fen, []))

    def from_san(self, san: str) -> str:
        """Return the legal move that `san` means.  Raises ValueError."""
        rules, wanted = _pyffish(), _bare(san)
        # a name costs 2 ms: only those of moves to the same square are asked for
        squares = re.findall("[a-l][0-9]{1,2}", wanted)
        found = [
            move
            for move in self._legal
            if (not squares or squares[-1] in move)
            and wanted
            == _bare(rules.get_san(self._variant, self._fen, move, False, rules.NOTATION_SAN))
        ]
        if not found and san in self._legal:
            found = [san]
        if len(found) != 1:
            raise ValueError("it is ambiguous" if found else "it is not legal here")
        return found[0]

    def _take_stock(self) -> None:
        """Look at the position after a move, once for all that is asked of it."""
        rules, variant, fen, moves = _pyffish(), self._variant, self._start_fen, self.moves
        self._fen = str(rules.get_fen(variant, fen, moves, False, False, True))
        board, turn, *rest = self._fen.split()
        self._side = 0 if turn == "w" else 1
        # all but the two counters at its end; [] holds what can be dropped
        key = " ".join((board, turn, *rest[:-2]))
        self._seen[key] += 1
        repeated = self._seen[key] > 1
        men = "".join(sorted(filter(str.isalpha, board)))
        changed = men != self._men
        self._men = men
        clock = int(rest[-2]) if len(rest) > 1 and rest[-2].isdecimal() else 0
        self._quiet = max(clock, 0 if changed else self._quiet + 1)
        self._legal: dict[str, None] = dict.fromkeys(rules.legal_moves(variant, fen, moves))
        self._ending = self._find_ending(repeated=repeated, changed=changed)

    def _find_ending(self, *, repeated: bool, changed: bool) -> Ending | None:
        rules, variant, fen, moves = _pyffish(), self._variant, self._start_fen, self.moves
        over, value = rules.is_immediate_game_end(variant, fen, moves)
        if over:
            return self._by_value(value, "variant rules")
        if not self._legal:
            value = rules.game_result(variant, fen, moves)
            checked = rules.gives_check(variant, fen, moves)
            return self._by_value(value, "mate" if checked and value else "stalemate")
        if changed and all(rules.has_insufficient_material(variant, fen, moves)):
            return Ending(None, "material")
        if repeated or self._quiet >= _QUIET or variant not in _PLAIN_ENDINGS:
            over, value = rules.is_optional_game_end(variant, fen, moves)
            if over:
                return self._by_value(value, "repetition" if repeated else "move rule")
        return None

    def _by_value(self, value: int, reason: str) -> Ending:
        """Return an ending of which pyffish gives the value for the side to move."""
        if value == 0:
            return Ending(None, reason)
        return Ending(self._side if value > 0 else 1 - self._side, reason)

    def _why_illegal(self, move: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9@+,]{2,12}", move):
            return f"not a move as {self._variant} engines write it"
        return f"the rules of {self._variant} do not allow it"


def san_moves(variant: str, fen: str | None, moves: Sequence[str]) -> list[str]:
    """Return moves in algebraic notation, up to the first that is not legal.

    Raises ValueError for another variant than `check_variant` lets pass, and for a
    FEN that is none of this variant.
    """
    here = VariantGame(variant, fen).position()
    rules = _pyffish()
    sans = []
    for move in moves:
        # pyffish crashes on moves that are not legal, so it is asked first; one
        # position at a time, or the cost would grow with the square of the moves
        if move not in rules.legal_moves(variant, here, []):
            break
        sans.append(str(rules.get_san(variant, here, move, False, rules.NOTATION_SAN)))
        here = str(rules.get_fen(variant, here, [move]))
    return sans


def _bare(san: str) -> str:
    """Return a move in algebraic notation without its check and merit marks; the
    letter of a pawn that is dropped may be missing."""
    bare = san.rstrip("+#!?").replace("=", "").replace("0-0", "O-O").replace("O-0", "O-O")
    return f"P{bare}" if bare.startswith("@") else bare


@contextmanager
def _what_is_printed() -> Iterator[list[str]]:
    """Keep what pyffish writes to the standard error, its only way to say what is
    wrong with a FEN, off the terminal."""
    said: list[str] = []
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 2)
            try:
                yield said
            finally:
                os.dup2(kept, 2)
                file.seek(0)
                said += file.read(2000).decode(errors="replace").splitlines()
    finally:
        os.close(kept)


def _said(lines: list[str]) -> str:
    """Return what pyffish said as part of a sentence."""
    text = one_line(lines[0], 200).rstrip(".") if lines else ""
    return text[:1].lower() + text[1:]
