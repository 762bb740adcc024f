"""How an engine is given the values of parameters: as options, GTP commands, words of
its command line or variables of its environment, each through its format and its
transform."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from ringmaster.competitions.candidates import made_by
from ringmaster.competitions.common import noting
from ringmaster.competitions.parameter_functions import call, combinations, spread
from ringmaster.competitions.players import PlayerDefinition
from ringmaster.competitions.tuned_parameters import DELIVERIES
from ringmaster.errors import SettingError, SettingErrors
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import GameName, OptionValue, Player
from ringmaster.model.settings import Context, Scalar
from ringmaster.model.wording import is_text, shown

#: Parameter values by code, in the parameters' own units.
Values = Mapping[str, int | float]

#: A conversion of printf's, "%%" included.
_CONVERSION = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?([a-zA-Z%])")
#: Values that all parameters together are probed with, and each at least.
_PROBES, _LEAST_PROBES = 10_000, 8
_SCALAR = Scalar()
_NOWHERE = Path()


class Delivery:
    """Makes players of parameter values.

    definition  the player that is tuned, which `make` (make_candidate), where it is
                given, takes the place of
    Raises SettingErrors for ways of delivery that cannot be, or not together, and for
    functions and formats that fail at the start or the bounds.
    """

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        code: str,
        game: GameName,
        definition: PlayerDefinition,
        make: Callable[..., PlayerDefinition] | None,
    ) -> None:
        self._parameters = parameters
        self._code = code
        self._game = game
        self._make = make
        #: The last player made, by suffix: the games of an iteration share theirs.
        self._made: dict[str, tuple[Values, Player]] = {}
        self._base: Player | None = None
        if make is None:
            try:
                self._base = definition.make(code, game)
            except SettingError as error:
                raise error.under("players", code) from None
        errors = [*self._clashes(), *self._failures()]
        if errors:
            raise SettingErrors(errors)

    def player(self, suffix: str, values: Values) -> Player:
        """Return the player with the given values of all parameters.

        suffix  what its code ends with
        values  not to be changed afterwards
        Raises SettingError when the values do not make a player.
        """
        made = self._made.get(suffix)
        if made is None or made[0] != values:
            made = self._made[suffix] = values, self._new(f"{self._code}{suffix}", values)
        return made[1]

    def _new(self, code: str, values: Values) -> Player:
        if self._base is None:
            make = self._make
            assert make is not None
            named = {p.code: self._given(i, values[p.code]) for i, p in enumerate(self._parameters)}
            return made_by(lambda: make(**named), code, self._game)
        options: dict[str, OptionValue] = {}
        commands: list[tuple[str, ...]] = []
        words: list[str] = []
        environ: dict[str, str] = {}
        for i, parameter in enumerate(self._parameters):
            value = self.value(i, values[parameter.code])
            if parameter.gtp is not None:
                commands.append(tuple(_filled(parameter.gtp, value).split()))
            elif parameter.argument is not None:
                words += _filled(parameter.argument, value).split()
            elif parameter.environ is not None:
                environ[parameter.environ] = str(value)
            else:
                options[parameter.option or parameter.code] = value
        base = self._base
        return msgspec.structs.replace(
            base,
            code=code,
            options={**base.options, **options},
            startup_gtp_commands=(*base.startup_gtp_commands, *commands),
            command=(*base.command, *words),
            environ={**base.environ, **environ},
        )

    def value(self, index: int, value: int | float) -> OptionValue:
        """Return what the engine is given for a value of a parameter: as its format
        shows what its transform makes of it.  Raises SettingError."""
        given = self._given(index, value)
        template = self._parameters[index].format
        return given if template is None else self._formatted(index, template, given)

    def _given(self, index: int, value: int | float) -> OptionValue:
        transform = self._parameters[index].transform
        if transform is None:
            return value
        path = ("parameters", index, "transform")
        code = self._parameters[index].code
        made = call(transform, value, path, code)
        context = Context(_NOWHERE)
        taken: OptionValue = _SCALAR.interpret(made, (), context)
        if context.problems:
            problem = context.problems[0]
            raise SettingError(
                path,
                f"parameter {code!r}: called with ({value!r}), it returned a wrong value: "
                f"{problem.message}",
                problem.expected,
            )
        return taken

    def _formatted(self, index: int, template: str, given: OptionValue) -> str:
        try:
            text = template % (given,)
        except Exception as error:  # whatever the template asks of the value
            raise SettingError(
                ("parameters", index, "format"),
                f"{template!r} cannot show {shown(given)}: {error}",
                "a text with one conversion such as %d or %.3f",
            ) from None
        return text

    def _clashes(self) -> list[SettingError]:
        """Return the ways of delivery that cannot be."""
        errors: list[SettingError] = []
        used: dict[tuple[str, str], str] = {}
        base = self._base
        for i, parameter in enumerate(self._parameters):
            way = next((w for w in DELIVERIES if getattr(parameter, w) is not None), None)
            place = ("parameters", i) if way is None else ("parameters", i, way)
            if base is None:
                if way is not None:
                    errors.append(
                        SettingError(place, f"{way} has no meaning beside make_candidate")
                    )
                continue
            name = getattr(parameter, way or "option") or parameter.code
            problem = _problem(way, name, base.protocol)
            if problem is not None:
                errors.append(SettingError(place, *problem))
                continue
            # names of options are compared without case
            key = (way or "option", name.casefold() if way in (None, "option") else name)
            if key in used:
                what = {"gtp": "GTP command", "environ": "variable"}.get(key[0], key[0])
                errors.append(
                    SettingError(
                        place,
                        f"parameters {used[key]!r} and {parameter.code!r} are the same "
                        f"{what} {name!r}",
                        "a make_candidate function where parameters make up one value",
                    )
                )
            used.setdefault(key, parameter.code)
        return errors

    def _failures(self) -> list[SettingError]:
        """Return what goes wrong at the start and the bounds, once a parameter."""
        errors: list[SettingError] = []
        for i, parameter in enumerate(self._parameters):
            with noting(errors):
                self._check_whole(i)
                for value in (parameter.start, parameter.minimum, parameter.maximum):
                    self._check_template(i, self.value(i, parameter.engine_value(value)))
        return errors

    def failures_between(self) -> list[SettingError]:
        """Return how transforms, formats and make_candidate fail for values between the
        bounds, once a function."""
        errors: list[SettingError] = []
        most = max(_LEAST_PROBES, _PROBES // len(self._parameters))
        columns = [_probes(p, most) for p in self._parameters]
        for i, (parameter, column) in enumerate(zip(self._parameters, columns, strict=True)):
            if parameter.transform is None and parameter.format is None:
                continue
            with noting(errors):
                for value in column:
                    self._check_template(i, self.value(i, value))
        if errors or self._make is None:
            return errors
        middle = [p.engine_value(p.start) for p in self._parameters]
        codes = [p.code for p in self._parameters]
        with noting(errors):
            for point in combinations(middle, columns):
                self._new(self._code, dict(zip(codes, point, strict=True)))
        return errors

    def _check_whole(self, index: int) -> None:
        """Raise SettingError for conversions that would cut off fractions, which round
        towards 0 and differently for the two sides."""
        parameter = self._parameters[index]
        if parameter.integer or parameter.transform is not None:
            return
        for name in ("format", "gtp", "argument"):
            template = getattr(parameter, name)
            for match in _CONVERSION.finditer(template or ""):
                if match[1] in "dioxX":
                    raise SettingError(
                        ("parameters", index, name),
                        f"{match[0]} in {template!r} cuts fractions off",
                        "integer=True in its Parameter, or another conversion such as %.3f",
                    )

    def _check_template(self, index: int, value: OptionValue) -> None:
        parameter = self._parameters[index]
        for name in ("gtp", "argument"):
            template = getattr(parameter, name)
            if template is None:
                continue
            try:
                _filled(template, value)
            except (TypeError, ValueError) as error:
                raise SettingError(
                    ("parameters", index, name),
                    f"{template!r} cannot take {shown(value)}: {error}",
                    "words with one conversion such as %s, or with none (the value comes last)",
                ) from None


def _probes(parameter: TunedParameter, most: int) -> list[int | float]:
    """Return values within a parameter's bounds, as they are played, in ascending order; the
    start alone of one that is frozen."""
    low, high = parameter.minimum, parameter.maximum
    if parameter.frozen:
        return [parameter.engine_value(parameter.start)]
    if parameter.integer:
        first = int(low)
        return [first + place for place in spread(int(high) - first + 1, most)]
    return [low + (high - low) * (place / (most - 1)) for place in range(most)]


def _problem(way: str | None, name: str, protocol: str) -> tuple[str, str] | None:
    """Return why a parameter cannot be given that way, and what would be right."""
    if way in (None, "option") and protocol == "gtp":
        return (
            "GTP has no options that parameters could be",
            "gtp, argument or environ in its Parameter, or a make_candidate function that "
            "returns a Player",
        )
    if way == "gtp" and protocol != "gtp":
        return f"there are no GTP commands over {protocol.upper()}", "option, argument or environ"
    if not is_text(name) or not name.strip() or "\n" in name or "\r" in name:
        return f"{shown(name)} cannot be sent to an engine", "text on one line"
    if way == "environ" and "=" in name:
        return f"{shown(name)} is not the name of a variable", "a name without ="
    return None


def _filled(template: str, value: OptionValue) -> str:
    """Return a command with its value.  Raises TypeError, ValueError for a template that
    does not take one value."""
    if all(match[1] == "%" for match in _CONVERSION.finditer(template)):
        template += " %s"
    return template % (value,)
