"""The options of UCI and USI engines: as they are declared, and what may be given."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ringmaster.errors import OptionRefused
from ringmaster.model.players import OptionValue
from ringmaster.model.wording import nearest, shown

_OPTION = re.compile(
    r"option\s+name\s+(?P<name>.*?)\s+type\s+(?P<type>check|spin|combo|button|string|filename)"
    r"(?:\s+(?P<rest>.*))?$"
)
_KEYWORD = re.compile(r"(?:^|\s)(default|min|max|var)(?=\s|$)")


@dataclass(frozen=True, slots=True)
class OptionDeclaration:
    """An option as the engine declared it."""

    name: str
    type: str
    default: str = ""
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()

    @classmethod
    def parse(cls, line: str) -> OptionDeclaration | None:
        """Read an "option name … type …" line; None when it is not one."""
        match = _OPTION.match(line)
        if match is None:
            return None
        words = _KEYWORD.split(match["rest"] or "")
        values: dict[str, list[str]] = {"default": [], "min": [], "max": [], "var": []}
        for keyword, value in zip(words[1::2], words[2::2], strict=True):
            values[keyword].append(value.strip())
        return cls(
            name=match["name"],
            type=match["type"],
            default=values["default"][0] if values["default"] else "",
            minimum=_integer(values["min"]),
            maximum=_integer(values["max"]),
            choices=tuple(values["var"]),
        )

    def render(self, value: OptionValue) -> str:
        """Return `value` as `setoption` wants it.

        Raises OptionRefused with the range or the choices.
        """
        if self.type == "check":
            text = str(value).lower() if isinstance(value, bool | str) else ""
            if text not in ("true", "false"):
                raise self._refusal(value, "True or False")
            return text
        if self.type == "spin":
            return self._render_spin(value)
        if self.type == "combo":
            for choice in self.choices:
                if str(value).casefold() == choice.casefold():
                    return choice
            raise self._refusal(value, "one of " + ", ".join(self.choices))
        if self.type == "button":
            if value is not True:
                raise self._refusal(value, "True, to press the button")
            return ""
        return str(value) or "<empty>"

    def _render_spin(self, value: OptionValue) -> str:
        low, high = self.minimum, self.maximum
        wanted = "an integer" if low is None or high is None else f"an integer from {low} to {high}"
        try:
            number = int(value) if isinstance(value, str) else value
        except ValueError:
            raise self._refusal(value, wanted) from None
        if isinstance(number, bool) or not math.isfinite(number) or number != int(number):
            raise self._refusal(value, wanted)
        if (low is not None and number < low) or (high is not None and number > high):
            raise self._refusal(value, wanted)
        return str(int(number))

    def _refusal(self, value: OptionValue, wanted: str) -> OptionRefused:
        return OptionRefused(f"option {self.name!r} cannot be {shown(value)}; it takes {wanted}")


def _integer(words: list[str]) -> int | None:
    try:
        return int(words[0])
    except (ValueError, IndexError):
        return None


def describe_unknown(name: str, declared: Iterable[OptionDeclaration]) -> str:
    """Return the words for an option that the engine does not have."""
    known = [option.name for option in declared]
    guess = nearest(name, known) if len(known) <= 10 else _close(name, known)
    return f"it has no option {name!r}{guess and f'; it has {guess}'}"


def _close(name: str, known: list[str]) -> str:
    """Return the names most like `name`, "" when none is: an engine with a
    hundred options must not have them all listed."""
    import difflib

    folded = {k.casefold(): k for k in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.5)
    return ", ".join(repr(folded[c]) for c in close)
