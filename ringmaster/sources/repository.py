"""Git repositories: the commit of a ref, and copies of commits.

A user's repository is only read: no file is written in it, and no hook of it runs.  Only a
URL is fetched, into the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from ringmaster.errors import SettingError, cut, nearest, shown, visible
from ringmaster.model.output_files import cache_folder, writing

#: The ref of a working tree with its changes.
WORKTREE: Final = "worktree"
#: Variables by which git takes another repository than that of its folder.
ELSEWHERE: Final = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX"),
)
#: Nothing of the user's repository runs; submodules are copied from folders.
_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.file.allow=always",
)
#: Seconds for a git process, which may fetch.
_PATIENCE: Final = 1800


def git(*words: str, cwd: str | Path, **variables: str) -> str:
    """Return the output of git without its last newline.  Raises SettingError."""
    environ = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    environ |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", **variables}
    environ.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
    # a folder within another repository is none
    environ["GIT_CEILING_DIRECTORIES"] = os.path.dirname(os.path.realpath(cwd))
    program = shutil.which("git")
    if program is None:
        raise SettingError(("git",), "git is not installed", "the program git on PATH")
    command = [program, *(word for setting in _SETTINGS for word in ("-c", setting)), *words]
    try:
        done = subprocess.run(
            command,
            cwd=os.path.realpath(cwd),
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SettingError(("git",), f"git {words[0]}: {visible(str(error))}") from None
    if done.returncode:
        lines = visible(done.stderr.decode(errors="replace")).splitlines() or ["it failed"]
        fault = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0])
        raise SettingError(("git",), f"git {words[0]}: {cut(fault, 300)}", details=lines)
    return done.stdout.decode(errors="replace").removesuffix("\n")


class Repository:
    """A git repository, fetched if it is a URL.

    name  its folder, absolute, or its URL

    Raises SettingError if it is none.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_local = os.path.isabs(name)
        if self.is_local:
            if not os.path.isdir(name):
                raise SettingError(("git",), f"there is no folder {name}")
            self.folder = os.path.realpath(name)
        else:
            key = hashlib.sha256(name.encode()).hexdigest()[:16]
            self.folder = str(cache_folder("repositories") / key)
            self._fetch()
        try:
            common = git("rev-parse", "--git-common-dir", cwd=self.folder)
        except SettingError as error:
            message, remedy = f"{name}: {error.message}", "the folder that holds .git, or a URL"
            raise SettingError(("git",), message, remedy, error.details) from None
        #: The folder of its objects, of all its working trees.
        self._home = os.path.join(self.folder, common)

    def _fetch(self) -> None:
        if os.path.isdir(self.folder):
            git("fetch", "--quiet", "--prune", "--tags", cwd=self.folder)
            return
        parent = os.path.dirname(self.folder)
        with writing(self.folder):
            os.makedirs(parent, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=parent) as scratch:
            new = os.path.join(scratch, "new")
            git("clone", "--quiet", "--mirror", "--template=", "--", self.name, new, cwd=parent)
            os.rename(new, self.folder)

    def resolve(self, ref: str) -> tuple[str, str]:
        """Return the commit of a ref, and a hash of the working tree's changes, or "".

        Raises SettingError.
        """
        name = f"{'HEAD' if ref == WORKTREE else ref}^{{commit}}"
        try:
            commit = git("rev-parse", "--verify", "--end-of-options", name, cwd=self.folder)
        except SettingError:
            refs = git("for-each-ref", "--format=%(refname:short)", cwd=self.folder).split()
            message = f"{self.name} has no branch, tag or commit {shown(ref)}"
            remedy = nearest(ref, refs[:1000]) if refs else "a repository with commits"
            raise SettingError(("ref",), message, remedy) from None
        if ref != WORKTREE:
            return commit, ""
        if not self.is_local:
            message = f"{self.name} has no working tree here"
            raise SettingError(("ref",), message, "a branch, a tag or a commit")
        with tempfile.TemporaryDirectory() as scratch:
            self._clone(scratch, commit)
            before = git("write-tree", cwd=scratch)
            now = self._add_changes(scratch)
        return commit, now if now != before else ""

    def show(self, commit: str, form: str) -> str:
        """Return facts about a commit, in one of git's formats, or the text of its file."""
        return git("show", "--no-patch", f"--format={form}", commit, cwd=self.folder)

    def files(self, commit: str) -> list[str]:
        """Return the paths of a commit's files."""
        return git("ls-tree", "-r", "-z", "--name-only", commit, cwd=self.folder).split("\0")

    def check_clean(self, ref: str) -> None:
        """Raise SettingError if the user may believe that a ref has his uncommitted changes."""
        head = git("rev-parse", "--abbrev-ref", "HEAD", cwd=self.folder)
        is_bare = git("rev-parse", "--is-bare-repository", cwd=self.folder) == "true"
        if is_bare or ref not in ("HEAD", head):
            return
        changed = git("status", "--porcelain", "--untracked-files=no", cwd=self.folder)
        if changed:
            message = f"{self.name} has changes that are not committed, which {ref!r} is without"
            remedy = f"a commit of them, or ref={WORKTREE!r} to test them"
            raise SettingError(("ref",), message, remedy, visible(changed).splitlines()[:5])

    def check_out(self, commit: str, changes: str, tree: Path) -> None:
        """Make a folder with the files of a commit, with its submodules.

        changes  as `resolve` returns it

        Raises SettingError, also for a working tree that has other changes now.
        """
        self._clone(tree, commit)
        if changes and self._add_changes(tree) != changes:
            message = f"{self.name} has other changes than at the first run, whose build is gone"
            raise SettingError(("ref",), message, "run --update-refs, to test it as it is now")
        git("checkout-index", "--all", "--force", cwd=tree)
        if self.is_local:
            self._add_submodules(tree, os.path.join(self._home, "modules"))
        else:
            # relative URLs of submodules begin there
            git("remote", "set-url", "origin", self.name, cwd=tree)
            git("submodule", "--quiet", "update", "--init", "--recursive", cwd=tree)

    def _clone(self, tree: str | Path, commit: str) -> None:
        """Make a repository that uses this one's objects, and its index of a commit."""
        options = ("--quiet", "--shared", "--no-checkout", "--template=")
        git("clone", *options, "--", self._home, str(tree), cwd="/")
        git("update-ref", "--no-deref", "HEAD", commit, cwd=tree)
        git("read-tree", commit, cwd=tree)

    def _add_changes(self, tree: str | Path) -> str:
        """Add the working tree's files to the index of a clone; return the hash of their tree."""
        git(
            *("add", "--all"),
            cwd=self.folder,
            GIT_INDEX_FILE=f"{tree}/.git/index",
            GIT_OBJECT_DIRECTORY=f"{tree}/.git/objects",
            GIT_ALTERNATE_OBJECT_DIRECTORIES=f"{self._home}/objects",
        )
        return git("write-tree", cwd=tree)

    def _add_submodules(self, tree: str | Path, modules: str) -> None:
        """Add the submodules of a clone from the user's own copies."""
        if not os.path.isfile(os.path.join(tree, ".gitmodules")):
            return
        paths = ("config", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$")
        for line in git(*paths, cwd=tree).splitlines():
            key, _, path = line.partition(" ")
            name = re.sub(r"^submodule\.|\.path$", "", key)
            own = os.path.join(modules, name)
            if not os.path.isdir(own):
                message = f"the submodule {visible(path)} of {self.name} has not been fetched"
                remedy = "`git submodule update --init --recursive` in the repository"
                raise SettingError(("git",), message, remedy)
            git("config", f"submodule.{name}.url", own, cwd=tree)
            git("submodule", "--quiet", "update", "--init", "--", path, cwd=tree)
            self._add_submodules(os.path.join(tree, path), os.path.join(own, "modules"))
