"""Engines whose names, comments and errors are meant for terminals, editors and spreadsheets."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import LONG
from tests.program import ENGINES, environment

pytestmark = pytest.mark.process

#: Characters that no output may have: C0 but tab and line ends, DEL, C1, marks and overrides.
RAW = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
CONTROL = """
competition_type = "playoff"
game = {game!r}
{settings}
players = {{
    "h": Player([{python!r}, "-I", {engine!r}, "--hostile", "--crash-on", {crash!r},
                 "--once", {once!r}], {limit}),
    "e": Player([{python!r}, "-I", {engine!r}], {limit}),
}}
matchups = [Matchup("h", "e", number_of_games=4)]
stderr_to_log = {to_log}
skip_player_checks = True
move_limit = 8
"""
GAMES = {
    "chess": ("fault_uci.py", "go:3", "nodes=1", ""),
    "shogi": ("fault_usi.py", "go:3", "nodes=1", "record_format = 'csa'"),
    "shogi-kif": ("fault_usi.py", "go:3", "nodes=1", "record_format = 'kif'"),
    "go": ("fault_gtp.py", "genmove:3", "", "board_size = 7\nkomi = 0.5"),
}
VERBS = [
    ("run", "--log-gtp", "--log-games"),
    ("check", "-v"),
    ("report",),
    ("show",),
    ("show", "--json"),
    ("diff",),
    ("export", "--void"),
    ("export", "--format", "jsonl", "--void"),
]


def write(folder: Path, kind: str, *, to_log: bool) -> Path:
    engine, crash, limit, settings = GAMES[kind]
    control = folder / "event.ctl"
    control.write_text(
        CONTROL.format(
            game=kind.partition("-")[0],
            settings=settings,
            python=sys.executable,
            engine=str(ENGINES / engine),
            crash=crash,
            once=str(folder / "crashed"),
            limit=limit,
            to_log=to_log,
        )
    )
    return control


def clean(data: bytes) -> str:
    """Return text that has none of the raw characters."""
    text = data.decode()
    match = RAW.search(text)
    assert match is None, repr(text[max(0, match.start() - 60) : match.end() + 20])
    return text


@pytest.mark.slow
@pytest.mark.parametrize("kind", GAMES)
def test_no_output_has_a_character_that_is_obeyed(tmp_path: Path, kind: str) -> None:
    control = write(tmp_path, kind, to_log=kind != "chess")
    for verb in VERBS:
        done = subprocess.run(
            [sys.executable, "-m", "ringmaster", str(control), *verb],
            capture_output=True,
            env=environment(),
            timeout=3 * LONG,
        )
        for stream in (done.stdout, done.stderr):
            clean(stream)
        assert b"Traceback" not in done.stderr
    names = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert {".log", ".hist", ".report", ".html"} < names
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.suffix not in (".status", ".png", ".svg"):
            try:
                clean(path.read_bytes())
            except AssertionError as error:
                raise AssertionError(f"{path}: {error}") from None
