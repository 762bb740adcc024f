"""The parts of a new control file that depend on its competition type: players, and the settings
without a default, with values for a first run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ringmaster.control.python_text import Call, Code, literal
from ringmaster.errors import UsageError
from ringmaster.model.players import GameName
from ringmaster.scaffold.control_file import Draft, identifier
from ringmaster.scaffold.engines import Engine, Level, Weight, evaluating, tunable

#: The file that a texel tune needs besides its control file.
POSITIONS = "positions.plain"

#: Makes the players and settings for a game and its engines.
Build = Callable[[GameName, tuple[Engine, ...]], Draft]


def _add(draft: Draft, engine: Engine, level: Level, code: str = "") -> str:
    arguments: dict[str, Any] = {**engine.source, "options": engine.options, **level}
    words = [*engine.words, *arguments.pop("arguments", [])]
    return draft.enter(engine.note, words, arguments, code or engine.code)


def _tournament(
    least: int, most: int, settings: Callable[[GameName, list[str]], dict[str, Any]]
) -> Build:
    """Return the function for a tournament, if need be with weaker versions of the last engine.

    settings  makes the settings from the game and the players' codes
    """

    def build(game: GameName, engines: tuple[Engine, ...]) -> Draft:
        draft = Draft()
        for engine in engines[:most]:
            _add(draft, engine, engine.levels[0])
        last = engines[-1]
        for number in range(1, 1 + least - len(draft.entrants)):
            level = last.levels[min(number, len(last.levels) - 1)]
            _add(draft, last, level, f"{last.code}-weaker{number if number > 1 else ''}")
        draft.settings = settings(game, draft.codes())
        return draft

    return build


def _match(game: GameName, codes: list[str]) -> dict[str, Any]:
    alternating = {"alternating": True} if game == "go" else {}
    return {"number_of_games": 100, "matchups": [Call("Matchup", tuple(codes), alternating)]}


def _make_candidate(engine: Engine) -> Code:
    """Return the make_candidate function of an engine without options."""
    words = list(engine.words)
    commands: list[str | Code] = []
    for weight in engine.weights:
        template = weight.argument or weight.gtp or "%s"
        setter = Code('f"' + template % f"{{{weight.code}}}" + '"')
        (words if weight.argument else commands).append(setter)
    arguments = {"startup_gtp_commands": commands} if commands else {}
    names = ", ".join(weight.code for weight in engine.weights)
    return Code(f"lambda {names}: {literal(Call('Player', (words,), arguments), room=60)}")


def _start_values(weight: Weight) -> dict[str, Any]:
    bounds = {"min": weight.minimum, "max": weight.maximum}
    return {"start": weight.start, **bounds, "integer": True}


def _tune(
    settings: Mapping[str, Any],
    comment: str = "",
    arguments: Callable[[Weight], dict[str, Any]] = _start_values,
) -> Build:
    """Return the function for a tune.

    settings   the settings behind the parameters
    comment    before the parameters, instead of the table's help
    arguments  makes the arguments of a parameter; parameters without a start value need an opponent
    """

    def build(game: GameName, engines: tuple[Engine, ...]) -> Draft:
        draft = Draft(comments={"parameters": comment})
        tuned = tunable(game, engines)
        has_opponent = arguments is not _start_values
        if has_opponent:
            draft.settings["opponent"] = _add(draft, tuned, tuned.levels[0], "opponent")
        if game == "go":
            draft.settings["make_candidate"] = _make_candidate(tuned)
        if game != "go" or not has_opponent:
            draft.settings["player"] = _add(draft, tuned, tuned.levels[0])
        parameters = []
        for weight in tuned.weights:
            # candidates' codes of parameters have no spaces
            code = identifier(weight.code, ()) if has_opponent else weight.code
            option = {} if code == weight.code else {"option": weight.code}
            parameters.append(Call("Parameter", (code,), {**option, **arguments(weight)}))
        draft.settings |= {"parameters": parameters, **settings}
        return draft

    return build


def _texel(game: GameName, engines: tuple[Engine, ...]) -> Draft:
    if game == "go":
        raise UsageError("Go engines have no evaluation to tune; choose chess or shogi, or spsa")
    tuned = evaluating(game, engines)
    settings = {
        "positions": Call("Positions", (POSITIONS,), {}),
        "score": tuned.score,
        "regularisation": Call("Ridge", (), {}),
        "verify": _VERIFY,
    }
    draft = _tune(settings)(game, (tuned,))
    draft.comments["positions"] = (
        "The labelled positions: EPD, .plain, PGN and others, see "
        f"docs/positions.rst.  To make {POSITIONS} from the games of another control file:\n"
        f"  ringmaster new {game} playoff match.ctl\n"
        "  ringmaster match.ctl run\n"
        f"  ringmaster match.ctl positions -o {POSITIONS}"
    )
    return draft


_VERIFY = Call("Verify", (), {"games": 1000})

#: The purpose of each type, and the function that makes its players and settings.
SKELETONS: dict[str, tuple[str, Build]] = {
    "playoff": (
        "Matchups between players, each with its own number of games.",
        _tournament(2, 2, _match),
    ),
    "allplayall": (
        "Every competitor against every other.",
        _tournament(3, 4, lambda game, codes: {"competitors": codes, "rounds": 20}),
    ),
    "gauntlet": (
        "Challengers against a field of opponents.",
        _tournament(
            3,
            4,
            lambda game, codes: {"challengers": codes[:1], "opponents": codes[1:], "rounds": 20},
        ),
    ),
    "swiss": (
        "A Swiss tournament: rounds between players with about the same score.",
        _tournament(4, 4, lambda game, codes: {"competitors": codes, "rounds": 3}),
    ),
    "mc_tuner": (
        "A tune as a bandit problem: the best candidates play most games.",
        _tune(
            {
                "candidate_colour": "alternating",
                "exploration_coefficient": 0.45,
                "initial_visits": 10,
                "initial_wins": 5,
                "number_of_games": 1000,
            },
            "The parameters to tune.  `split` is the number of values; a scale turns them into "
            "the engine's: LINEAR(low, high), LOG(low, high), EXPLICIT([…]).",
            lambda weight: {
                "scale": Call("LINEAR", (weight.minimum, weight.maximum), {"integer": True}),
                "split": 5,
            },
        ),
    ),
    "ce_tuner": (
        "A tune by the cross-entropy method.",
        _tune(
            {
                "candidate_colour": "alternating",
                "number_of_generations": 10,
                "samples_per_generation": 20,
                "batch_size": 10,
                "elite_proportion": 0.1,
                "step_size": 0.8,
            },
            "The parameters to tune.  `transform` turns a tuned number into an integer of the "
            "engine.",
            lambda p: {
                "initial_mean": p.start,
                "initial_variance": ((p.maximum - p.minimum) // 4) ** 2,
                "transform": Code(f"lambda x: max({p.minimum}, min({p.maximum}, round(x)))"),
            },
        ),
    ),
    "clop_tuner": (
        "A tune by CLOP: a quadratic model of results against opponents.",
        _tune(
            {"number_of_games": 10000, "verify": _VERIFY},
            'The parameters to tune; integer=True for whole numbers, scale="log" for times and '
            "rates.",
            lambda p: {"min": p.minimum, "max": p.maximum, "integer": True},
        ),
    ),
    "spsa": (
        "A tune by SPSA: the engine plays against itself.",
        _tune(
            {"number_of_games": 10000, "verify": _VERIFY},
            "The parameters to tune.  Their perturbations and step sizes are determined "
            "automatically.",
        ),
    ),
    "optuna_tuner": (
        "A tune by Optuna: candidates play against the start values.",
        _tune(
            {"sampler": "tpe", "number_of_trials": 100, "verify": _VERIFY},
            "The parameters to tune.  Instead of a range: choices=[…]; a parameter that exists "
            'beside one choice only: only_if={"code": choice}; scale="log" for times and rates.',
        ),
    ),
    "texel": ("A tune of an evaluation on labelled positions.", _texel),
}
