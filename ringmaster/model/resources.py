"""CPUs and memory that a player's settings ask for: threads and hash, by the names that
engines have for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePath

from ringmaster.model.players import OptionValue, Player

#: Options of UCI and USI engines, folded: threads of the search (the second name is Toga
#: II's), and megabytes of hash.
THREADS = ("threads", "number of threads")
HASH = ("hash", "usi_hash")

#: Threads on command lines and in startup commands, as the engine's documentation has them.
_KATAGO = re.compile(r"(?:^|[,\s])numSearchThreads\s*=\s*(\d{1,5})(?!\d)", re.ASCII)
_WORDS = re.compile(
    r"(?:--?threads|threads|uct_param_search number_threads)[= ](\d{1,5})", re.ASCII
)
_LEELA = re.compile(r"-t ?(\d{1,5})", re.ASCII)


def given_option(player: Player, names: tuple[str, ...]) -> OptionValue | None:
    """Return the value that a player gives the first of these options; None for none."""
    folded = {name.casefold(): value for name, value in player.options.items()}
    return next((folded[name] for name in names if name in folded), None)


def threads_of(player: Player) -> int | None:
    """Return the threads that a player's settings ask for; None where they say nothing."""
    option = given_option(player, THREADS)
    if option is not None:
        text = str(option)
        return int(text) if text.isdecimal() else None
    return next(_spoken_threads(player), None)


def _spoken_threads(player: Player) -> Iterator[int]:
    """Yield the threads that words of the command line and startup commands ask for."""
    words = list(player.command[1:])
    leela = PurePath(player.command[0]).name.casefold().startswith("leelaz")
    # an option and its value may be one word or two
    texts = [*words, *map(" ".join, pairwise(words))]
    texts += [" ".join(command) for command in player.startup_gtp_commands]
    for text in texts:
        match = _KATAGO.search(text) or _WORDS.fullmatch(text) or (leela and _LEELA.fullmatch(text))
        if match:
            yield int(match[1])
