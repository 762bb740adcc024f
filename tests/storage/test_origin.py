"""Which program wrote a file, by its first bytes."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.storage.origin import maker, makers

STATUS = {"void_game_count": 0, "comp": {"results": []}, "comp_vn": 1}

GOMILL = {
    "log": "run started at 2010-05-06 07:08 with max_games None\nstarting game 0_0\n",
    "playoff.hist": "    0_0 a beat b B+R\n    0_1 b beat a W+3.5\n",
    "jigo.hist": "  AvB_12 a vs b jigo\n",
    "named.hist": "first_0 a beat b B+R\n",
    "mc.hist": "rave:2 [(1,)] won\n",
    "deep.hist": "rave:2 k:0.5 [(1, 1) (2, 0)] lost\n3 nodes\n",
    "ce.hist": "Generation 0\nDistribution\nrave:1.0\n",
    "playoff.report": "playoff: po\n\na v b (0/2 games)\n\nplayer a: GNU Go:3.8\n\n",
    "long.report": "allplayall: x\n" + 9000 * "a line\n" + "\n",
    "mc.report": "MCTS tuning event: mc\nboard size: 5\n",
    "ce.report": "CEM tuning event: ce\n",
    "0_0.sgf": "(;FF[4]AP[gomill:0.8.3]\nC[Event: po])\n",
    "0_0.log": ">> b: boardsize 5\n<< b: =\n",
}
RINGMASTER = {
    "log": "2026-01-02 03:04:05 run 1 started (ringmaster 0.1.0)\n",
    "new.log": "2026-01-02 03:04:05 log of tune, by ringmaster 0.1.0\n",
    "failed.log": "2026-01-02 03:04:05 startup check failed: x.ctl:1:1: error\n",
    "playoff.report": "playoff: po\n\na v b (0/2 games)\n\nplayer a: GNU Go:3.8\n",
    "report": "spsa: tune\n",
    "0_0.sgf": "(;FF[4]GM[1]CA[UTF-8]\nAP[ringmaster:0.1.0]SZ[5])\n",
    "0_0.log": "    0.0110 a > protocol_version\n",
    "tree.jsonl": '{"games":2}\n',
    "cmd": "stop\n",
    "empty": "",
}
UNKNOWN = {
    "hist": "game 0_0: a beat b B+R\n",
    "latex.log": "This is pdfTeX\n",
    "python.log": "2026-01-02 03:04:05 INFO engine started\n",
    "html": "<!DOCTYPE html>\n<html><body>mine</body></html>\n",
    "pgn": '[Event "x"]\n',
    "cmd": "stop the press",
    "gomill.cmd": "stop",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, "Gomill") for text in GOMILL.values()),
        *((text, "ringmaster") for text in RINGMASTER.values()),
        *((text, None) for text in UNKNOWN.values()),
    ],
)
def test_the_first_lines_say_which_program_wrote_a_file(
    tmp_path: Path, text: str, expected: str | None
) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    assert maker(path) == expected


class _Trap:
    def __init__(self, target: str) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return os.mkdir, (self.target,)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_status_file_of_gomill_is_recognised_and_not_loaded(tmp_path: Path, protocol: int) -> None:
    path, trap = tmp_path / "t.status", tmp_path / "sprung"
    path.write_bytes(pickle.dumps((0, {**STATUS, "more": _Trap(str(trap))}), protocol))
    assert maker(path) == "Gomill"
    assert not trap.exists()


def test_pickle_of_another_program_is_not_gomills(tmp_path: Path) -> None:
    path = tmp_path / "t.status"
    path.write_bytes(pickle.dumps({"weights": [1.0]}, 2))
    assert maker(path) is None


def test_only_records_and_transcripts_of_a_folder_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.sgf").write_text(GOMILL["0_0.sgf"])
    (tmp_path / "b.pgn").write_text(GOMILL["0_0.sgf"])
    (tmp_path / "c.log").write_text(RINGMASTER["0_0.log"])
    (tmp_path / "d.sgf").mkdir()
    (tmp_path / "e.sgf").symlink_to("nowhere")
    found = {path.name: its for path, its in makers(tmp_path).items()}
    assert found == {
        "a.sgf": "Gomill",
        "b.pgn": None,
        "c.log": "ringmaster",
        "d.sgf": None,
        "e.sgf": None,
    }


@given(
    st.binary(max_size=300)
    | st.tuples(
        st.sampled_from([*GOMILL.values(), *RINGMASTER.values(), "\x80\x02", "SQLite format 3\0"]),
        st.binary(max_size=200),
    ).map(lambda parts: parts[0].encode("latin-1") + parts[1])
)
def test_any_bytes_have_an_answer(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(data)
    assert maker(path) in ("ringmaster", "Gomill", "another program", None)
