#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Turns the file `series` into kernel trees, mailable patches and back.

One entry of `series` is one commit: a patch to existing kernel files, and the
new files that the commit adds, which live in this repository at their kernel
path.  The commits are made in a small git repository that holds only the files
they touch, so that git applies, exports and refreshes them.

  series.py list                 number, patch and subject of every entry
  series.py check                the entries apply, in order, without fuzz
  series.py assemble TREE [--upto N]
                                 bring a kernel tree to the state after N entries
  series.py unpack DIR [FILE...] a git repository with one commit per entry, to
                                 edit with git; FILEs are kernel files to add
  series.py refresh DIR          write the commits of such a repository back
  series.py export DIR           mailable patches with a cover letter

Exit: 0 done, 2 could not (one line on standard error says why).
"""

import argparse
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
LINUX = TOP / "build/linux"
BASELINE = TOP / "tools/testing/baseline"
# Entries of this folder add tests only.  Every tree gets them, so that the same
# suites run on the base kernel and on every prefix of the series.
SUITES = "lib/kunit-tests"
RECORD = ".series-files"


class Error(Exception):
    """Something the caller has to put right; the text is the one line shown."""


class Entry:
    """One commit of the series."""

    def __init__(self, patch, files):
        self.patch = patch
        self.files = files
        text = (TOP / patch).read_text()
        head, sep, rest = text.partition("\n---\n")
        if not sep or not head.startswith("Subject: [PATCH] "):
            raise Error(f"{patch}: not in git format-patch form")
        subject, _, body = head.partition("\n\n")
        self.subject = " ".join(subject.removeprefix("Subject: [PATCH] ").split())
        self.message = f"{self.subject}\n\n{body.strip()}\n"
        self.diff = rest[max(rest.find("diff --git "), 0):]
        self.touched = re.findall(r"^--- a/(\S+)$", rest, re.M)

    @property
    def is_suite(self):
        return self.patch.startswith(SUITES + "/")


def git(repo, *args, data=None):
    """Run git in @repo and return its output."""
    run = subprocess.run(["git", "-C", str(repo), *args], input=data, text=True,
                         capture_output=True, check=False)
    if run.returncode:
        lines = (run.stderr or run.stdout).strip().splitlines() or ["failed"]
        raise Error(f"git {args[0]}: {lines[0]}")
    return run.stdout


def read_series():
    """The entries of `series`, in order."""
    groups = []
    for line in (TOP / "series").read_text().splitlines():
        words = line.partition("#")[0].split()
        if words and line[0].isspace():
            groups[-1].extend(words)
        elif words:
            groups.append(words)
    for path in (path for group in groups for path in group):
        if not (TOP / path).is_file():
            raise Error(f"series names {path}, which is not there")
    if not groups:
        raise Error("series is empty")
    entries = [Entry(group[0], group[1:]) for group in groups]
    added = [path for entry in entries for path in entry.files]
    twice = {path for path in added if added.count(path) > 1}
    if twice:
        raise Error(f"series adds {min(twice)} more than once")
    return entries


def place(source, target):
    """Copy a file, unless it is there unchanged: keeps the time stamps that make
    reads.  Never writes in place, as trees share files by hard links."""
    if target.is_file() and filecmp.cmp(source, target, shallow=False):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    temp = target.with_name(target.name + ".series-tmp")
    shutil.copyfile(source, temp)
    os.chmod(temp, source.stat().st_mode & 0o777 | 0o200)
    temp.replace(target)
    return True


def new_repo(repo, paths):
    """A git repository that holds the kernel's version of @paths."""
    repo.mkdir(parents=True, exist_ok=True)
    if any(repo.iterdir()):
        raise Error(f"{repo} is not empty")
    git(repo, "init", "-q", "-b", "series")
    if not git(TOP, "config", "--default", "", "user.email").strip():
        git(repo, "config", "user.email", "submitter@localhost")
        git(repo, "config", "user.name", "Submitter")
    for path in sorted(paths):
        if not (LINUX / path).is_file():
            raise Error(f"the base kernel has no {path}")
        place(LINUX / path, repo / path)
    git(repo, "add", "-A", "-f")
    git(repo, "commit", "-q", "--no-verify", "-m", "base")
    git(repo, "tag", "base")


def commit(repo, entry):
    """Apply one entry and commit it."""
    if entry.diff:
        try:
            git(repo, "apply", "--index", "-", data=entry.diff)
        except Error as err:
            raise Error(f"{entry.patch} does not apply: {err}") from None
    for path in entry.files:
        if (repo / path).exists():
            raise Error(f"{entry.patch}: {path} exists already, it needs a patch")
        place(TOP / path, repo / path)
    git(repo, "add", "-A", "-f")
    git(repo, "commit", "-q", "--no-verify", "-F", "-", data=entry.message)


def build(repo, entries, extra=()):
    """A repository with one commit for each of @entries."""
    new_repo(repo, {path for entry in entries for path in entry.touched
                    if (LINUX / path).exists()} | set(extra))
    for entry in entries:
        commit(repo, entry)


def add_baseline(repo):
    """Stand-ins for what the tests need of commits that are not applied."""
    for source in sorted(BASELINE.rglob("*.h")):
        target = repo / source.relative_to(BASELINE)
        if not target.exists():
            place(source, target)


def assemble(tree, entries, upto):
    """Bring @tree to the state after @upto entries, with all the suites."""
    chosen = [entry for number, entry in enumerate(entries, 1)
              if number <= upto or entry.is_suite]
    with tempfile.TemporaryDirectory(dir=TOP / "build") as temp:
        repo = Path(temp)
        build(repo, chosen)
        add_baseline(repo)
        wanted = [path.relative_to(repo) for path in sorted(repo.rglob("*"))
                  if path.is_file() and path.relative_to(repo).parts[0] != ".git"]
        changed = [path for path in wanted if place(repo / path, tree / path)]
    changed += restore(tree, {str(path) for path in wanted})
    return changed


def restore(tree, wanted):
    """Undo what an earlier assembly did to files that are not @wanted now."""
    record = tree / RECORD
    before = set(record.read_text().split()) if record.exists() else set()
    changed = []
    for path in sorted(before - wanted):
        if (LINUX / path).exists():
            place(LINUX / path, tree / path)
        else:
            (tree / path).unlink(missing_ok=True)
        changed.append(path)
    record.write_text("\n".join(sorted(wanted)) + "\n")
    return changed


def refresh(repo, entries):
    """Write the commits of @repo back to the patches and new files."""
    commits = git(repo, "rev-list", "--reverse", "base..HEAD").split()
    if len(commits) != len(entries):
        raise Error(f"{len(commits)} commits but {len(entries)} entries in series")
    for entry, sha in zip(entries, commits):
        exclude = [f":(exclude){path}" for path in entry.files]
        message = git(repo, "log", "-1", "--format=%B", sha).strip()
        stat = git(repo, "diff", "--stat=76", f"{sha}^", sha, "--", ".", *exclude)
        diff = git(repo, "diff", f"{sha}^", sha, "--", ".", *exclude)
        (TOP / entry.patch).write_text(
            f"Subject: [PATCH] {message}\n---\n{stat}\n{diff}" if diff else
            f"Subject: [PATCH] {message}\n---\n")
        for path in entry.files:
            (TOP / path).write_text(git(repo, "show", f"{sha}:{path}"))


def export(target, entries):
    """Mailable patches with a cover letter."""
    target = target.resolve()
    cover = (TOP / "Documentation/cover-letter.txt").read_text()
    subject, _, body = cover.partition("\n\n")
    if target.exists():
        shutil.rmtree(target)
    with tempfile.TemporaryDirectory(dir=TOP / "build") as temp:
        repo = Path(temp)
        build(repo, entries)
        git(repo, "format-patch", "-q", "-o", str(target), "--cover-letter",
            "--thread=shallow", "base..HEAD")
    letter = target / "0000-cover-letter.patch"
    text = letter.read_text()
    text = text.replace("*** SUBJECT HERE ***", subject)
    letter.write_text(text.replace("*** BLURB HERE ***", body.strip()))


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sub = parser.add_subparsers(dest="command", required=True)
    sub.add_parser("list")
    sub.add_parser("check")
    for name in ("assemble", "unpack", "refresh", "export"):
        sub.add_parser(name).add_argument("path", type=Path)
    sub.choices["assemble"].add_argument("--upto", type=int)
    sub.choices["unpack"].add_argument("files", nargs="*")
    args = parser.parse_args()

    entries = read_series()
    if args.command == "list":
        for number, entry in enumerate(entries, 1):
            print(f"{number:2} {entry.patch}: {entry.subject}")
    elif args.command == "check":
        with tempfile.TemporaryDirectory(dir=TOP / "build") as temp:
            build(Path(temp), entries)
        print(f"series: {len(entries)} entries apply")
    elif args.command == "assemble":
        upto = len(entries) if args.upto is None else args.upto
        for path in assemble(args.path, entries, upto):
            print(f"  UPD     {path}")
    elif args.command == "unpack":
        build(args.path, entries, args.files)
        print(args.path)
    elif args.command == "refresh":
        refresh(args.path, entries)
    else:
        export(args.path, entries)
        print(args.path)


if __name__ == "__main__":
    try:
        main()
    except Error as err:
        sys.exit(print(f"series: {err}", file=sys.stderr) or 2)
    except OSError as err:
        sys.exit(print(f"series: {err.strerror}: {err.filename}",
                       file=sys.stderr) or 2)
