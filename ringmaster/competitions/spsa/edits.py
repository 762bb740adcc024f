"""A tune whose control file has been edited: what becomes of what it has come to.

The state has the terms that it is of (`Past`).  Results are taken under these; then, once
in a run and before the first game is given out, `adopt` goes over to the terms of the
present control file and says what that did.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from ringmaster.competitions.spsa.terms import LEARNING, Known, Terms, by_code
from ringmaster.tuners.spsa import GainMethod, Space, Spsa
from ringmaster.tuners.spsa.carrying import Former, carry_on, former

#: Parameters whose new c and R are told one by one.
MOST_TOLD = 20


class Layout(msgspec.Struct, frozen=True, array_like=True):
    """What values the games of an iteration are played with.

    codes  of the parameters whose values its tickets have, in this order
    fixed  values of the others, as engines were given them
    """

    codes: list[str]
    fixed: dict[str, int | float] = {}


class Past(msgspec.Struct, omit_defaults=True):
    """What a tune must know of the settings that it was played under.

    terms    those of the present state
    slots    all parameters that there have ever been, in the order in which they came;
             the place is that of a parameter's random words in each iteration
    layouts  what tickets mean, which have the place of theirs; the last is the present one
    starts   where parameters began, if the control file has another start by now
    former   parameters that were tuned, and are not now
    earlier  see `Counting`
    before   the tune as it was before the last edit, as long as no iteration has come
             back since: an edit that is taken back at once leaves no trace
    """

    terms: Terms
    slots: list[str]
    layouts: list[Layout]
    starts: dict[str, float] = {}
    former: dict[str, Former] = {}
    earlier: list[tuple[int, int]] = []
    before: Before | None = None

    def rest(self, parameter: Known) -> float:
        """Return where a frozen parameter is: where it was left, or at its start."""
        known = self.former.get(parameter.code)
        return parameter.start if known is None else parameter.clip(known.value)

    def space(self) -> Space:
        """Return the space of the parameters that are tuned."""
        return Space.of(
            [
                msgspec.structs.replace(p.tuned(), start=p.clip(self.starts.get(p.code, p.start)))
                for p in self.terms.tuned
            ]
        )

    def tuned_slots(self) -> list[int]:
        """Return the slot of each parameter that is tuned."""
        return [self.slots.index(p.code) for p in self.terms.tuned]

    def arranged(self, layout: int, values: Sequence[float]) -> list[float]:
        """Return a ticket's values in the order of the parameters that are tuned now,
        NaN for those that it does not have."""
        found = dict(zip(self.layouts[layout].codes, values, strict=True))
        return [found.get(p.code, math.nan) for p in self.terms.tuned]


class Before(msgspec.Struct):
    """A tune before an edit.

    begun  iterations of which a game had been given out
    """

    begun: int
    tuner: dict[str, Any]
    past: Past


#: Makes the tuner, without a result, of terms.
MakeTuner = Callable[[Past], Spsa]


@dataclass(frozen=True)
class Adopted:
    """A tune under new terms; `lines` say what has become of it."""

    past: Past
    tuner: Spsa
    lines: tuple[str, ...] = ()


def begin(terms: Terms) -> Past:
    """Return the past of a tune that has none."""
    past = Past(terms, [p.code for p in terms.parameters], [])
    past.layouts = [_layout(past)]
    return past


def _layout(past: Past) -> Layout:
    return Layout(
        [p.code for p in past.terms.tuned],
        {p.code: p.tuned().engine_value(past.rest(p)) for p in past.terms.parameters if p.frozen},
    )


def adopt(past: Past, tuner: Spsa, terms: Terms, begun: int, make: MakeTuner) -> Adopted:
    """Return a tune as it goes on under other terms.

    past, tuner  as they are; neither is changed
    begun        iterations of which a game has been given out
    """
    if terms == past.terms:
        return Adopted(past, tuner)
    base, earlier, issued = past, tuner, past
    known = past.before
    if known is not None and known.tuner["told"] == tuner.told:
        base = known.past
        earlier = make(base)
        earlier.restore(known.tuner)
        if begun == known.begun:
            issued = base
    if issued is base and terms == base.terms:
        # taken back before anything came of it
        new, tune = base, earlier
    else:
        given_out = _given_out(base, issued, begun)
        new = _past(given_out, earlier, terms)
        new.before = Before(begun, earlier.state(), given_out)
        tune = make(new)
        if earlier.told:
            _carry(base, earlier, new, tune)
        for p in terms.tuned:
            new.former.pop(p.code, None)
    return Adopted(new, tune, tuple(_lines(past, tuner, new, tune, begun)))


def _given_out(base: Past, issued: Past, begun: int) -> Past:
    """Return a past with what follows from the games that have been given out.

    issued  what they were given out under
    """
    earlier = list(issued.earlier)
    done = begun - sum(iterations for iterations, _ in earlier)
    if done:
        size = issued.terms.settings.get("games_per_iteration", 2)
        if earlier and earlier[-1][1] == size:
            done += earlier.pop()[0]
        earlier.append((done, size))
    return msgspec.structs.replace(
        base,
        slots=issued.slots,
        layouts=issued.layouts,
        earlier=earlier,
        before=None,
    )


def _past(base: Past, earlier: Spsa, terms: Terms) -> Past:
    """Return the past under new terms, `former` still with those that are tuned again."""
    known = by_code(base.terms.parameters)
    tuned = [p.code for p in base.terms.tuned]
    left, starts = dict(base.former), {}
    if earlier.told:
        now = {p.code for p in terms.tuned}
        for i, (code, value) in enumerate(zip(tuned, earlier.estimate().tolist(), strict=True)):
            if code not in now:
                left[code] = former(earlier, i, value)
        starts = {
            p.code: base.starts.get(p.code, known[p.code].start)
            for p in terms.tuned
            if p.code in tuned and (p.code in base.starts or p.start != known[p.code].start)
        }
    codes = [p.code for p in terms.parameters]
    new = msgspec.structs.replace(
        base,
        terms=terms,
        slots=[*base.slots, *(code for code in codes if code not in base.slots)],
        former=left,
        starts=starts,
    )
    layout = _layout(new)
    if layout != base.layouts[-1]:
        new.layouts = [*base.layouts, layout]
    return new


def _carry(base: Past, earlier: Spsa, new: Past, tune: Spsa) -> None:
    index = {p.code: i for i, p in enumerate(base.terms.tuned)}
    tuned = new.terms.tuned
    carry_on(
        tune,
        earlier,
        [index.get(p.code) for p in tuned],
        [None if p.code in index else new.former.get(p.code) for p in tuned],
        same_method=base.terms.settings.get("method") == new.terms.settings.get("method")
        and _but_starts(base.terms.tuned) == _but_starts(tuned)
        and np.array_equal(earlier.space.start, tune.space.start),
    )


def _but_starts(parameters: Sequence[Known]) -> list[Known]:
    return [msgspec.structs.replace(p, start=0.0) for p in parameters]


# what is said of it


def _lines(past: Past, tuner: Spsa, new: Past, tune: Spsa, begun: int) -> Iterator[str]:
    where = f"after iteration {begun}: " if begun else "before the first iteration: "
    for line in _texts(past, tuner, new, tune, begun):
        yield where + line


def _texts(past: Past, tuner: Spsa, new: Past, tune: Spsa, begun: int) -> Iterator[str]:
    before, now = past.terms.shown(), new.terms.shown()
    for name in LEARNING:
        if before.get(name) != now.get(name):
            change = f"{name} {before.get(name, 'not set')} → {now.get(name, 'not set')}"
            yield change + _effect(name, new, tune)
    was, present = _values(past, tuner), _values(new, tune)
    known = by_code(new.terms.parameters)
    for p in past.terms.parameters:
        if p.code not in known:
            left = new.former.get(p.code)
            yield (
                f"{p.code}: removed"
                + (f" at {left.value:.6g}, its estimate" if left is not None else "")
                + "; engines are not given it any more"
            )
    before_known = by_code(past.terms.parameters)
    for p in new.terms.parameters:
        value = present[p.code]
        if p.code in before_known:
            text = _change(before_known[p.code], p, was[p.code], value, told=tune.told > 0)
            if text:
                yield f"{p.code}: {text}"
        elif p.code in past.former:
            frozen = "frozen" if p.frozen else "with the results of before"
            yield f"{p.code}: put back at {value:.6g}, where it was left, {frozen}"
        else:
            frozen = ", frozen" if p.frozen else ""
            yield f"{p.code}: is new, at its start {value:.6g}{frozen}"
    yield from _gains(past, tuner, new, tune, begun)
    under_way = begun - tune.told
    if under_way > 0 and past.terms.parameters != new.terms.parameters:
        yield (
            f"{under_way} iterations under way keep the values that they were given"
            if under_way > 1
            else "the iteration under way keeps the values that it was given"
        )


def _values(past: Past, tuner: Spsa) -> dict[str, float]:
    """Return where every parameter is: θ, or where it is frozen."""
    theta = iter(tuner.theta.tolist())
    return {p.code: past.rest(p) if p.frozen else next(theta) for p in past.terms.parameters}


def _effect(name: str, new: Past, tune: Spsa) -> str:
    if name == "method":
        if isinstance(tune.method, GainMethod):
            return "; θ stays, and moves by the new method's steps"
        return "; θ is where the results so far put it"
    if name == "number_of_games":
        games = new.terms.settings.get("number_of_games", 0)
        iterations = tune.counting.iterations(games) if games else 0
        done = "; the tune is complete" if games and tune.told >= iterations else ""
        return (f": {iterations} iterations" if games else "") + done
    return ""


_NAMES: Mapping[str, str] = {
    "minimum": "min",
    "maximum": "max",
    "c_end": "c_end",
    "r_end": "r_end",
    "step": "step",
    "integer": "integer",
    "start": "start",
}


def _change(p: Known, q: Known, was: float, now: float, *, told: bool) -> str:
    """Return what has become of a parameter, "" if nothing has."""
    changes = [
        f"{name} {_shown(getattr(p, field))} → {_shown(getattr(q, field))}"
        for field, name in _NAMES.items()
        if getattr(p, field) != getattr(q, field)
    ]
    if q.frozen and not p.frozen:
        changes.append(
            f"frozen at {now:.6g}" + (f", its estimate (θ was {was:.6g})" if told else "")
        )
    elif p.frozen and not q.frozen:
        changes.append(f"tuned from now on, from {now:.6g}")
    elif not changes and was == now:
        return ""
    elif was != now:
        name = "its value" if q.frozen else "θ"
        changes.append(f"{name} {was:.6g} → {now:.6g}")
    elif p.start != q.start:
        changes.append(f"it stays at {now:.6g}, only what is reported compares with the start")
    return "; ".join(changes)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _gains(past: Past, tuner: Spsa, new: Past, tune: Spsa, begun: int) -> Iterator[str]:
    """Yield what c and R are at the next iteration, where that is not what they would
    have been."""
    old = {p.code: pair for p, pair in zip(past.terms.tuned, _at(tuner, begun + 1), strict=True)}
    lines = []
    for p, (c, r) in zip(new.terms.tuned, _at(tune, begun + 1), strict=True):
        parts = []
        for name, b, a in zip("cR", old.get(p.code, (None, None)), (c, r), strict=True):
            if a is not None and (b is None or abs(a - b) > 1e-9 * abs(a)):
                parts.append(f"{name} {a:.4g}" if b is None else f"{name} {b:.4g} → {a:.4g}")
        if parts:
            lines.append(f"{p.code}: {', '.join(parts)} in iteration {begun + 1}")
    yield from lines[:MOST_TOLD]
    if len(lines) > MOST_TOLD:
        yield f"and other c and R of {len(lines) - MOST_TOLD} more parameters"


def _at(tuner: Spsa, iteration: int) -> list[tuple[float, float | None]]:
    """Return c and R (None where the method has none) of an iteration."""
    k = tuner.counting.k(iteration)
    c = tuner.method.c(k, tuner.memory).tolist()
    if isinstance(tuner.method, GainMethod):
        return list(zip(c, tuner.method.gains.R(k).tolist(), strict=True))
    return [(x, None) for x in c]
