"""`ringmaster new`: write a commented control file to start from.  The comments are the help texts
of the settings tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ringmaster.competitions import competition_class, type_names
from ringmaster.control.python_text import Call, Code, assignment
from ringmaster.errors import UsageError, nearest
from ringmaster.model.players import GameName
from ringmaster.model.settings import REQUIRED, Setting
from ringmaster.scaffold.control_file import Draft, comment
from ringmaster.scaffold.engines import Engine, Which, installed, which
from ringmaster.scaffold.skeletons import SKELETONS

GAMES: tuple[GameName, ...] = ("chess", "shogi", "go")

#: Settings without a meaning for a game.
_OTHER_GAMES: dict[GameName, tuple[str, ...]] = {
    "go": (
        *("openings", "variant", "tablebases", "entering_king", "nodes", "depth", "options"),
        *("draw_adjudication", "resign_adjudication", "record_info", "record_format"),
    ),
    "chess": ("entering_king", "record_format"),
    "shogi": ("variant", "tablebases"),
}
_GO_ONLY = (
    *("board_size", "komi", "handicap", "handicap_style", "rules", "scorer", "referee"),
    *("internal_scorer_handicap_compensation", "visits", "playouts"),
)
#: Example values of settings without a default value.
_EXAMPLES: dict[str, Any] = {
    "draw_adjudication": Code("DrawAdjudication(move_number=40, move_count=8, score=10)"),
    "resign_adjudication": Code("ResignAdjudication(move_count=3, score=600, two_sided=False)"),
    "tablebases": Code('Tablebases("path/to/syzygy")'),
    "sprt": Code("SPRT(elo0=0, elo1=5, alpha=0.05, beta=0.05)"),
    "handicap": 2,
    "target": Code("GaussianLambda(0.5)"),
    "optimiser": "gauss_newton",
    "record_info": ["seldepth", "nodes", "nps"],
    "log_tree_to_history_period": 100,
    "move_limit_result": "draw",
    "description": "The purpose of this competition.",
    "record_format": "kif",
}
#: The settings most often changed.
_FIRST = (
    *("openings", "description", "variant", "sprt", "verify", "draw_adjudication"),
    *("resign_adjudication", "tablebases", "failures", "margin", "move_limit"),
    "move_limit_result",
)
_OPENINGS_WARNING = (
    "Without openings every game begins from the start position, and deterministic engines repeat "
    "the same game."
)


def new_control_file(
    game: str,
    type_name: str,
    name: str = "FILE",
    find: Which = which,
    openings: str | None = None,
    declared: tuple[tuple[Engine, ...], str] | None = None,
) -> str:
    """Return a control file for a game and a competition type.

    name      of the file, in comments
    find      returns the command of an installed program, None if it is not installed
    openings  the name of an opening file in the same folder, or None
    declared  the engine to tune and the comment before its parameters, or the engines from git
              and the comment before the players; None for installed engines

    Raises UsageError for an unknown game or type.
    """
    if game not in GAMES:
        raise UsageError(f"there is no game {game!r}; choose from {', '.join(GAMES)}")
    chosen: GameName = game
    competition = competition_class(type_name)
    if competition is None:
        raise UsageError(
            f"there is no competition type {type_name!r}; "
            f"expected {nearest(type_name, type_names())}"
        )
    purpose, build = SKELETONS[type_name]
    if declared is None:
        draft = build(chosen, installed(chosen, find))
    else:
        engines, about = declared
        is_from_git = bool(engines[0].source)
        if is_from_git and type_name != "playoff":
            raise UsageError(f"--git makes a playoff of two commits, not a {type_name}")
        if not is_from_git and type_name != "spsa":
            raise UsageError(f"--from-engine makes the parameters of spsa, not of {type_name}")
        draft = build(chosen, engines)
        if is_from_git:
            draft.comments["players"] = about
            draft.settings |= {"sprt": Call("SPRT", (0, 5), {}), "number_of_games": None}
        else:
            draft.comments["parameters"] += f"\n{about}"
    draft.type_name, draft.game = type_name, game
    others = _others(chosen, competition.table, draft)
    return control_file(draft, openings, _heading(purpose, type_name, name), others)


def control_file(
    draft: Draft, openings: str | None, heading: str, others: Iterable[str] = ()
) -> str:
    """Return the control file of a draft, with usual settings of its game.

    openings  the name of an opening file, or None
    others    parts behind the settings
    """
    if openings is not None:
        book = Call("Openings", (openings,), {"order": "random"})
        draft.settings = {"openings": book, **draft.settings}
    if draft.game == "go":
        draft.settings = {"board_size": 9, "komi": 7.5, **draft.settings}
    else:
        draft.settings["failures"] = "loss"
    competition = competition_class(draft.type_name)
    helps = {s.name: s.help.replace("``", "") for s in competition.table} if competition else {}
    # the competition type must be set first
    first, *body = draft.parts(lambda setting: helps.get(setting, ""))
    has_demo = any("sys.executable" in part for part in body)
    parts = [heading, first, *(["import sys"] if has_demo else []), *body, *others]
    return "\n\n".join(parts) + "\n"


def opening_file(game: str, folder: Path) -> str | None:
    """Return the name of the first opening file of a folder, or None."""
    if game == "go":
        return None
    suffix = ".sfen" if game == "shogi" else ".epd"
    names = sorted(path.name for path in folder.glob(f"*{suffix}") if path.is_file())
    return next((name for name in names if name.isprintable() and name[0] != "~"), None)


def _heading(about: str, type_name: str, name: str) -> str:
    texel = type_name == "texel"
    plan = ["plan       estimates the length and the gain"] if type_name == "spsa" else []
    actions = [
        "check      tests the engines",
        *plan,
        f"run -j 2   {'tunes, with two engines' if texel else 'plays, two games at a time'}",
        "show       shows the results, also during a run",
    ]
    jobs = "the work in progress" if texel else "the games in progress"
    lines = [
        *(about, "", *(f"  ringmaster {name} {action}" for action in actions), ""),
        f"Stop the run at any time (Ctrl-X: after {jobs}, Ctrl-C: at once), change this "
        "file, and run it again: it continues.",
    ]
    return comment("\n".join(lines))


def _others(game: GameName, table: tuple[Setting, ...], draft: Draft) -> Iterator[str]:
    """Yield the settings that the file does not have, commented out."""
    yield comment(
        "Further settings with their default values, or with an example.  Remove the # to change "
        "a setting.  The reference in docs/ describes all, with the other arguments of Player(…)."
    )
    hidden = {"game", "players", "make_candidate", "player", *draft.settings, *draft.shared()}
    hidden |= {*_OTHER_GAMES[game], *(() if game == "go" else _GO_ONLY)}
    # sorting leaves the others in the order of the table
    for setting in sorted(table, key=lambda each: (*_FIRST, each.name).index(each.name)):
        if setting.name in hidden or setting.default is REQUIRED:
            continue
        value = _EXAMPLES.get(setting.name, setting.default)
        if isinstance(value, tuple):
            value = list(value)
        text = setting.help.replace("``", "")
        if setting.name == "openings":
            text = f"{text}  {_OPENINGS_WARNING}"
            book = "openings.sfen" if game == "shogi" else "openings.epd"
            value = Call("Openings", (book,), {"order": "random"})
        code = assignment(setting.name, value).replace("\n", "\n#")
        yield f"{comment(text)}\n#{code}"
