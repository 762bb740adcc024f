"""The cache of lark's grammar: fast, safe, and never needed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from ringmaster.control import grammar
from tests.control.samples import PLAYOFF_FILE, TUNER_FILE

ROOT = Path(__file__).parents[2]
BUILD = """
import sys
from pathlib import Path
from ringmaster.control import grammar
parser = grammar.load_parser(Path(sys.argv[1]))
assert parser.parse("a = [1, 2]\\n").data == "file_input"
"""


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A sound cache file, and its content."""
    folder = tmp_path_factory.mktemp("cache")
    grammar.load_parser(folder)
    (file,) = folder.iterdir()
    return file, file.read_bytes()


class Built(Exception):
    """The grammar would have been built."""


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes each time the grammar would be built instead of read."""
    noted: list[str] = []

    class Lark(grammar.lark.Lark):
        def __init__(self, text: str, **options: object) -> None:
            noted.append(text)
            raise Built

    monkeypatch.setattr(grammar.lark, "Lark", Lark)
    return noted


def load_noting_builds(folder: Path) -> None:
    with contextlib.suppress(Built):
        grammar.load_parser(folder)


def put(cached: tuple[Path, bytes], folder: Path, content: bytes, mode: int = 0o600) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / cached[0].name
    file.write_bytes(content)
    file.chmod(mode)
    return file


def test_cached_parser_reads_what_a_built_one_reads(cached: tuple[Path, bytes]) -> None:
    parser = grammar.load_parser(cached[0].parent)
    for text in (PLAYOFF_FILE, TUNER_FILE):
        tree = parser.parse(text)
        assert tree.data == "file_input"
        assert tree.children[-1].meta.end_line == text.count("\n")


def test_sound_cache_is_used(cached: tuple[Path, bytes], builds: list[str]) -> None:
    grammar.load_parser(cached[0].parent)
    assert builds == []


def test_cache_file_is_readable_json_and_private(cached: tuple[Path, bytes]) -> None:
    digest, body = cached[1].split(b"\n", 1)
    assert digest.decode() == hashlib.sha256(body).hexdigest()
    assert set(json.loads(body)) == {"data", "memo"}
    assert cached[0].stat().st_mode & 0o077 == 0


def test_cache_folder_holds_no_temporary_files(cached: tuple[Path, bytes]) -> None:
    assert [f.suffix for f in cached[0].parent.iterdir()] == [".json"]


def test_truncated_cache_is_built_anew(
    cached: tuple[Path, bytes], builds: list[str], tmp_path: Path
) -> None:
    for length in (0, 10, 64, 65, len(cached[1]) // 2, len(cached[1]) - 1):
        builds.clear()
        put(cached, tmp_path / "c", cached[1][:length])
        load_noting_builds(tmp_path / "c")
        assert len(builds) == 1, length


def test_changed_byte_is_noticed(
    cached: tuple[Path, bytes], builds: list[str], tmp_path: Path
) -> None:
    content = bytearray(cached[1])
    content[len(content) // 2] ^= 1
    put(cached, tmp_path / "c", bytes(content))
    load_noting_builds(tmp_path / "c")
    assert len(builds) == 1


@pytest.mark.parametrize("body", [b"[]", b"{}", b"null", b'{"data": {}, "memo": []}', b"\xff"])
def test_whole_file_of_another_shape_is_built_anew(
    body: bytes, cached: tuple[Path, bytes], builds: list[str], tmp_path: Path
) -> None:
    content = hashlib.sha256(body).hexdigest().encode() + b"\n" + body
    put(cached, tmp_path / "c", content)
    load_noting_builds(tmp_path / "c")
    assert len(builds) == 1


def test_pickle_in_the_place_of_the_cache_runs_nothing(
    cached: tuple[Path, bytes], builds: list[str], tmp_path: Path
) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "owned"),)

    body = pickle.dumps(Evil())
    put(cached, tmp_path / "c", hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    load_noting_builds(tmp_path / "c")
    assert len(builds) == 1
    assert not (tmp_path / "owned").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_cache_that_others_can_write_is_not_trusted(
    mode: int, cached: tuple[Path, bytes], builds: list[str], tmp_path: Path
) -> None:
    put(cached, tmp_path / "c", cached[1], mode)
    load_noting_builds(tmp_path / "c")
    assert len(builds) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX owners")
def test_cache_of_another_user_is_not_trusted(
    cached: tuple[Path, bytes], builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: cached[0].stat().st_uid + 1)
    load_noting_builds(cached[0].parent)
    assert len(builds) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links and pipes")
def test_link_or_pipe_in_the_place_of_the_cache_is_not_followed(
    cached: tuple[Path, bytes], builds: list[str], tmp_path: Path
) -> None:
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / cached[0].name).symlink_to(cached[0])
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / cached[0].name)
    for folder in ("link", "pipe"):
        load_noting_builds(tmp_path / folder)
    assert len(builds) == 2


def test_unwritable_folder_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    parser = grammar.load_parser(tmp_path / "file" / "cache")
    assert parser.parse("a = 1\n").data == "file_input"


def test_full_disk_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    grammar._write(tmp_path / "c" / "python.json", b"content")
    assert list((tmp_path / "c").iterdir()) == []


def test_no_home_folder_costs_only_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import platformdirs

    def refuse(*args: object, **kwargs: object) -> str:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(platformdirs, "user_cache_dir", refuse)
    assert grammar.default_folder() is None
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *a, **k: "~/.cache/x")
    assert grammar.default_folder() is None


def test_concurrent_builds_leave_one_sound_file(tmp_path: Path, builds: list[str]) -> None:
    folder = tmp_path / "deep" / "cache"
    processes = [
        subprocess.Popen([sys.executable, "-c", BUILD, str(folder)], cwd=ROOT) for _ in range(3)
    ]
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    assert len(list(folder.iterdir())) == 1
    grammar.load_parser(folder)
    assert builds == []


def test_what_lark_cannot_read_gives_no_tree(
    cached: tuple[Path, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = grammar.load_parser(cached[0].parent)
    monkeypatch.setattr(grammar, "_parser", lambda: parser)
    assert grammar.parse("a = 1") is not None
    assert grammar.parse("with (open('a') as a, open('b') as b):\n    pass") is None
    assert grammar.parse("a = ]") is None
