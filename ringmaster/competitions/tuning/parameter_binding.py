"""Bind parameter values to engines: as options, GTP commands, arguments or environment variables.

Functions of the control file (transform, scale, make_candidate) are probed with many values
before the first game, and compared with values played in earlier runs.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.competitions.common_settings import PlayerDefinition, noting, placed
from ringmaster.competitions.competition import PlayedValue, TunedOptions
from ringmaster.competitions.tuning.parameter_settings import BINDINGS, Choices, ValuesByCode
from ringmaster.errors import SettingError, SettingErrors, is_text, shown
from ringmaster.model.canonical import canonical
from ringmaster.model.jobs import OptionChange, Ticket
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import OptionValue, Player
from ringmaster.model.settings import Context, Scalar, SettingPath

#: A conversion of printf's, "%%" included.
_CONVERSION = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?([a-zA-Z%])")
#: Number of probed values of all parameters together, and of each at least.
_PROBES, _LEAST_PROBES = 10_000, 8
_SCALAR = Scalar()
_NOWHERE = Path()
#: Most players built by probes of make_candidate, which may be slow or write files.
MOST_PLAYERS = 64
#: Number of these with values inside the ranges.
_INSIDE = 24
#: Relative rounding error of one formula written in two ways.
_ROUNDING = 1e-12


def same_value(one: Any, other: Any) -> bool:
    """Return whether two canonical values are the same to an engine.

    1 and 1.0 differ, since they are written differently.
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return math.isclose(one, other, rel_tol=_ROUNDING)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_value(one[k], other[k]) for k in one)
    return bool(one == other)


def contradictions(
    played: Iterable[PlayedValue], *, failures: bool = True
) -> dict[SettingPath, str]:
    """Return, by setting, how its function contradicts the first value that differs.

    failures  whether a function that fails contradicts
    """
    reasons: dict[SettingPath, str] = {}
    compared: set[tuple[SettingPath, Hashable]] = set()
    for one in played:
        if one.path in reasons or (one.path, one.argument) in compared:
            continue
        compared.add((one.path, one.argument))
        before = one.value
        try:
            now = canonical(one.call())
        except SettingError as error:
            if not failures:
                continue
            gave = f"for {shown(one.argument)} it gave {shown(before)} in results so far"
            reasons[one.path] = f"{gave}; now {error}"
            continue
        if same_value(before, now):
            continue
        if isinstance(before, dict) and isinstance(now, dict):
            keys = [key for key in {**before, **now} if before.get(key) != now.get(key)]
            before, now = ({k: v[k] for k in keys if k in v} for v in (before, now))
        reasons[one.path] = (
            f"for {shown(one.argument)} it gave {shown(before)} in results so far, "
            f"and gives {shown(now)} now"
        )
    return reasons


class FailedValue(str):
    """Stands in reports for an engine value whose function fails; a reason in brackets."""


def spread(size: int, most: int) -> list[int]:
    """Return at most `most` evenly spread indices of `size`, including the first and last."""
    if size <= most:
        return list(range(size))
    return [place * (size - 1) // (most - 1) for place in range(most)]


def combinations(middle: Sequence[Any], columns: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return points to probe make_candidate with, `MOST_PLAYERS` at most.

    middle   a typical value of each parameter
    columns  the probed values of each, ascending

    The first points have all parameters at an end of their ranges, the next ones values
    inside.  Others have one parameter at an end and typical values elsewhere.
    """
    points = [tuple(middle), tuple(c[0] for c in columns), tuple(c[-1] for c in columns)]
    for number in range(_INSIDE):
        # a Kronecker sequence of the golden ratio, shifted for each parameter
        shares = [
            ((number + 1) * 0.6180339887498949 + i * 0.7548776662466927) % 1
            for i in range(len(columns))
        ]
        points.append(
            tuple(c[int(share * len(c))] for c, share in zip(columns, shares, strict=True))
        )
    for i, column in enumerate(columns):
        for end in (column[0], column[-1]):
            points.append((*middle[:i], end, *middle[i + 1 :]))
    return list(dict.fromkeys(points))[:MOST_PLAYERS]


def fill(template: str, value: Any) -> str:
    """Return a value in a printf template; a tuple or mapping may fill several conversions.

    Raises any exception of the template or the value's methods.
    """
    if isinstance(value, tuple | Mapping):
        try:
            return template % value
        except (TypeError, KeyError):  # one conversion for the whole value
            pass
    return template % (value,)


class CandidateParameter(TunedParameter, frozen=True, kw_only=True):
    """A parameter of an mc_tuner or ce_tuner.

    Its played values are optimiser parameters.  Its `transform` returns engine parameters of any
    type; `format` is for reports alone.
    """

    def text(self, value: Any) -> str:
        if self.format is None or isinstance(value, FailedValue):
            return f"{self.code}: {value}"
        return fill(self.format, value)


def transformed(
    parameter: TunedParameter, index: int, value: int | float, *, is_free: bool = False
) -> Any:
    """Return a played value after the parameter's function, without numpy's types of numbers.

    index    of the parameter in the settings
    is_free  whether the function may return a value of any type, not only text, numbers and
             truth values
    Raises SettingError; its cause is the function's own exception.
    """
    if parameter.transform is None:
        return value
    path = ("parameters", index, parameter.function_name)
    try:
        result = parameter.transform(value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, too
        raise SettingError(
            path,
            f"parameter {parameter.code!r}: called with ({value!r}), it raised "
            f"{type(error).__name__}: {error}",
        ) from error
    if type(result).__module__ == "numpy" and getattr(result, "ndim", None) == 0:
        result = result.item()
    if is_free:
        return result
    context = Context(_NOWHERE)
    result = _SCALAR.interpret(result, (), context)
    if context.problems:
        problem = context.problems[0]
        raise SettingError(
            path,
            f"parameter {parameter.code!r}: called with ({value!r}), it returned a wrong value: "
            f"{problem.message}",
            problem.expected,
        )
    return result


class ParameterBinding:
    """Builds players from parameter values.

    values      settings of the competition
    definition  the tuned player, unless there is a `make_candidate`
    cached      number of players that are kept
    Raises SettingErrors for wrong or conflicting bindings, and for functions and formats
    that fail at the start values.
    """

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        values: Mapping[str, Any],
        definition: PlayerDefinition,
        cached: int,
    ) -> None:
        self._parameters = parameters
        #: Parameters of the engine, with their indices.
        self._used = [(i, p) for i, p in enumerate(parameters) if not p.not_used]
        self._code: str = values["player"]
        self._values = values
        self._make: Callable[..., PlayerDefinition] | None = values["make_candidate"]
        #: `make_candidate` may be slow, and games share players.
        self._made = functools.lru_cache(cached)(self._make_player)
        self._base: Player | None = None
        if self._make is None:
            with placed("players", self._code):
                self._base = definition.make(self._code, values["game"])
        errors = [*self._clashes(), *self._failures()]
        if errors:
            raise SettingErrors(errors)

    def player(self, suffix: str, values: ValuesByCode) -> Player:
        """Return the player with these values of all parameters.

        suffix  end of its code
        values  a parameter without a value is not set
        Raises SettingError when the values do not make a player.
        """
        return self._made(f"{self._code}{suffix}", tuple(values.items()))

    def _make_player(self, code: str, items: tuple[tuple[str, int | float], ...]) -> Player:
        values = dict(items)
        if self._base is None:
            make = self._make
            assert make is not None
            named = {
                p.code: self.transformed(i, values[p.code]) if p.code in values else None
                for i, p in self._used
            }
            try:
                return make(**named).with_defaults(self._values).make(code, self._values["game"])
            except SettingError as error:
                if error.path[:1] == ("make_candidate",):
                    raise
                which = f" with a wrong {'.'.join(map(str, error.path))}" if error.path else ""
                text = f"it returned a Player{which}: {error.message}"
                raise SettingError(("make_candidate",), text, error.expected) from None
        options: dict[str, OptionValue] = {}
        commands: list[tuple[str, ...]] = []
        words: list[str] = []
        environ: dict[str, str] = {}
        for i, parameter in self._used:
            if parameter.code not in values:
                continue
            value = self.value(i, values[parameter.code])
            if parameter.gtp is not None:
                commands.append(tuple(_command(parameter.gtp, value).split()))
            elif parameter.argument is not None:
                words += _command(parameter.argument, value).split()
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

    def value(self, index: int, value: int | float) -> Any:
        """Return a parameter's value after transform and format.  Raises SettingError."""
        transformed = self.transformed(index, value)
        parameter = self._parameters[index]
        if parameter.format is None or isinstance(parameter, CandidateParameter):
            return transformed
        return self._formatted(index, transformed)

    def _formatted(self, index: int, value: Any) -> str:
        template = self._parameters[index].format or "%s"
        try:
            return fill(template, value)
        except Exception as error:  # from any type of value
            raise SettingError(
                ("parameters", index, "format"),
                f"{template!r} cannot show {shown(value)}: {error}",
                "a text with one conversion such as %s or %.3f, or with one for each item of a "
                "tuple",
            ) from None

    def transformed(self, index: int, value: int | float) -> Any:
        """Return a parameter's value after its function, of any type for a `make_candidate`.

        Raises SettingError.
        """
        is_free = self._make is not None
        return transformed(self._parameters[index], index, value, is_free=is_free)

    def tuned_options(
        self, check: str, base: ValuesByCode, ends: Mapping[str, Sequence[ValuesByCode]]
    ) -> TunedOptions:
        """Return the parameters as options, without parameters with failing functions.

        base  values of the player of the startup check
        ends  by parameter code: the values with other ones of this parameter
        """
        player = self.player(":end", base)
        changes: list[OptionChange] = []
        idle: list[str] = []
        for code, values in ends.items():
            try:
                others = [o for v in values if (o := self.player(":end", v)) != player]
            except SettingError:
                continue
            if not others:
                idle.append(code)
            elif all(
                other.options.keys() >= player.options.keys()
                and msgspec.structs.replace(other, options=player.options) == player
                for other in others
            ):
                changed = (
                    {k: v for k, v in other.options.items() if player.options.get(k) != v}
                    for other in others
                )
                changes.append(OptionChange(code, tuple(changed)))
        return TunedOptions(check, tuple(changes), tuple(idle))

    def with_transformed(self, ticket: Ticket, values: ValuesByCode) -> Ticket:
        """Return a ticket with results of transforms, for `played_values`.  Raises SettingError."""
        results = {
            p.code: (values[p.code], canonical(self.transformed(i, values[p.code])))
            for i, p in self._used
            if self._has_function(p) and p.code in values
        }
        return {**ticket, "v": results} if results else ticket

    def played_values(self, ticket: Ticket, values: ValuesByCode) -> list[PlayedValue]:
        """Return the results of transforms in a played game, for `Competition.played_values`.

        values  of the parameters; those without a result had no transform
        """
        results = ticket.get("v", {})
        played = []
        for i, p in self._used:
            if p.code in results or (self._has_function(p) and p.code in values):
                value, result = results.get(p.code) or (values[p.code], values[p.code])
                call = functools.partial(self.transformed, i, value)
                played.append(PlayedValue(("parameters", i, p.function_name), value, result, call))
        return played

    @staticmethod
    def _has_function(parameter: TunedParameter) -> bool:
        transform = parameter.transform
        return transform is not None and not isinstance(transform, Choices)

    def _clashes(self) -> Iterator[SettingError]:
        codes: dict[tuple[str, str], str] = {}
        base = self._base
        for i, parameter in self._used:
            way = next((w for w in BINDINGS if getattr(parameter, w) is not None), None)
            place = ("parameters", i) if way is None else ("parameters", i, way)
            if base is None:
                if way is not None:
                    yield SettingError(place, f"{way} has no meaning beside make_candidate")
                continue
            name = getattr(parameter, way or "option") or parameter.code
            problem = _problem(way, name, base.protocol)
            if problem is not None:
                yield SettingError(place, *problem)
                continue
            # names of options are case-insensitive
            key = (way or "option", name.casefold() if way in (None, "option") else name)
            if key in codes:
                what = {"gtp": "GTP command", "environ": "variable"}.get(key[0], key[0])
                both = f"parameters {codes[key]!r} and {parameter.code!r}"
                text = f"{both} are the same {what} {name!r}"
                expected = "a make_candidate function to combine parameters in one value"
                yield SettingError(place, text, expected)
            codes.setdefault(key, parameter.code)

    def _failures(self) -> list[SettingError]:
        """Return errors at the start values, one a parameter."""
        errors: list[SettingError] = []
        for i, parameter in self._used:
            with noting(errors):
                self._check_fractions(i)
                self._check_value(i, parameter.played_value(parameter.start))
        return errors

    def failures_between(
        self,
        playable: Callable[[ValuesByCode], ValuesByCode | None] = lambda values: values,
        columns: Sequence[Sequence[int | float]] | None = None,
    ) -> list[SettingError]:
        """Return errors of functions, formats and make_candidate, one a function.

        playable  returns the values that are played instead of others, None for none
        columns   values of each parameter to try, ascending; by default those between the bounds
        """
        errors: list[SettingError] = []
        if columns is None:
            most = max(_LEAST_PROBES, _PROBES // len(self._used))
            columns = [_probes(p, most) for _, p in self._used]
        for (i, parameter), column in zip(self._used, columns, strict=True):
            if parameter.transform is None and parameter.format is None:
                continue
            with noting(errors):
                for value in column:
                    self._check_value(i, value)
        if errors or self._make is None:
            return errors
        middle = [p.played_value(p.start) for _, p in self._used]
        codes = [p.code for _, p in self._used]
        with noting(errors):
            for point in combinations(middle, columns):
                values = playable(dict(zip(codes, point, strict=True)))
                if values is not None:
                    self._make_player(self._code, tuple(values.items()))
        return errors

    def _check_fractions(self, index: int) -> None:
        """Raise SettingError for conversions that truncate fractions, which would bias one
        side of a gradient."""
        parameter = self._parameters[index]
        is_free = parameter.transform is not None or isinstance(parameter, CandidateParameter)
        if parameter.integer or is_free:
            return
        for name in ("format", "gtp", "argument"):
            template = getattr(parameter, name)
            for match in _CONVERSION.finditer(template or ""):
                if match[1] in "dioxX":
                    text = f"{match[0]} in {template!r} cuts fractions off"
                    expected = "integer=True in its Parameter, or another conversion such as %.3f"
                    raise SettingError(("parameters", index, name), text, expected)

    def _check_value(self, index: int, played: int | float) -> None:
        """Raise SettingError when a value cannot be delivered or shown."""
        parameter = self._parameters[index]
        value = self.value(index, played)
        if isinstance(parameter, CandidateParameter):
            self._formatted(index, value)
        for name in ("gtp", "argument"):
            template = getattr(parameter, name)
            if template is None:
                continue
            try:
                _command(template, value)
            except (TypeError, ValueError) as error:
                raise SettingError(
                    ("parameters", index, name),
                    f"{template!r} cannot take {shown(value)}: {error}",
                    "words with one conversion such as %s, or with none (the value comes last)",
                ) from None


def _probes(parameter: TunedParameter, most: int) -> list[int | float]:
    """Return played values within a parameter's bounds, ascending; of a frozen one, the start."""
    low, high = parameter.minimum, parameter.maximum
    if parameter.frozen:
        return [parameter.played_value(parameter.start)]
    if spacing := parameter.spacing:
        places = spread(math.floor((high - low) / spacing + 0.5) + 1, most)
        return [parameter.played_value(low + place * spacing) for place in places]
    return [low + (high - low) * (place / (most - 1)) for place in range(most)]


def _problem(way: str | None, name: str, protocol: str) -> tuple[str, str] | None:
    """Return problem and remedy of a binding, None for a correct one."""
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


def _command(template: str, value: OptionValue) -> str:
    """Return a command with its value.  Raises TypeError, ValueError for several conversions."""
    if all(match[1] == "%" for match in _CONVERSION.finditer(template)):
        template += " %s"
    return template % (value,)
