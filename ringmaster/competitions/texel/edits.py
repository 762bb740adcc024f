"""A tune whose control file has been edited: what becomes of what it has come to.

Where the errors or the way to smaller ones would be others, the optimiser begins anew from
the best values so far; everything else goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.players import PlayerDefinition
from ringmaster.competitions.texel.state import Chapter, Quality, State, score_key
from ringmaster.competitions.texel.terms import LEARNING, MEASURING, Known, Terms, plain
from ringmaster.competitions.tuned_parameters import Named
from ringmaster.model.canonical import canonical
from ringmaster.model.parameters import TunedParameter

_NAMES = {"minimum": "min", "maximum": "max"}
#: Arguments of Player(…) on which scores depend.
_OF_ENGINE = ("command", "environ", "options", "protocol", "startup_gtp_commands")


def engine_of(definition: PlayerDefinition | None, make: Any) -> dict[str, Any]:
    """Return a player as far as scores depend on it; the folder of a competition may be
    moved, and limits of moves may be changed."""
    if definition is None or make is not None:
        return {"make_candidate": plain(canonical(make))}
    found = {name: plain(canonical(definition.values[name])) for name in _OF_ENGINE}
    command = list(found["command"])
    # one Python has many names (python, python3, python3.11), and which one sys.executable has
    # depends on how ringmaster was called
    own = command[0] == sys.executable
    command[0] = "python" if own else command[0].rpartition("/")[2]
    return {**found, "command": command}


def changes(was: Terms, now: Terms, digest: tuple[str, str]) -> list[str]:
    """Return what of an edit makes the optimiser begin anew, a few words each.

    digest  of the positions, then and now; "" where it is not known
    """
    found = [
        f"{name} changed"
        for name in LEARNING
        if plain(was.settings.get(name)) != plain(now.settings.get(name))
    ]
    if not found and all(digest) and digest[0] != digest[1]:
        found.append("the positions are others")
    before, after = ({p.code: p for p in terms.parameters} for terms in (was, now))
    for code, old in before.items():
        new = after.get(code)
        if new is None:
            found.append(f"{code} removed")
        elif new != old:
            found.append(f"{code}: {_differences(old, new)}")
    found += [f"{code} is new" for code in after if code not in before]
    if not found and was.parameters != now.parameters:
        found.append("the order of the parameters changed")
    return found


def _differences(old: Known, new: Known) -> str:
    parts = []
    for name in Known.__struct_fields__:
        one, two = getattr(old, name), getattr(new, name)
        if one == two:
            continue
        if name == "frozen":
            parts.append("frozen" if two else "tuned from now on")
        else:
            parts.append(f"{_NAMES.get(name, name)} {_shown(one)} → {_shown(two)}")
    return ", ".join(parts)


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    return f"{value:g}" if isinstance(value, float) else str(value)


def begin_anew(
    state: State, terms: Terms, parameters: Sequence[TunedParameter], why: str, *, remeasure: bool
) -> State:
    """Return the state of a tune that begins anew from the best values so far.

    why        the edit, in a few words
    remeasure  whether scales and labels have to be found again
    """
    best: Named = {**state.left, **state.values, **state.best_values}
    known = {p.code: p for p in terms.parameters}
    values = {
        p.code: p.engine_value(known[p.code].clip(best.get(p.code, p.start))) for p in parameters
    }
    keys = [score_key(state.beginning, n) for n in (*state.kept, 0)]
    keys += [score_key(state.beginning, int(n)) for n in (*state.open, *state.filters)]
    earlier = list(state.earlier)
    if state.told:
        earlier.append(Chapter(why, state.told, state.start, state.best, dict(state.best_values)))
    return msgspec.structs.replace(
        state,
        terms=terms,
        values=values,
        left={code: value for code, value in best.items() if code not in values},
        beginning=state.beginning + 1,
        # what was found out was of other scores, parameters or positions, and a probe under
        # way will not come back
        probe_due=True,
        probe_out=None,
        facts=None,
        filters={},
        open={},
        asked=0,
        told=0,
        told_before=state.told_before + state.asked,
        optimiser=None,
        labelling=None if remeasure else state.labelling,
        kept=[],
        stale=list(dict.fromkeys([*state.stale, *keys])),
        start=Quality(),
        best=Quality(),
        best_values={},
        done=False,
        improvement=None,
        entropies={},
        calibration={},
        comparison=None,
        earlier=earlier,
    )


def measures_again(was: Terms, now: Terms, digest: tuple[str, str]) -> bool:
    """Whether scales have to be fitted again: what has been fitted once stays otherwise."""
    changed = any(
        plain(was.settings.get(name)) != plain(now.settings.get(name))
        for name in (*MEASURING, "loss")
    )
    return changed or (all(digest) and digest[0] != digest[1])


def limits_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that say when to end."""
    return {name: values[name] for name in ("patience", "most_passes")}
