"""Every fenced block of README and docs/ is understood: its commands, variables, files and code.

A block without a name and one named sh or bash are read as a shell does. A command is parsed by the
program that it starts, or its program is named in ELSEWHERE with the reason why it cannot be here.
The curl commands of docs/api*.md are sent by tests/web/test_api_schema.py.
"""

from __future__ import annotations

import ast
import configparser
import json
import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands, load_command_class
from django.core.management.base import CommandError
from django.urls import resolve

from benchmarks.judged.command import parser
from search.tuning.gate_file import read_gate
from tests.unit.test_env_example import EXAMPLE

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:manage\.py|make) [^`]+)`")
HEREDOC = re.compile(r"<<'(\w+)'\n.*?^ *\1$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"(^|\s)#\s.*$", re.MULTILINE)
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")
# Files of the project that a command may name.
OURS = re.compile(r"(?:deploy|docs)/\S*|requirements\.txt|\.env\.example")
# Addresses of the site, with what stands for their variables in an address.
ADDRESS = re.compile(r"(?:\$(KB|V1)|http://127\.0\.0\.1:8000)(/[\w/$@.:-]*)")
STANDING_FOR = {"$PROFILE": "default@5", "$1": "1"}
AN_ID = "00000000-0000-4000-8000-00000000000a"

# Programs that no test starts from here, and why.
SYSTEM = "of every system; nothing of ours is in its arguments but files, which must exist"
SUPERUSER = "needs root"
SERVER = "asks a server that is not there: sent by tests/web/test_api_schema.py, or its address"
DEPLOYED = "the line of deploy/, which tests/unit/test_manifests.py compares"
BACKED_UP = "run by tests/backups"
ELSEWHERE = {
    **dict.fromkeys(
        ("cat", "cd", "cp", "echo", "export", "install", "ln", "mv", "openssl", "tar", "touch",
         "umask"), SYSTEM,
    ),
    **dict.fromkeys(("apt-get", "createdb", "createuser", "systemctl", "useradd"), SUPERUSER),
    **dict.fromkeys(("psql", "pg_dump"), "asks a Postgres of the reader's"),
    **dict.fromkeys(("pg_basebackup", "pg_combinebackup", "pg_verifybackup", "restic"), BACKED_UP),
    **dict.fromkeys(("gunicorn", "celery"), DEPLOYED),
    "curl": SERVER,
    **dict.fromkeys(("git", "aws", "claude"), "reaches a place of the reader's"),
    "npx": "tests/node/clients.py runs it (make clients)",
    "docker": "needs a daemon; its files must exist",
    "openapi-python-client": "tests/web/test_api_schema.py generates a client with it",
    "vllm": "another product",
}  # fmt: skip


def blocks(*kinds: str) -> Iterator[tuple[str, str]]:
    """Page and text of each fenced block of these names."""
    for page, text in PAGES.items():
        for indent, kind, block in FENCE.findall(text):
            if kind in kinds:
                yield page, re.sub(f"^{indent}", "", block, flags=re.MULTILINE)


def commands(text: str) -> Iterator[list[str]]:
    """The simple commands of a script, those in `$( )` outside of quotes as well."""
    script = HEREDOC.sub("", COMMENT.sub("", text)).replace("\\\n", " ")
    lexer = shlex.shlex(script, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t", "", True
    words: list[str] = []
    for token in [*lexer, ";"]:
        if token.strip("();|&\n"):
            words.append(token)
            continue
        if words:
            yield words
        words = []


def program(words: Sequence[str]) -> tuple[str, list[str], set[str]]:
    """The program that a simple command starts, its arguments, and the variables set before it."""
    rest, variables = list(words), set()
    while rest:
        if assigned := ASSIGNMENT.match(rest[0]):
            variables.add(assigned[1])
        elif rest[:2] == ["sudo", "-u"]:
            del rest[1:3]
        elif rest[0] == "runuser":
            del rest[: rest.index("--")]
        elif rest[0] not in {"{", "}", "do", "done", "while", "sudo", "env"}:
            break
        del rest[0]
    return (rest[0].rpartition("/")[2] if rest else ""), rest[1:], variables


def every_command() -> Iterator[tuple[str, list[str]]]:
    for page, text in blocks("", "sh"):
        for words in commands(text):
            yield page, words
    for page, text in PAGES.items():
        for words in INLINE.findall(FENCE.sub("", text)):
            yield page, shlex.split(words)


def managed(arguments: Sequence[str]) -> None:
    """Parse the arguments of manage.py as the command of that name does."""
    name, *rest = ("1" if each == "NUMBER" else each for each in arguments)
    assert name in get_commands(), f"manage.py has no command {name}."
    if rest:  # else it is named in a sentence
        command = load_command_class(get_commands()[name], name)
        command.create_parser("manage.py", name).parse_args(rest)


def made(arguments: Sequence[str]) -> None:
    """What make would run, read as far as it is Python of ours."""
    # `make test ARGS=...` hands its variables to every make below it, in these two.
    unwanted = {"MAKEFLAGS", "ARGS"}
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    done = subprocess.run(
        ["make", "--dry-run", *arguments],
        cwd=ROOT, env=environment, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for line in re.findall(r"^\S*python manage\.py (.*)$", done.stdout, re.MULTILINE):
        managed(shlex.split(line))


def interpreted(arguments: Sequence[str]) -> None:
    match arguments:
        case ["manage.py", "$@"]:
            pass  # what a function of the page is given
        case ["manage.py", *rest]:
            managed(rest)
        case ["-m", "benchmarks.judged", *rest]:
            parser().parse_args(rest)
        case ["-c", code]:
            ast.parse(code)
        case ["-m", "venv", ".venv"]:
            pass
        case _:
            pytest.fail(f"What is python {' '.join(arguments)}?")


def installed(arguments: Sequence[str]) -> None:
    """Files with hashes, which must exist as all files, this project alone, or a pinned program."""
    kind = arguments[:2]
    assert (
        kind == ["install", "--require-hashes"]
        or "==" in arguments[1]
        or ([*arguments] == ["install", "--no-deps", "."])
    )


def wheel_command(arguments: Sequence[str]) -> None:
    """`steelyard` of an installed wheel: `demo`, or a command of manage.py."""
    managed(arguments[1:] if arguments[0] == "manage" else arguments)


CHECKS: dict[str, Callable[[Sequence[str]], None]] = {
    "manage.py": managed, "manage": managed, "make": made, "python": interpreted,
    "python3": interpreted, "pip": installed, "steelyard": wheel_command,
}  # fmt: skip


def test_every_command_of_the_manual_exists() -> None:
    wrong, elsewhere, count = [], set(), 0
    for page, words in every_command():
        name, arguments, _ = program(words)
        defined = re.findall(r"^(\w+)\(\) *\{", PAGES[page], re.MULTILINE)
        count += 1
        try:
            if name in defined and not arguments:
                pass  # the definition
            elif check := CHECKS.get(name):
                check(arguments)
            elif name and name not in defined:
                assert name in ELSEWHERE, f"{name} is neither known nor in ELSEWHERE."
                elsewhere.add(name)
            missing = [each for each in words if OURS.fullmatch(each) and not [*ROOT.glob(each)]]
            assert not missing, f"{missing} do not exist."
        except (AssertionError, CommandError, SyntaxError) as error:
            wrong.append(f"{page}: {shlex.join(words)}: {str(error).splitlines()[0]}")
    assert not wrong, "\n".join(wrong)
    assert count > 200
    assert ELSEWHERE.keys() == elsewhere, "ELSEWHERE names what no page has."


def test_shell_scripts_have_no_error_of_syntax() -> None:
    scripts = "\n".join(f"{text}\n" for _, text in blocks("", "sh", "bash"))
    done = subprocess.run(
        ["bash", "-n"], input=scripts, text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_variables_set_in_commands_exist() -> None:
    unknown = []
    for page, text in blocks("", "sh"):
        used = set(re.findall(r"\$\{?(\w+)", PAGES[page]))
        for words in commands(text):
            unknown += [(page, name) for name in program(words)[2] - used - EXAMPLE.keys()]
    for page, text in blocks("ini"):
        if text.startswith("["):
            units = configparser.RawConfigParser(strict=False)
            units.read_string(text)
            lines = re.findall(r"^ExecStart=\S*manage\.py|^Environment=(\w+)", text, re.MULTILINE)
            assert lines or units.sections() == ["Timer", "Install"]
            continue
        names = re.findall(r"^(\w+)=", text, re.MULTILINE)
        unknown += [(page, name) for name in names if name not in EXAMPLE]
    assert unknown == []


def test_addresses_in_the_manual_exist() -> None:
    count = 0
    for page, text in blocks("", "sh", "bash"):
        for version, path in ADDRESS.findall(text):
            for variable, value in STANDING_FOR.items():
                path = path.replace(variable, value)
            base = {"KB": "/api/v1", "V1": "/v1"}.get(version, "")
            address = base + re.sub(r"\$\w+", AN_ID, path)
            if address not in {"/api/v1", "/v1"}:  # what $KB and $V1 stand for
                assert resolve(address).url_name != "missing", f"{page}: {address}"
                count += 1
    assert count > 60


def test_python_compiles_and_its_imports_exist_and_json_and_toml_are_read() -> None:
    for page, text in blocks("python"):
        tree = ast.parse(text, page)
        found = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        exec(compile(ast.Module(found, []), page, "exec"), {})
    for _, text in blocks("json"):
        json.loads(text)
    for _, text in blocks("toml"):
        tomllib.loads(text)


def test_yaml_is_read_and_gate_files_are_valid(tmp_path: Path) -> None:
    gates = 0
    for page, text in blocks("yaml"):
        assert isinstance(yaml.safe_load(text), dict), page
        if "questions:" in text:
            (tmp_path / "gate.yml").write_text(text)
            assert read_gate(tmp_path / "gate.yml").questions
            gates += 1
    assert gates


def test_code_blocks_have_known_languages() -> None:
    kinds = {kind for text in PAGES.values() for _, kind, _ in FENCE.findall(text)}
    assert kinds == {"", "sh", "bash", "ini", "python", "json", "js", "text", "toml", "yaml"}


# --- Names in sentences --------------------------------------------------------------------------

# Variables of others, and those of a seed system that this one has not.
NOT_OURS = re.compile(
    r"AWS_\w+|\w+_WEIGHT|SSL_CERT_FILE|IR_DATASETS_HOME|RELEVANCE_DIR|LC_MESSAGES"
    r"|PERIODIC_TASKS|ADMIN_PAGES"  # names in the settings of a part
)


def test_variables_in_sentences_exist() -> None:
    unknown = {
        f"{page}: {name}"
        for page, text in PAGES.items()
        for code in re.findall(r"`([^`]+)`", FENCE.sub("", text))
        for name in re.findall(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b", code)
        if name not in EXAMPLE and not NOT_OURS.fullmatch(name)
    }
    assert unknown == set()


# In italics, and not the words of a page of ours: what people type, other products, stress.
STRESSED = {
    "how do I avoid one query for each related object", "set aside", "Token configuration",
    "Settings, Connectors, Add custom connector", "Settings, Apps & Connectors, Create",
    "Advanced settings", "Workspace, Tools, New",
}  # fmt: skip


def test_names_in_italics_are_words_of_the_pages() -> None:
    """Buttons, fields and messages; those of the steps: web/browser/test_tutorial_browser.py."""
    folders = ("common", "ingestion", "kbsite", "search", "templates", "static")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    pages = " ".join(
        path.read_text("utf-8") for path in files if path.suffix in {".py", ".html", ".js"}
    ).lower()
    unknown = set()
    for page, text in PAGES.items():
        if page == "docs/preset-differences.md":  # italics are its headings
            continue
        steps = re.compile(r"^\d+\. \*\*.*?(?=^## )", re.MULTILINE | re.DOTALL)
        text = FENCE.sub("", steps.sub("", text) if page == "docs/tuning.md" else text)
        text = " ".join(re.sub("`[^`]*`", "", text).replace("**", "").split())
        for name in re.findall(r"(?<![\w*])\*([^*]+)\*(?!\w)", text):
            parts = [part.strip() for part in re.split("…|→", name)]
            if name not in STRESSED and not all(part.lower() in pages for part in parts):
                unknown.add(f"{page}: {name}")
    assert unknown == set()
