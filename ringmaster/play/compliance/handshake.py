"""What a UCI or USI engine says of itself before it plays: its name, its options
and their ranges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ringmaster.engines.options import OptionDeclaration
from ringmaster.games.text import one_line
from ringmaster.play.compliance.searchbench import SearchBench

#: Faults of the same kind that are told one by one.
MOST = 5


def try_handshake(bench: SearchBench) -> None:
    dialect = bench.dialect
    lines = _lines(bench)
    said = {line.split(None, 2)[1] for line in lines if line.startswith(("id name ", "id author "))}
    missing = [f"id {word}" for word in ("name", "author") if word not in said]
    heard = f"{dialect.greeting} {1000 * bench.handshake_seconds:.0f} ms after its start"
    if missing:
        bench.warned("handshake", f"no {' and no '.join(missing)} ({heard})", ())
    else:
        bench.passed("handshake", heard)
    bench.passed("ready for a game", f"in {1000 * bench.setup_seconds:.0f} ms")


def try_options(bench: SearchBench) -> None:
    declared: list[OptionDeclaration] = []
    faults: list[tuple[str, str]] = []
    for line in _lines(bench):
        if not line.startswith("option"):
            continue
        option = OptionDeclaration.parse(line)
        if option is None:
            faults.append(("cannot be read", line))
        else:
            declared.append(option)
            faults += ((fault, line) for fault in _faults(option))
    names = Counter(option.name.casefold() for option in declared)
    faults += (
        (f"option {name!r} is declared {count} times", "")
        for name, count in names.items()
        if count > 1
    )
    bench.options = {option.name.casefold(): option for option in declared}
    for fault, line in faults[:MOST]:
        bench.warned("options", fault, (f"< {one_line(line, 160)}",) if line else ())
    if len(faults) > MOST:
        bench.warned("options", f"and {len(faults) - MOST} more", ())
    if not faults:
        bench.passed("options", f"{len(declared)} declared, their defaults within their ranges")
    if bench.player.options:
        bench.passed("options of this player", f"{len(bench.player.options)} accepted")
    _expected(bench)


def _expected(bench: SearchBench) -> None:
    lacking = [name for name in bench.dialect.expected if name.casefold() not in bench.options]
    shown = [
        f"{option.name} {option.minimum} to {option.maximum}, default {option.default}"
        for name in bench.dialect.expected
        if (option := bench.options.get(name.casefold())) is not None
    ]
    name = " and ".join(bench.dialect.expected)
    if lacking:
        bench.skipped(name, f"it declares no {' and no '.join(lacking)}")
    else:
        bench.passed(name, "; ".join(shown))


def _faults(option: OptionDeclaration) -> Iterator[str]:
    """Yield what is wrong with a declaration."""
    if not option.name:
        yield "an option has no name"
    elif option.type == "spin":
        yield from _spin_faults(option)
    elif option.type == "check" and option.default not in ("true", "false"):
        yield f"option {option.name!r} has the default {option.default!r}, not true or false"
    elif option.type == "combo":
        if not option.choices:
            yield f"option {option.name!r} has no var to choose"
        elif option.default not in option.choices:
            yield f"option {option.name!r} has the default {option.default!r}, not one of its vars"


def _spin_faults(option: OptionDeclaration) -> Iterator[str]:
    low, high = option.minimum, option.maximum
    if low is None or high is None:
        yield f"option {option.name!r} has no min or no max"
    elif low > high:
        yield f"option {option.name!r} has a min of {low} above its max of {high}"
    try:
        default = int(option.default)
    except ValueError:
        yield f"option {option.name!r} has the default {option.default!r}, no integer"
        return
    if (low is not None and default < low) or (high is not None and default > high):
        yield f"option {option.name!r} has a default of {default} outside {low} to {high}"


def _lines(bench: SearchBench) -> list[str]:
    return [line.decode("utf-8", "replace").strip() for line in bench.tape.handshake]
