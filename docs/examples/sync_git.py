"""Mirror a folder of a Git repository into a collection: for cron, after `git fetch`.

    STEELYARD_TOKEN=... python sync_git.py /srv/handbook --folder docs --ref origin/main \\
        --site https://kb.example.org --source handbook --collection handbook

A file's id is its path, its etag the hash of its content. A refused file is named and left out.
Begin the line with `ulimit -v 2000000; timeout 1h` if strangers may push: a small commit can name
files without number.
"""

import argparse
import os
import subprocess
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from steelyard_sync import File, Source, mirror


def git(repository: str, *arguments: str) -> bytes:
    """What git prints. Raises CalledProcessError, so that nothing is deleted on its failure."""
    command = ["git", "-C", repository, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def blobs(repository: str, ref: str, folder: str, patterns: Sequence[str]) -> dict[str, str]:
    """The hashes of the files below the folder, by their paths: no links, no submodules."""
    listing = git(repository, "ls-tree", "-r", "-z", "--full-tree", ref, "--", folder)
    found = {}
    for line in listing.decode(errors="backslashreplace").split("\0")[:-1]:
        about, _, path = line.partition("\t")
        mode, kind, sha = about.split()
        if kind == "blob" and mode != "120000" and _matches(path, patterns):
            found[path] = sha
    return found


def _matches(path: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(PurePosixPath(path).name, each) for each in patterns)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repository", help="a clone, also a bare one")
    parser.add_argument("--folder", default=".", help="the folder in it; default: all")
    parser.add_argument("--ref", default="HEAD", help="a branch, tag or commit")
    parser.add_argument("--include", action="append", default=[], help="such as *.md; repeatable")
    parser.add_argument("--site", required=True)
    parser.add_argument("--source", required=True, help="a name of your choice")
    parser.add_argument("--collection", required=True, help="the collection's slug")
    parser.add_argument("--confirm", type=int, default=0, help="the number of a refused deletion")
    given = parser.parse_args(arguments)

    commit = git(given.repository, "rev-parse", "--verify", f"{given.ref}^{{commit}}")
    found = blobs(given.repository, commit.decode().strip(), given.folder, given.include)

    def read(path: str) -> File:
        content = git(given.repository, "cat-file", "blob", found[path])
        return File(PurePosixPath(path).name, content, {"path": path})

    source = Source(given.site, os.environ["STEELYARD_TOKEN"], given.source)
    source.create(given.collection)
    counts = mirror(source, found, read, given.confirm)
    print(", ".join(f"{number} {outcome}" for outcome, number in counts.items() if number))


if __name__ == "__main__":
    main()
