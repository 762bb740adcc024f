"""Import the config.json that fastchess saves, as the options of its command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ringmaster.errors import UsageError, is_text, shown
from ringmaster.parameter_files.text import Text
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.foreign_values import Option
from ringmaster.scaffold.match_runners import MatchReader

#: The option of each key, and the value that needs no option.
_PLAIN: dict[str, tuple[str, Any]] = {
    "games": ("-games", None),
    "rounds": ("-rounds", None),
    "concurrency": ("-concurrency", None),
    "gauntlet_seeds": ("-seeds", 1),
    "recover": ("-recover", False),
    "noswap": ("-noswap", False),
    "reverse": ("-reverse", False),
    "affinity": ("-use-affinity", False),
    "check_mate_pvs": ("-check-mate-pvs", False),
    "force_concurrency": ("-force-concurrency", False),
    "show_latency": ("-show-latency", False),
    "wait": ("-wait", 0),
}
#: Objects that may be enabled, their options, and the option's key for each member; "" for the only
#: value of an option.
_OBJECTS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("resign", "-resign", {"move_count": "movecount", "score": "score", "twosided": "twosided"}),
    ("draw", "-draw", {f"move_{n}": f"move{n}" for n in ("number", "count")} | {"score": "score"}),
    ("sprt", "-sprt", {key: key for key in ("elo0", "elo1", "alpha", "beta", "model")}),
    ("maxmoves", "-maxmoves", {"move_count": ""}),
    ("tb_adjudication", "-tb", {"syzygy_dirs": ""}),
    ("tb_adjudication", "-tbpieces", {"max_pieces": ""}),
)
#: Words for the numbers of the file.
_WORDS = {
    "format": ("epd", "pgn", ""),
    "order": ("random", "sequential"),
    "type": ("roundrobin", "gauntlet"),
    "variant": ("standard", "fischerandom"),
    "notation": ("san", "lan", "uci"),
}
#: The event of a match without -event.
_EVENT = "Fastchess Tournament"


def recognises(text: Text) -> bool:
    """Return whether a file is the config.json of fastchess."""
    return {"engines", "opening", "sprt", "pgn"} <= text.members.keys()


def import_files(texts: Sequence[Text], places: Places) -> Match:
    """Return the match of one config.json.  Raises UsageError."""
    (text,) = texts
    config = text.members
    try:
        options = list(_options(config))
        pairings = config.get("stats", {}).values()
        played = sum(each[result] for each in pairings for result in ("wins", "losses", "draws"))
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise UsageError(
            f"import: {text.name} is not as fastchess writes it ({error!r}); import its command "
            "line instead"
        ) from None
    match = MatchReader(options, text.name, places).match
    match.different.append(
        f"fastchess's half-played match cannot be resumed: its {played} games are not imported, "
        "and this match begins anew"
    )
    return match


def _options(config: Mapping[str, Any]) -> Iterator[Option]:
    """Yield the options of the same match."""
    for engine in config["engines"]:
        yield Option("-engine", tuple(_engine(engine)))
    yield Option("-tournament", (_WORDS["type"][config["type"]],))
    yield Option("-variant", (_WORDS["variant"][config["variant"]],))
    for key, (name, usual) in _PLAIN.items():
        value = config.get(key, usual)
        if value != usual:
            yield Option(name, () if value is True else (_word("", value),))
    for part, name, keys in _OBJECTS:
        members = config[part]
        words = [_word(own, members[key]) for key, own in keys.items() if own or members[key]]
        if members["enabled"] and words:
            yield Option(name, tuple(words))
    if config["tb_adjudication"]["ignore_50_move_rule"]:
        yield Option("-tbignore50", ())
    opening = config["opening"]
    if opening["file"]:
        numbers = [key for key in ("start", "plies") if opening[key] > 0]
        words = [_word(key, opening[key]) for key in ("file", *numbers)]
        words += [f"{key}={_WORDS[key][opening[key]]}" for key in ("format", "order")]
        yield Option("-openings", tuple(words))
    pgn = config["pgn"]
    if pgn["file"]:
        flags = [key for key in pgn if (key.startswith("track_") or key == "min") and pgn[key]]
        words = [f"{key.removeprefix('track_')}=true" for key in flags]
        notation = f"notation={_WORDS['notation'][pgn['notation']]}"
        yield Option("-pgnout", (_word("file", pgn["file"]), notation, *words))
    if pgn["event_name"] != _EVENT:
        yield Option("-event", (_word("", pgn["event_name"]),))
    if config["epd"]["file"]:
        yield Option("-epdout", (_word("", config["epd"]["file"]),))
    if not config["report_penta"]:
        yield Option("-report", ("penta=false",))


def _engine(engine: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words of -engine."""
    yield from (_word(key, engine[key]) for key in ("name", "dir", "cmd", "args") if engine[key])
    yield from (_word(f"option.{name}", value) for name, value in engine["options"])
    if engine["restart"]:
        yield "restart=on"
    limit = engine["limit"]
    yield from (_word(key, limit[key]) for key in ("nodes", "plies") if limit[key])
    # in milliseconds
    clock = limit["tc"]
    if clock["fixed_time"]:
        yield f"st={clock['fixed_time'] / 1000}"
    elif clock["time"] or clock["increment"]:
        moves = f"{_word('', clock['moves'])}/" if clock["moves"] else ""
        yield f"tc={moves}{clock['time'] / 1000}+{clock['increment'] / 1000}"
    if clock["timemargin"]:
        yield _word("timemargin", clock["timemargin"])


def _word(key: str, value: Any) -> str:
    """Return a word of a command line.  Raises TypeError."""
    if not isinstance(value, str | int | float) or not is_text(str(value)):
        raise TypeError(f"{shown(value)} is neither a text nor a number")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{key}={text}" if key else text
