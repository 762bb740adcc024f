"""Git repositories: what a ref names, and copies of commits.

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

import msgspec

from ringmaster.errors import SettingError, cut, nearest, shown, visible
from ringmaster.model.output_files import cache_folder

#: The ref of a working tree with its changes.
WORKTREE: Final = "worktree"
#: Variables by which git takes another repository than that of its folder.
ELSEWHERE: Final = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_CONFIG"),
)
#: Settings of every git process: nothing of the user's repository runs.
_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.file.allow=always",
)
#: Seconds for a git process; a fetch may take longer than others.
_PATIENCE: Final = 1800


class Commit(msgspec.Struct, frozen=True):
    """A commit, with a hash of uncommitted changes, or ""."""

    hash: str
    changes: str
    date: str
    subject: str
    message: str = ""


def git(*words: str, cwd: str | Path, argument: str = "git") -> str:
    """Return the output of git, without the last line's end.

    argument  of Player(…) that an error is about

    Raises SettingError.
    """
    environ = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    environ.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
    environ |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    # a folder within another repository is none
    environ["GIT_CEILING_DIRECTORIES"] = os.path.dirname(os.path.realpath(cwd))
    command = ["git", *(word for setting in _SETTINGS for word in ("-c", setting)), *words]
    if shutil.which("git") is None:
        raise SettingError((argument,), "git is not installed", "the program git on PATH")
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
        raise SettingError((argument,), f"git {words[0]}: {visible(str(error))}") from None
    if done.returncode:
        lines = [visible(line) for line in done.stderr.decode(errors="replace").splitlines()]
        faults = [line for line in lines if line.startswith(("fatal: ", "error: "))]
        reason = cut((faults or lines or ["it failed"])[0].removeprefix("fatal: "), 300)
        raise SettingError((argument,), f"git {words[0]}: {reason}", details=lines)
    return done.stdout.decode(errors="replace").removesuffix("\n")


class Repository:
    """A git repository.

    name  its folder, absolute, or its URL

    Raises SettingError if it is none.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_local = os.path.isabs(name)
        if self.is_local:
            self.folder = name
            if not os.path.isdir(name):
                raise SettingError(("git",), f"there is no folder {name}")
            try:
                common = git("rev-parse", "--git-common-dir", cwd=name)
            except SettingError as error:
                remedy = "the folder that holds .git, or a URL"
                message = f"{name} is no repository ({error.message})"
                raise SettingError(("git",), message, remedy, error.details) from None
            #: The folder of its objects.
            self._home = os.path.join(os.path.realpath(name), common)
        else:
            key = hashlib.sha256(name.encode()).hexdigest()[:16]
            self._home = self.folder = str(cache_folder("repositories") / f"{key}.git")

    def fetch(self) -> None:
        """Fetch the commits of a URL.  Raises SettingError."""
        if self.is_local:
            return
        if os.path.isdir(self.folder):
            git("fetch", "--quiet", "--prune", "--tags", cwd=self.folder)
            return
        parent = Path(self.folder).parent
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=parent) as scratch:
            new = os.path.join(scratch, "new")
            git("clone", "--quiet", "--mirror", "--template=", "--", self.name, new, cwd=parent)
            os.rename(new, self.folder)

    def resolve(self, ref: str) -> Commit:
        """Return the commit of a ref, or of the working tree.  Raises SettingError."""
        if ref == WORKTREE and not self.is_local:
            remedy = "a branch, a tag or a commit"
            raise SettingError(("ref",), f"{self.name} has no working tree here", remedy)
        name = "HEAD" if ref == WORKTREE else ref
        try:
            commit = git("rev-parse", "--verify", f"{name}^{{commit}}", cwd=self.folder)
        except SettingError:
            refs = git("for-each-ref", "--format=%(refname:short)", cwd=self.folder).split()
            known = nearest(ref, refs[:1000]) if refs else "a repository with a commit"
            message = f"{self.name} has no branch, tag or commit {shown(ref)}"
            raise SettingError(("ref",), message, known) from None
        changes = ""
        if ref == WORKTREE:
            with tempfile.TemporaryDirectory() as scratch:
                self._clone(scratch, commit)
                tree = self._add_changes(scratch)
            is_clean = tree == git("rev-parse", f"{commit}^{{tree}}", cwd=self.folder)
            changes = "" if is_clean else tree
        facts = git("show", "--no-patch", "--format=%cs%n%s%n%B", commit, cwd=self.folder)
        date, subject, message = facts.split("\n", 2)
        return Commit(commit, changes, date, visible(cut(subject, 100)), message)

    def check_clean(self, ref: str) -> None:
        """Raise SettingError if the user may believe that a ref has his uncommitted changes."""
        if not self.is_local:
            return
        head = git("rev-parse", "--abbrev-ref", "HEAD", cwd=self.folder)
        if ref not in ("HEAD", head) or self._is_bare():
            return
        changed = git("status", "--porcelain", "--untracked-files=no", cwd=self.folder)
        if changed:
            first = visible(changed.splitlines()[0][3:])
            raise SettingError(
                ("ref",),
                f"{self.name} has changes that are not committed, as in {first}; {ref!r} is "
                "without them",
                f"a commit of them, or ref={WORKTREE!r} to test them",
            )

    def _is_bare(self) -> bool:
        return git("rev-parse", "--is-bare-repository", cwd=self.folder) == "true"

    def files(self, commit: str) -> list[str]:
        """Return the paths of a commit's files."""
        names = git("ls-tree", "-r", "-z", "--name-only", commit, cwd=self.folder)
        return names.rstrip("\0").split("\0")

    def read(self, commit: str, file: str) -> str:
        """Return the text of a commit's file."""
        return git("show", f"{commit}:{file}", cwd=self.folder)

    def check_out(self, commit: str, changes: str, tree: Path) -> None:
        """Make a folder with the files of a commit, with its submodules.

        changes  hash of uncommitted changes, or ""

        Raises SettingError, also for a working tree that has other changes now.
        """
        self._clone(tree, commit)
        if changes and self._add_changes(tree) != changes:
            raise SettingError(
                ("ref",),
                f"the working tree of {self.name} has other changes than at the first run, whose "
                "build is gone",
                "run --update-refs, to test it as it is now",
            )
        git("checkout-index", "--all", "--force", cwd=tree)
        self._add_submodules(tree, os.path.join(self._home, "modules"))

    def _clone(self, tree: str | Path, commit: str) -> None:
        """Make a repository with this one's objects, and the index of a commit."""
        options = ("--quiet", "--shared", "--no-checkout", "--template=")
        git("clone", *options, "--", self._home, str(tree), cwd="/")
        git("update-ref", "--no-deref", "HEAD", commit, cwd=tree)
        git("read-tree", commit, cwd=tree)
        if not self.is_local:
            # relative URLs of submodules begin there
            git("remote", "set-url", "origin", self.name, cwd=tree)

    def _add_changes(self, tree: str | Path) -> str:
        """Add the working tree's files to a clone's index; return the hash of their tree."""
        own = os.path.join(self._home, "info", "exclude")
        if os.path.isfile(own):
            (Path(tree) / ".git" / "info").mkdir(exist_ok=True)
            shutil.copy(own, Path(tree) / ".git" / "info" / "exclude")
        places = f"--git-dir={tree}/.git", f"--work-tree={self.folder}"
        git(*places, "add", "--all", cwd=self.folder)
        return git("write-tree", cwd=tree)

    def _add_submodules(self, tree: str | Path, modules: str) -> None:
        """Add the submodules of a clone: those of a folder from the user's own copies."""
        if not os.path.isfile(os.path.join(tree, ".gitmodules")):
            return
        if not self.is_local:
            git("submodule", "--quiet", "update", "--init", "--recursive", cwd=tree)
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
