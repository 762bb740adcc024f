"""`ringmaster import 'fastchess …'`: a command line of fastchess or cutechess-cli
becomes a control file that plays the same match.

What both call by the same name means the same unless `cutechess` is asked.  What
only changes how things are shown or stored becomes a note; what would make it
another match is refused.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

from ringmaster.errors import UsageError
from ringmaster.model.wording import shown
from ringmaster.scaffold.command_line import Option, integer, options, real, truth
from ringmaster.scaffold.contestants import Contestant, margins
from ringmaster.scaffold.match import Match, Places
from ringmaster.scaffold.text import Call

# also as test frameworks and packages call them: cutechess-ob, fastchess-ubuntu-22.04
_FASTCHESS = re.compile(r"fast-?chess(?:[-_].*)?(?<!\.json)")
_CUTECHESS = re.compile(r"cutechess(?:[-_].*)?(?<!\.json)")

_REPORTS = "reports are up to date after every game"
_WAITS = "hang_timeout and ready_timeout say how long to wait"
#: Options that say nothing of the match itself, and what there is instead.
_NOTED = {
    "-autosaveinterval": "every result is stored at once",
    "-bookmode": "books are read once",
    "-check-mate-pvs": "`check` looks at the scores of mates",
    "-crc32": "records have no checksums",
    "-debug": "`run --log-gtp` writes transcripts",
    "-epdout": "`export --format epd` gives the final positions",
    "-force-concurrency": "`run -j` takes any number",
    "-log": "there is always a log, and `run --log-gtp` writes transcripts",
    "-outcomeinterval": _REPORTS,
    "-output": "there is one form of report",
    "-ping-ms": _WAITS,
    "-ratinginterval": _REPORTS,
    "-report": "reports have pentanomial statistics wherever there are pairs",
    "-resultformat": "there is one form of report",
    "-scoreinterval": _REPORTS,
    "-show-latency": "what a move was charged is in the records",
    "-site": "records have no site",
    "-startup-ms": _WAITS,
    "-strict": "a warning does not end a run",
    "-testEnv": "it is for test servers",
    "-ucinewgame-ms": _WAITS,
    "-use-affinity": "`run --affinity` gives games CPUs of their own",
    "-wait": "a game begins when there is room for it",
}
#: Options that cannot be taken over without playing another match.
_REFUSED = {
    "-compliance": "`ringmaster FILE check` tests engines",
    "-engines": "it plays no match",
    "-help": "it plays no match",
    "-v": "it plays no match",
    "-version": "it plays no match",
}
#: Plies that no game has: the 50-move rule ends it before.
_UNLIMITED = 10_000
_TRACKED = {
    "seldepth": "seldepth",
    "nodes": "nodes",
    "nps": "nps",
    "hashfull": "hashfull",
    "tbhits": "tbhits",
    "pv": "pv",
    "timeleft": "left",
}


def recognises(words: Sequence[str]) -> bool:
    """Whether words are a command line of one of the two programs."""
    return bool(words) and any(p.fullmatch(_program(words[0])) for p in (_FASTCHESS, _CUTECHESS))


def _program(word: str) -> str:
    return os.path.basename(word).removesuffix(".exe").lower()


def import_command_line(words: Sequence[str], places: Places) -> Match:
    """Return the match of a command line.  Raises UsageError."""
    return _Reader(words, places).match


class _Reader:
    """One command line: options are taken in order, then put together."""

    def __init__(self, words: Sequence[str], places: Places) -> None:
        self.cutechess = _CUTECHESS.fullmatch(_program(words[0])) is not None
        self.program = "cutechess-cli" if self.cutechess else "fastchess"
        self.places = places
        self.match = Match(origin=shlex.join(words))
        self.contestants: list[Contestant] = []
        self.each: list[tuple[str, str]] = []
        self.tournament = "roundrobin"
        self.seeds = 1
        self.games = 1 if self.cutechess else 2
        self.rounds: int | None = None
        self.repeat = 1 if self.cutechess else 2
        self.swap = True
        self.reverse = False
        self.openings: dict[str, Any] | None = None
        self.policy = ""
        self.sprt: dict[str, Any] | None = None
        self.pentanomial = not self.cutechess
        self.tablebases: dict[str, Any] = {}
        self.record_info: list[str] = []
        self.late: dict[str, Any] = {}
        found = options(words[1:])
        for option in found:
            self._take(option)
        self._finish()

    def _take(self, option: Option) -> None:
        if option.name in _REFUSED:
            raise UsageError(f"{option.name}: {_REFUSED[option.name]}")
        handler = _HANDLERS.get(option.name)
        if handler is not None:
            handler(self, option)
        if option.name in _NOTED:
            self.match.note(f"{option} ({_NOTED[option.name]})")
        elif handler is None:
            self.match.note(f"{option} (there is no such option of {self.program} known here)")

    # one method for each option

    def _engine(self, option: Option) -> None:
        contestant = Contestant(len(self.contestants) + 1)
        self.contestants.append(contestant)
        contestant.take(option.pairs(), self.match, self.cutechess)

    def _each(self, option: Option) -> None:
        self.each += option.pairs()

    def _tournament(self, option: Option) -> None:
        name = option.single().replace("-", "")
        if name in ("knockout", "pyramid"):
            raise UsageError(f"-tournament {name}: there are no such tournaments here")
        if name not in ("roundrobin", "gauntlet"):
            raise UsageError(f"-tournament {shown(name)} is neither roundrobin nor gauntlet")
        self.tournament = name

    def _seeds(self, option: Option) -> None:
        self.seeds = max(1, integer(option.single(), option.name, 0, 10**6))

    def _games(self, option: Option) -> None:
        self.games = integer(option.single(), option.name, 1, 10**9)

    def _rounds(self, option: Option) -> None:
        self.rounds = integer(option.single(), option.name, 1, 10**9)

    def _repeat(self, option: Option) -> None:
        count = integer(option.single(), option.name, 1, 10**9) if option.values else 2
        if self.cutechess:
            self.repeat = count
        else:
            self.games = count

    def _concurrency(self, option: Option) -> None:
        self.match.parallel = integer(option.single(), option.name, 1, 10**6)

    def _event(self, option: Option) -> None:
        self.match.description = " ".join(option.values)

    def _srand(self, option: Option) -> None:
        self.late["seed"] = integer(option.single(), option.name, 0, 2**63)
        self.match.different.append("the same seed gives another order of the openings")

    def _variant(self, option: Option) -> None:
        name = option.single()
        if not name.isprintable() or not name:
            raise UsageError(f"-variant {shown(name)} is not a variant")
        if name != "standard":
            self.late["variant"] = "chess960" if name == "fischerandom" else name

    def _openings(self, option: Option) -> None:
        keys = ("file", "format", "order", "plies", "start", "policy")
        given = option.mapping(keys)
        if not given.get("file"):
            raise UsageError("-openings has no file")
        book: dict[str, Any] = {}
        extension = os.path.splitext(given["file"])[1].lower()
        form = given.get("format") or ("pgn" if self.cutechess else extension.removeprefix("."))
        if form not in ("epd", "pgn"):
            raise UsageError(f"-openings format={shown(form)} is neither epd nor pgn")
        if extension != f".{form}":
            book["format"] = form
        order = given.get("order", "sequential")
        if order not in ("random", "sequential"):
            raise UsageError(f"-openings order={shown(order)} is neither random nor sequential")
        book["order"] = order
        start = integer(given.get("start", "1"), "-openings start", 1, 10**9)
        if start > 1:
            book["start"] = start
        if "plies" in given and form == "pgn":
            book["plies"] = integer(given["plies"], "-openings plies", 1, 10**6)
        self.policy = given.get("policy", "default")
        if self.policy not in ("default", "encounter", "round"):
            raise UsageError(f"-openings policy={shown(self.policy)} cannot be done here")
        self.openings = {"path": self.places.file(given["file"]), **book}

    def _draw(self, option: Option) -> None:
        given = option.mapping(("movenumber", "movecount", "score"))
        self._complete(option, given, ("movenumber", "movecount", "score"))
        self.late["draw_adjudication"] = Call(
            "DrawAdjudication",
            (),
            {
                # both count full moves from 1: 0 is "at once" as well
                "move_number": max(1, integer(given.get("movenumber", "0"), "-draw movenumber", 0)),
                "move_count": integer(given.get("movecount", "1"), "-draw movecount", 1),
                "score": integer(given.get("score", "0"), "-draw score", 0),
            },
        )

    def _resign(self, option: Option) -> None:
        given = option.mapping(("movecount", "score", "twosided"))
        self._complete(option, given, ("movecount", "score"))
        arguments: dict[str, Any] = {
            "move_count": integer(given.get("movecount", "1"), "-resign movecount", 1),
            "score": integer(given.get("score", "0"), "-resign score", 0),
        }
        if truth(given.get("twosided", "false"), "-resign twosided"):
            arguments["two_sided"] = True
        self.late["resign_adjudication"] = Call("ResignAdjudication", (), arguments)

    def _complete(self, option: Option, given: dict[str, str], keys: Sequence[str]) -> None:
        missing = [key for key in keys if key not in given]
        if missing and (self.cutechess or not given):
            raise UsageError(f"{option.name} has no {missing[0]}")

    def _maxmoves(self, option: Option) -> None:
        count = integer(option.single(), option.name, 0, 10**6)
        if count:
            self.late["move_limit"] = 2 * count

    def _tb(self, option: Option) -> None:
        text = option.single()
        separators = ";" if self.cutechess else ";:"
        for separator in separators[1:]:
            text = text.replace(separator, ";")
        paths = [self.places.file(path) for path in text.split(";") if path]
        if not paths:
            raise UsageError("-tb has no folder")
        self.tablebases["paths"] = paths[0] if len(paths) == 1 else paths

    def _tbpieces(self, option: Option) -> None:
        self.tablebases["pieces"] = integer(option.single(), option.name, 3, 32)

    def _tbignore50(self, option: Option) -> None:
        self.tablebases["ignore_50_moves"] = True

    def _tbadjudicate(self, option: Option) -> None:
        if option.single() != "BOTH":
            raise UsageError(
                f"{option.name} {shown(option.single())}: tablebases end every game that they know "
                "the result of; leave the option out to have it so"
            )

    def _sprt(self, option: Option) -> None:
        given = option.mapping(("elo0", "elo1", "alpha", "beta", "model"))
        missing = [key for key in ("elo0", "elo1", "alpha", "beta") if key not in given]
        if missing:
            raise UsageError(f"-sprt has no {missing[0]}")
        model = given.get("model", "logistic" if self.cutechess else "normalized")
        if model not in ("normalized", "logistic"):
            raise UsageError(f"-sprt model={shown(model)} is neither normalized nor logistic")
        test: dict[str, Any] = {
            key: _short(real(given[key], f"-sprt {key}")) for key in ("elo0", "elo1")
        }
        test |= {key: real(given[key], f"-sprt {key}", above=0) for key in ("alpha", "beta")}
        if test["elo0"] >= test["elo1"]:
            raise UsageError("-sprt: elo0 must be less than elo1")
        if test["alpha"] + test["beta"] >= 1:
            raise UsageError("-sprt: alpha and beta together must be less than 1")
        self.sprt = {**test, "model": model}

    def _report(self, option: Option) -> None:
        if option.mapping(("penta",)).get("penta") == "false":
            self.pentanomial = False

    def _output(self, option: Option) -> None:
        if option.mapping(("format",)).get("format") == "cutechess":
            self.pentanomial = False

    def _recover(self, option: Option) -> None:
        self.late["failures"] = "loss"

    def _noswap(self, option: Option) -> None:
        self.swap = False

    def _reverse(self, option: Option) -> None:
        self.reverse = True

    def _pgnout(self, option: Option) -> None:
        pairs = option.pairs()
        if any("=" in value for value in option.values):
            name = dict(pairs).get("file", "")
            pairs = [(key, value) for key, value in pairs if key != "file"]
        else:  # cutechess-cli: FILE [min] [fi]
            name = option.values[0] if option.values else ""
            pairs = [(key, "true") for key in option.values[1:]]
        if not name:
            raise UsageError("-pgnout has no file")
        self.match.note(f"-pgnout {name} (the records have the name of the control file)")
        for key, value in pairs:
            if key in _TRACKED:
                if truth(value, f"-pgnout {key}"):
                    self.record_info.append(_TRACKED[key])
            elif (key, value) not in (("notation", "san"), ("fi", "true"), ("append", "true")):
                self.match.note(f"-pgnout {key}={value}")

    def _config(self, option: Option) -> None:
        given = option.mapping(("file", "discard", "outname", "stats"))
        if "file" in given and given.get("discard") != "true":
            raise UsageError("-config file=…: that file says what is played; give the options here")
        self.match.note(f"{option} (the status file has the name of the control file)")

    def _quick(self, option: Option) -> None:
        for key, value in option.pairs():
            if key == "cmd":
                contestant = Contestant(len(self.contestants) + 1)
                contestant.take([("cmd", value), ("tc", "10+0.1")], self.match, self.cutechess)
                self.contestants.append(contestant)
            elif key == "book":
                self._openings(Option("-openings", (f"file={value}", "order=random")))
            else:
                raise UsageError(f"-quick has {shown(key)}; expected cmd or book")
        self.games, self.rounds = 2, 25000
        self._recover(option)
        self._draw(Option("-draw", ("movenumber=30", "movecount=8", "score=8")))

    # putting it together

    def _finish(self) -> None:
        if len(self.contestants) < 2:
            raise UsageError(f"a match needs two engines, there are {len(self.contestants)}")
        for contestant in self.contestants:
            contestant.take(self.each, self.match, self.cutechess)
            contestant.enter(self.match, self.places, self.cutechess)
        self._own_books()
        self._pairing()
        settings = self.match.settings
        settings |= dict(margins(self.contestants, self.match))
        if "margin" in settings:
            self.match.comments["margin"] = "Seconds that a clock may be overstepped: timemargin."
        if self.openings is not None:
            book = dict(self.openings)
            settings["openings"] = Call("Openings", (book.pop("path"),), book)
            self._check_repeat()
        settings |= self.late
        self._comments()
        if self.tablebases and "paths" not in self.tablebases:
            self.match.note("-tbpieces, -tbignore50 (there is no -tb)")
        elif self.tablebases:
            arguments = dict(self.tablebases)
            settings["tablebases"] = Call("Tablebases", (arguments.pop("paths"),), arguments)
        if self.record_info:
            settings["record_info"] = list(dict.fromkeys(self.record_info))
        self._order()

    def _comments(self) -> None:
        comments = self.match.comments
        limited = "move_limit" in self.match.settings
        self.match.settings.setdefault("move_limit", _UNLIMITED)
        comments["move_limit"] = f"Plies: {'' if limited else 'there is no '}-maxmoves."
        if "failures" in self.match.settings:
            comments["failures"] = "An engine that crashes or hangs loses the game: -recover."
        else:
            self.match.different.append(
                f"{self.program} ends the match when an engine crashes; here the game is void and "
                'played again, at most twice in a row (failures = "loss": it loses)'
            )

    def _own_books(self) -> None:
        """Take a Polyglot book that all engines share for the openings."""
        books = {(c.book, c.book_depth) for c in self.contestants}
        if books == {("", None)}:
            return
        book, depth = next(iter(books))
        if len(books) > 1 or not book:
            raise UsageError("book: engines cannot have books of their own; one for all can be")
        if self.openings is not None:
            raise UsageError("book and -openings cannot be used together here")
        self.openings = {"path": self.places.file(book), "format": "polyglot", "order": "random"}
        if depth is not None:
            self.openings["plies"] = 2 * depth
        self.match.different.append("the book is gone through before the game, not by the players")

    def _check_repeat(self) -> None:
        times = self.repeat if self.cutechess else self.games
        if times != 2 and self.swap:
            often = "once" if times == 1 else f"{times} times"
            self.match.different.append(
                f"{self.program} plays each opening {often} by these options; here it is played "
                "twice, with the colours swapped"
            )

    def _pairing(self) -> None:
        rounds = self.rounds
        if rounds is None:
            # fastchess plays on until its test is decided
            rounds = 1 if self.cutechess else 2 if self.sprt is None else 500_000
        if not self.cutechess and self.games > 2:
            # fastchess takes them for the rounds
            self.games, rounds = rounds, self.games
            if self.games > 2:
                total = self.games * rounds
                raise UsageError(
                    f"-games {rounds} -rounds {self.games}: a round of fastchess has 1 or 2 games, "
                    f"and it refuses both above 2; write -games 2 -rounds {-(-total // 2)} for "
                    f"{total} games"
                )
        total = self.games * rounds
        codes = self.match.codes()
        if self.reverse:
            codes.reverse()
        settings = self.match.settings
        if self.sprt is not None and len(codes) > 2:
            raise UsageError(f"-sprt is for two engines, there are {len(codes)}")
        if self.tournament == "gauntlet" and len(codes) > 2:
            self._gauntlet(self.match.codes(), total)
        elif len(codes) > 2 and self.swap:
            self.match.type_name = "allplayall"
            settings["competitors"] = codes
            settings["rounds"] = total
            self.match.comments["rounds"] = "Games of each pairing: games × rounds."
        else:
            fixed: dict[str, Any] = {} if self.swap else {"alternating": False}
            if self.sprt is not None:
                self.sprt["pentanomial"] = self.pentanomial and self.swap and self.games == 2
                fixed["sprt"] = Call("SPRT", (), self.sprt)
            settings["number_of_games"] = total
            self.match.comments["number_of_games"] = "Games of each pairing: games × rounds."
            settings["matchups"] = [Call("Matchup", pair, fixed) for pair in combinations(codes, 2)]
        several = len(codes) > 2
        if several and self.openings is not None and self.cutechess and self.policy != "round":
            self.openings["policy"] = "encounter"
        elif self.policy not in ("", "default", "round"):
            self.match.note(f"-openings policy={self.policy} (there is only one pairing)")

    def _gauntlet(self, codes: list[str], total: int) -> None:
        if not self.swap:
            raise UsageError("-noswap: in a gauntlet the colours are swapped")
        if self.seeds >= len(codes):
            raise UsageError(f"-seeds {self.seeds}: there are {len(codes)} engines only")
        if self.reverse:
            self.match.note("-reverse (colours are swapped from game to game)")
        self.match.type_name = "gauntlet"
        self.match.settings["challengers"] = codes[: self.seeds]
        self.match.settings["opponents"] = codes[self.seeds :]
        self.match.settings["rounds"] = total
        self.match.comments["rounds"] = "Games of each pairing: games × rounds."

    def _order(self) -> None:
        """Put the pairings last, as they are read last."""
        last = ("competitors", "challengers", "opponents", "matchups")
        settings = self.match.settings
        first = {name: value for name, value in settings.items() if name not in last}
        self.match.settings = first | {name: settings[name] for name in last if name in settings}


def _short(value: float) -> int | float:
    return int(value) if value == int(value) else value


_HANDLERS: dict[str, Callable[[_Reader, Option], None]] = {
    "-concurrency": _Reader._concurrency,
    "-config": _Reader._config,
    "-draw": _Reader._draw,
    "-each": _Reader._each,
    "-engine": _Reader._engine,
    "-event": _Reader._event,
    "-games": _Reader._games,
    "-maxmoves": _Reader._maxmoves,
    "-noswap": _Reader._noswap,
    "-openings": _Reader._openings,
    "-output": _Reader._output,
    "-pgnout": _Reader._pgnout,
    "-quick": _Reader._quick,
    "-recover": _Reader._recover,
    "-repeat": _Reader._repeat,
    "-report": _Reader._report,
    "-resign": _Reader._resign,
    "-reverse": _Reader._reverse,
    "-rounds": _Reader._rounds,
    "-seeds": _Reader._seeds,
    "-sprt": _Reader._sprt,
    "-srand": _Reader._srand,
    "-tb": _Reader._tb,
    "-tbadjudicate": _Reader._tbadjudicate,
    "-tbignore50": _Reader._tbignore50,
    "-tbpieces": _Reader._tbpieces,
    "-tournament": _Reader._tournament,
    "-variant": _Reader._variant,
}
