"""The hooks of pre-commit find their programs: in a checkout, and in a worktree of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.programs import needs

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / ".ci" / "in-environment"
pytestmark = [pytest.mark.forks, needs("git")]


def git(folder: Path, *arguments: str) -> None:
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *author, *arguments], cwd=folder, check=True, capture_output=True)


def make_environment(checkout: Path, says: str) -> None:
    """A .venv whose program `linter` prints what it `says`."""
    programs = checkout / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "linter"):
        (programs / name).write_text(f"#!/bin/sh\necho {says} $*\n")
        (programs / name).chmod(0o755)


def run(folder: Path) -> tuple[int, str, str]:
    # git names the repository of a hook by these variables.
    environment = {name: value for name, value in os.environ.items() if "GIT_" not in name}
    done = subprocess.run(
        [SCRIPT, "linter", "--fix"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_a_worktree_takes_the_environment_of_its_checkout_until_it_has_its_own(
    tmp_path: Path,
) -> None:
    checkout, worktree = tmp_path / "a checkout", tmp_path / "worktree"
    checkout.mkdir()
    git(checkout, "init", "--quiet")
    git(checkout, "commit", "--quiet", "--allow-empty", "--message", "first")
    git(checkout, "worktree", "add", str(worktree))
    status, _, advice = run(worktree)
    assert (status, "make check" in advice) == (1, True)
    make_environment(checkout, "main")
    assert run(checkout)[:2] == (0, "main --fix\n")
    assert run(worktree)[:2] == (0, "main --fix\n")
    make_environment(worktree, "own")
    assert run(worktree)[:2] == (0, "own --fix\n")


def test_every_hook_is_run_so_and_what_reads_the_whole_tree_waits_for_a_push() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    hooks = {hook["id"]: hook for repo in config["repos"] for hook in repo["hooks"]}
    assert all(f"{SCRIPT.relative_to(ROOT)} " in hook["entry"] for hook in hooks.values())
    stages = {name: hook.get("stages", config["default_stages"]) for name, hook in hooks.items()}
    assert stages == {
        "ruff": ["pre-commit"], "ruff-format": ["pre-commit"], "mypy": ["pre-push"],
        "import-linter": ["pre-push"], "migrations": ["pre-push"],
    }  # fmt: skip
    assert set(config["default_install_hook_types"]) == {"pre-commit", "pre-push"}
