"""A tune whose control file has been edited: what becomes of what it has come to.

The state has the terms that it is of (`Past`).  Results are taken under these; then, once
in a run and before the first game is given out, `adopt` goes over to the terms of the
present control file and says what that did.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from ringmaster.competitions.spsa.methods import Schedule, make_schedule
from ringmaster.competitions.spsa.played import Layout
from ringmaster.competitions.spsa.terms import LEARNING, Known, Terms, by_code
from ringmaster.tuners.spsa import GainMethod, Space, Spsa, Trust
from ringmaster.tuners.spsa.carrying import Former, carry_on, former

_NOT_SET = "not set"
#: Parameters whose new c and R are told one by one.
MOST_TOLD = 20


class Past(msgspec.Struct, omit_defaults=True):
    """What a tune must know of the settings that it was played under.

    terms    those of the present state
    slots    all parameters that there have ever been, in the order in which they came;
             the place is that of a parameter's random words in each iteration
    layouts  what the values in tickets are of; the last one holds, another one is added
             when parameters or their precision have been changed
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

    def removed(self) -> dict[str, float]:
        """Return the parameters that are not in the control file any more, as they were
        left."""
        present = by_code(self.terms.parameters)
        return {code: left.value for code, left in self.former.items() if code not in present}

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


class Tune(msgspec.Struct, frozen=True):
    """A tune under its terms."""

    past: Past
    schedule: Schedule
    tuner: Spsa


#: Makes a tune that has no result.
MakeTune = Callable[[Past], Tune]


def make_tune(past: Past, trust: Trust) -> Tune:
    """Return a tune without a result.  Raises SettingError."""
    values = past.terms.values()
    tuned = [p.tuned() for p in past.terms.tuned]
    schedule = make_schedule(values, tuned, past.space(), tuple(past.earlier))
    tuner = Spsa(
        schedule.method,
        seed=values["seed"],
        rounding=values["rounding"],
        counting=schedule.counting,
        trust=trust,
        slots=past.tuned_slots(),
    )
    return Tune(past, schedule, tuner)


def begin(terms: Terms) -> Past:
    """Return the past of a tune that has none."""
    return Past(terms, [p.code for p in terms.parameters], [])


def adopt(now: Tune, terms: Terms, begun: int, make: MakeTune) -> tuple[Tune, list[str]]:
    """Return a tune as it goes on under other terms, and what has become of it.

    now    as it is; it is not changed
    begun  iterations of which a game has been given out
    """
    past = now.past
    if terms == past.terms:
        return now, []
    base, issued = now, past
    before = past.before
    if before is not None and before.tuner["told"] == now.tuner.told:
        base = make(before.past)
        base.tuner.restore(before.tuner)
        if begun == before.begun:
            issued = before.past
    if issued is base.past and terms == issued.terms:
        # taken back before anything came of it
        return base, _lines(now, base, begun)
    given_out = base.past
    if issued is not given_out:
        given_out = _given_out(given_out, issued, begun)
    new = _past(given_out, issued, base.tuner, terms, begun)
    new.before = Before(begun, base.tuner.state(), msgspec.structs.replace(given_out, before=None))
    tune = make(new)
    if base.tuner.told:
        _carry(base, tune)
    for p in terms.tuned:
        new.former.pop(p.code, None)
    return tune, _lines(now, tune, begun)


def _given_out(base: Past, issued: Past, begun: int) -> Past:
    """Return a past with what follows from games that were given out under a later one."""
    return msgspec.structs.replace(
        base, slots=issued.slots, layouts=issued.layouts, earlier=_closed(issued, begun)
    )


def _closed(past: Past, begun: int) -> list[tuple[int, int]]:
    """Return `earlier` with all iterations that have begun."""
    earlier = list(past.earlier)
    done = begun - sum(iterations for iterations, _ in earlier)
    if done:
        earlier.append((done, past.terms.settings["games_per_iteration"]))
    return earlier


def _past(base: Past, issued: Past, earlier: Spsa, terms: Terms, begun: int) -> Past:
    """Return the past under new terms, `former` still with those that are tuned again.

    base     whose results the tune, `earlier`, goes on with
    issued   what the last games were given out under
    """
    known = by_code(base.terms.parameters)
    tuned = [p.code for p in base.terms.tuned]
    left, starts = dict(base.former), {}
    if earlier.told:
        now = {p.code for p in terms.tuned}
        for i, (code, value) in enumerate(zip(tuned, earlier.estimate().tolist(), strict=True)):
            if code not in now:
                left[code] = former(earlier, i, _rounded(value, known[code]))
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
        before=None,
    )
    sizes = {x.settings["games_per_iteration"] for x in (issued.terms, terms)}
    if len(sizes) > 1:
        new.earlier = _closed(issued, begun)
    return new


def _rounded(value: float, parameter: Known) -> float:
    """Return a value to about a millionth of a parameter's range, to be given to engines."""
    places = 6 - math.floor(math.log10(parameter.maximum - parameter.minimum))
    return parameter.clip(round(value, places))


def _carry(base: Tune, new: Tune) -> None:
    before, tuned = base.past.terms.tuned, new.past.terms.tuned
    index = {p.code: i for i, p in enumerate(before)}
    methods = {tune.past.terms.settings["method"] for tune in (base, new)}
    carry_on(
        new.tuner,
        base.tuner,
        [index.get(p.code) for p in tuned],
        [None if p.code in index else new.past.former.get(p.code) for p in tuned],
        same_method=len(methods) == 1
        and _but_starts(before) == _but_starts(tuned)
        and np.array_equal(base.tuner.space.start, new.tuner.space.start),
    )


def _but_starts(parameters: Sequence[Known]) -> list[Known]:
    return [msgspec.structs.replace(p, start=0.0) for p in parameters]


# what is said of it


def _lines(was: Tune, now: Tune, begun: int) -> list[str]:
    where = f"after iteration {begun}" if begun else "before the first iteration"
    return [f"{where}: {text}" for text in _texts(was, now, begun)]


def _texts(was: Tune, now: Tune, begun: int) -> Iterator[str]:
    past, new = was.past, now.past
    before, after = past.terms.shown(), new.terms.shown()
    for name in LEARNING:
        if before.get(name) != after.get(name):
            effect = ""
            if name == "method" and now.tuner.told:
                effect = "; θ stays where it is, and moves by the new method's steps"
                if not isinstance(now.tuner.method, GainMethod):
                    effect = "; θ is where all results so far put it"
            yield f"{name} {before.get(name, _NOT_SET)} → {after.get(name, _NOT_SET)}{effect}"
    planned, told = now.schedule.iterations, now.tuner.told
    if planned != was.schedule.iterations:
        text = f"the tune has {planned} iterations, not {was.schedule.iterations}"
        yield f"{text}: it is complete, with {told}" if told >= planned else text
    yield from _parameters(past, was.tuner, new, now.tuner)
    if told < planned:
        yield from _gains(past, was.tuner, new, now.tuner, begun)
    under_way = begun - told
    if under_way > 0 and past.terms.parameters != new.terms.parameters:
        yield (
            f"{under_way} iterations under way keep the values that they were given"
            if under_way > 1
            else "the iteration under way keeps the values that it was given"
        )


def _parameters(past: Past, tuner: Spsa, new: Past, tune: Spsa) -> Iterator[str]:
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
            text = _change(before_known[p.code], p, was[p.code], value, tune)
            if text:
                yield f"{p.code}: {text}"
        elif p.code in past.former:
            frozen = "frozen" if p.frozen else "with the results of before"
            yield f"{p.code}: put back at {value:.6g}, where it was left, {frozen}"
        else:
            frozen = ", frozen" if p.frozen else ""
            yield f"{p.code}: is new, at its start {value:.6g}{frozen}"


def _values(past: Past, tuner: Spsa) -> dict[str, float]:
    """Return where every parameter is: θ, or where it is frozen."""
    theta = iter(tuner.theta.tolist())
    return {p.code: past.rest(p) if p.frozen else next(theta) for p in past.terms.parameters}


_NAMES: Mapping[str, str] = {
    "minimum": "min",
    "maximum": "max",
    "c_end": "c_end",
    "r_end": "r_end",
    "step": "step",
    "integer": "integer",
    "start": "start",
}


def _change(p: Known, q: Known, was: float, now: float, tune: Spsa) -> str:
    """Return what has become of a parameter, "" if nothing has."""
    told = tune.told > 0
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
    elif was != now and told:
        name = "its value" if q.frozen else "θ"
        why = ""
        if not q.frozen and q.clip(was) != was:
            why = ", its averages begin anew"
        elif not q.frozen and not isinstance(tune.method, GainMethod):
            why = ", where the results put it now"
        changes.append(f"{name} {was:.6g} → {now:.6g}{why}")
    elif changes and told:
        changes.append(f"{'it' if q.frozen else 'θ'} stays at {now:.6g}")
        if p.start != q.start:
            changes.append("only what is reported compares with the start")
    return "; ".join(changes)


def _shown(value: Any) -> str:
    if value is None:
        return _NOT_SET
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
