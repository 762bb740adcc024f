"""The parts of a new control file that depend on its competition type: players, and the settings
without a default, with values for a first run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ringmaster.control.python_text import Call, Code, literal
from ringmaster.errors import UsageError
from ringmaster.model.players import GameName
from ringmaster.scaffold.control_file import identifier
from ringmaster.scaffold.engines import Engine, Level, Weight, evaluating

#: The file that a texel tune needs besides its control file.
POSITIONS = "positions.plain"


@dataclass
class Skeleton:
    """The parts of a control file that depend on its type.

    engines   of the players, for their notes
    players   Player calls by code
    settings  by name, in the order of the file
    comments  by setting, instead of the table's help
    before    code before a setting
    """

    engines: list[Engine] = field(default_factory=list)
    players: dict[str, Call] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)

    def add(self, engine: Engine, level: Level, code: str = "") -> str:
        """Add a player; return its code."""
        code = identifier(code or engine.code, self.players)
        arguments: dict[str, Any] = {"options": engine.options} if engine.options else {}
        arguments |= level
        words = [*engine.words, *arguments.pop("arguments", [])]
        self.players[code] = Call("Player", (_command(words),), arguments)
        if engine not in self.engines:
            self.engines.append(engine)
        return code


def _command(words: Iterable[str | Code]) -> Any:
    listed = list(words)
    return listed[0] if len(listed) == 1 and isinstance(listed[0], str) else listed


Build = Callable[[GameName, tuple[Engine, ...], Engine], Skeleton]


def _field(engines: tuple[Engine, ...], least: int) -> Skeleton:
    """Return at least `least` players, if need be weaker versions of the last engine."""
    skeleton = Skeleton()
    for engine in engines[: max(least, 4)]:
        skeleton.add(engine, engine.levels[0])
    last = engines[-1]
    for number in range(1, 1 + least - len(skeleton.players)):
        level = last.levels[min(number, len(last.levels) - 1)]
        skeleton.add(last, level, f"{last.code}-weaker{number if number > 1 else ''}")
    return skeleton


def _playoff(game: GameName, engines: tuple[Engine, ...], tuned: Engine) -> Skeleton:
    skeleton = _field(engines[:2], 2)
    first, second = list(skeleton.players)
    alternating = {"alternating": True} if game == "go" else {}
    skeleton.settings = {
        "number_of_games": 100,
        "matchups": [Call("Matchup", (first, second), alternating)],
    }
    skeleton.comments["matchups"] = (
        "The pairings to play.  A matchup may have an id, a name, and its own value of any "
        "setting for games."
    )
    return skeleton


def _allplayall(game: GameName, engines: tuple[Engine, ...], tuned: Engine) -> Skeleton:
    skeleton = _field(engines, 3)
    skeleton.settings = {"competitors": list(skeleton.players), "rounds": 20}
    return skeleton


def _gauntlet(game: GameName, engines: tuple[Engine, ...], tuned: Engine) -> Skeleton:
    skeleton = _field(engines, 3)
    first, *others = skeleton.players
    skeleton.settings = {"challengers": [first], "opponents": others, "rounds": 20}
    return skeleton


def _swiss(game: GameName, engines: tuple[Engine, ...], tuned: Engine) -> Skeleton:
    skeleton = _field(engines, 4)
    skeleton.settings = {"competitors": list(skeleton.players), "rounds": 3}
    return skeleton


def _codes(weights: Iterable[Weight]) -> dict[str, Weight]:
    codes: dict[str, Weight] = {}
    for weight in weights:
        codes[identifier(weight.name.replace(" ", ""), codes, "weight").replace(".", "")] = weight
    return codes


def _named(code: str, weight: Weight, arguments: dict[str, Any]) -> Call:
    renamed = {"option": weight.name} if code != weight.name and not weight.setter else {}
    return Call("Parameter", (code,), {**renamed, **arguments})


def _maker(engine: Engine) -> str:
    """Return a make_candidate function for an engine without options."""
    words = list(engine.words)
    commands: list[str | Code] = []
    for weight in engine.weights:
        setter = Code(f"f{weight.setter.format('{' + weight.name + '}')!r}")
        (words if weight.setter.startswith("-") else commands).append(setter)
    arguments = {"startup_gtp_commands": commands} if commands else {}
    call = literal(Call("Player", (words,), arguments), 4, 80).replace("f'", 'f"').replace("'", '"')
    names = ", ".join(weight.name for weight in engine.weights)
    return f"def make_candidate({names}):\n    return {call}"


def _candidates(game: GameName, engine: Engine) -> Skeleton:
    skeleton = Skeleton()
    opponent = skeleton.add(engine, engine.levels[0], "opponent")
    skeleton.settings = {"opponent": opponent}
    if game == "go":
        skeleton.before["opponent"] = (
            "# Makes a player from the values of the parameters, in their order.\n" + _maker(engine)
        )
    else:
        skeleton.settings["player"] = skeleton.add(engine, engine.levels[0])
        skeleton.comments["player"] = (
            "Code of the player to tune: the parameters are its options.  For an engine without "
            "options: a function make_candidate that returns a Player."
        )
    return skeleton


def _mc_tuner(game: GameName, engines: tuple[Engine, ...], tuned: Engine) -> Skeleton:
    skeleton = _candidates(game, tuned)
    parameters = [
        _named(
            code,
            weight,
            {"scale": Call("LINEAR", (weight.low, weight.high), {"integer": True}), "split": 5},
        )
        for code, weight in _codes(tuned.weights).items()
    ]
    skeleton.settings |= {
        "parameters": parameters,
        "candidate_colour": "alternating",
        "exploration_coefficient": 0.45,
        "initial_visits": 10,
        "initial_wins": 5,
        "number_of_games": 1000,
    }
    skeleton.comments["parameters"] = (
        "The parameters to tune.  `split` is the number of values; a scale turns them into the "
        "engine's: LINEAR(low, high), LOG(low, high), EXPLICIT([…])."
    )
    return skeleton


def _ce_tuner(game: GameName, engines: tuple[Engine, ...], tuned: Engine) -> Skeleton:
    skeleton = _candidates(game, tuned)
    parameters = [
        _named(
            code,
            weight,
            {
                "initial_mean": weight.start,
                "initial_variance": ((weight.high - weight.low) // 4) ** 2,
                "transform": Code(f"whole({weight.low}, {weight.high})"),
            },
        )
        for code, weight in _codes(tuned.weights).items()
    ]
    skeleton.before["parameters"] = (
        "# Turns a tuned number into an integer of the engine.\n"
        "def whole(low, high):\n"
        "    return lambda value: max(low, min(high, round(value)))"
    )
    skeleton.settings |= {
        "parameters": parameters,
        "candidate_colour": "alternating",
        "number_of_generations": 10,
        "samples_per_generation": 20,
        "batch_size": 10,
        "elite_proportion": 0.1,
        "step_size": 0.8,
    }
    return skeleton


def _clop_tuner(game: GameName, engines: tuple[Engine, ...], tuned: Engine) -> Skeleton:
    skeleton = _candidates(game, tuned)
    skeleton.settings |= {
        "parameters": [
            _named(code, weight, {"min": weight.low, "max": weight.high, "integer": True})
            for code, weight in _codes(tuned.weights).items()
        ],
        "number_of_games": 10000,
        "verify": Call("Verify", (), {"games": 1000}),
    }
    skeleton.comments["opponent"] = (
        "Code of the candidates' opponent, or a list of several; about as strong as the player."
    )
    skeleton.comments["parameters"] = (
        'The parameters to tune; integer=True for whole numbers, scale="log" for times and rates.'
    )
    skeleton.comments["verify"] = "A match after the tune: the tuned values against the opponent."
    return skeleton


def _integers(engine: Engine) -> list[Call]:
    return [
        Call(
            "Parameter",
            (weight.name,),
            {"start": weight.start, "min": weight.low, "max": weight.high, "integer": True},
        )
        for weight in engine.weights
    ]


def _spsa(game: GameName, engines: tuple[Engine, ...], tuned: Engine) -> Skeleton:
    skeleton = Skeleton()
    code = skeleton.add(tuned, tuned.levels[0])
    if game == "go":
        skeleton.before["player"] = (
            "# Makes a player from the values of the parameters, by name.\n" + _maker(tuned)
        )
    skeleton.settings = {
        "player": code,
        "parameters": _integers(tuned),
        "number_of_games": 10000,
        "verify": Call("Verify", (), {"games": 1000}),
    }
    skeleton.comments["parameters"] = (
        "The parameters to tune.  Their perturbations and step sizes are determined automatically."
    )
    skeleton.comments["verify"] = "A match after the tune: the tuned against the start values."
    return skeleton


def _optuna_tuner(game: GameName, engines: tuple[Engine, ...], tuned: Engine) -> Skeleton:
    skeleton = _spsa(game, engines, tuned)
    settings = skeleton.settings
    skeleton.settings = {
        "player": settings["player"],
        "parameters": settings["parameters"],
        "sampler": "tpe",
        "number_of_trials": 100,
        "games_per_trial": 40,
        "verify": settings["verify"],
    }
    skeleton.comments["parameters"] = (
        "The parameters to tune.  Instead of a range: choices=[…]; a parameter that exists beside "
        'one choice only: only_if={"code": choice}; scale="log" for times and rates.'
    )
    skeleton.comments["sampler"] = (
        'Optuna proposes candidates by "tpe", "gp" (needs torch), "cmaes", "nsga2", "qmc" or '
        "\"random\"; pip install 'ringmaster-engines[tuners]'."
    )
    return skeleton


def _texel(game: GameName, engines: tuple[Engine, ...], tuned: Engine) -> Skeleton:
    if game == "go":
        raise UsageError("Go engines have no evaluation to tune; choose chess or shogi, or spsa")
    tuned = evaluating(game, engines)
    skeleton = Skeleton()
    code = skeleton.add(tuned, tuned.levels[0])
    skeleton.settings = {
        "player": code,
        "parameters": _integers(tuned),
        "positions": Call("Positions", (POSITIONS,), {}),
        "score": tuned.score,
        "regularisation": Call("Ridge", (), {}),
        "verify": Call("Verify", (), {"games": 1000}),
    }
    skeleton.comments["parameters"] = "The parameters to tune."
    skeleton.comments["positions"] = (
        "The labelled positions: EPD, .plain, PGN and others, see docs/positions.rst.  To make "
        f"{POSITIONS} from the games of another control file:\n"
        f"  ringmaster new {game} playoff match.ctl\n"
        "  ringmaster match.ctl run\n"
        f"  ringmaster match.ctl positions -o {POSITIONS}"
    )
    skeleton.comments["score"] = (
        'How to get the score of a position: "eval" if the engine prints its static evaluation, '
        'else "depth 1"; see docs/positions.rst.'
    )
    skeleton.comments["verify"] = "A match after the tune: the tuned against the start values."
    return skeleton


#: The purpose of each type, and the function that makes its parts.
SKELETONS: dict[str, tuple[str, Build]] = {
    "playoff": ("Matchups between players, each with its own number of games.", _playoff),
    "allplayall": ("Every competitor against every other.", _allplayall),
    "gauntlet": ("Challengers against a field of opponents.", _gauntlet),
    "swiss": ("A Swiss tournament: rounds between players with about the same score.", _swiss),
    "mc_tuner": ("A tune as a bandit problem: the best candidates play most games.", _mc_tuner),
    "ce_tuner": ("A tune by the cross-entropy method.", _ce_tuner),
    "clop_tuner": ("A tune by CLOP: a quadratic model of results against opponents.", _clop_tuner),
    "spsa": ("A tune by SPSA: the engine plays against itself.", _spsa),
    "optuna_tuner": ("A tune by Optuna: candidates play against the start values.", _optuna_tuner),
    "texel": ("A tune of an evaluation on labelled positions.", _texel),
}
