"""The lock files: versions of all packages, within the ranges of setup.cfg, with hashes."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LOCKS = {"run": [], "test": ["test"], "dev": ["dev"]}


def wanted(extras: list[str]) -> Iterator[Requirement]:
    """Yield the package's requirements and those of extras."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    lines = settings["options"]["install_requires"].splitlines()
    for extra in extras:
        lines += settings["options.extras_require"][extra].splitlines()
    for line in filter(None, lines):
        requirement = Requirement(line)
        if requirement.name == settings["metadata"]["name"]:
            yield from wanted(sorted(requirement.extras))
        else:
            yield requirement


def locked(name: str) -> Iterator[tuple[Requirement, list[str]]]:
    """Yield the entries of a lock file, each with its hashes."""
    text = (ROOT / "requirements" / f"{name}.lock").read_text()
    for entry in text.replace("\\\n", " ").splitlines():
        line, *hashes = entry.split(" --hash=")
        yield Requirement(line), [hash.strip() for hash in hashes]


@pytest.mark.parametrize(("name", "extras"), LOCKS.items())
def test_lock_has_each_requirement_in_its_range(name: str, extras: list[str]) -> None:
    versions: dict[str, list[str]] = {}
    for entry, _ in locked(name):
        (specifier,) = entry.specifier
        versions.setdefault(canonicalize_name(entry.name), []).append(specifier.version)
    for requirement in wanted(extras):
        found = versions[canonicalize_name(requirement.name)]
        assert all(version in requirement.specifier for version in found), requirement


@pytest.mark.parametrize("name", LOCKS)
def test_lock_has_one_version_with_hashes_of_each_package_and_no_host(name: str) -> None:
    for entry, hashes in locked(name):
        assert [specifier.operator for specifier in entry.specifier] == ["=="]
        assert hashes
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", hash) for hash in hashes)
        assert entry.url is None
    assert "://" not in (ROOT / "requirements" / f"{name}.lock").read_text()
