"""A worker whose parser was taken over: tries everything that it must not do, and says what worked.

Run as a program: `python -m tests.unit.parsing.probing FOLDER PORT FORKS`. Its environment, memory
and an open connection hold secrets; FOLDER holds a secret key, another's original and code.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
from pathlib import Path

from ingestion.parsing.child.sandbox import parse_file

from .intruders import intruding

CANARY = "canary-of-the-worker"

PROBE = r"""
import ctypes, json, os, resource, signal, struct, subprocess, sys
from pathlib import Path
told = json.loads(source.path.read_text())
worker, folder = told["worker"], Path(told["folder"])
libc = ctypes.CDLL(None, use_errno=True)
done, notes = [], {}

def tries(name):
    def run(attempt):
        try:
            worked = attempt()
        except Exception as error:
            notes[name] = repr(error)
            return
        if worked is not False:
            done.append(name)
    return run

def call(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *arguments) >= 0

for who, pid in (("worker", worker), ("server", os.getppid())):
    tries(f"environment of the {who}")(lambda: bool(Path(f"/proc/{pid}/environ").read_bytes()))
    tries(f"memory of the {who}")(lambda: open(f"/proc/{pid}/mem", "rb").close())
    tries(f"writing memory of the {who}")(lambda: open(f"/proc/{pid}/mem", "r+b").close())
    tries(f"files of the {who}")(lambda: bool(os.listdir(f"/proc/{pid}/fd")))
    tries(f"root of the {who}")(lambda: bool(os.listdir(f"/proc/{pid}/root")))
    tries(f"ptrace of the {who}")(lambda: libc.ptrace(16, pid, 0, 0) == 0)
    tries(f"signal to the {who}")(lambda: os.kill(pid, 0))
    @tries(f"socket of the {who}")
    def _():
        handle = libc.syscall(ctypes.c_long(434), pid, 0)
        return handle >= 0 and libc.syscall(ctypes.c_long(438), handle, told["handle"], 0) >= 0
    tries(f"limits of the {who}")(lambda: bool(resource.prlimit(pid, resource.RLIMIT_NOFILE)))

for name in ("secret_key", "other", ".env"):
    tries(f"reading {name}")(lambda: bool((folder / name).read_text()))
tries("reading accounts")(lambda: bool(Path("/etc/passwd").read_text()))
tries("listing originals")(lambda: bool(os.listdir(folder)))
tries("listing temporary files")(lambda: bool(os.listdir(source.scratch.parent)))
tries("writing var")(lambda: (folder / "new").write_text("x"))
tries("changing an original")(lambda: (folder / "other").write_text("x"))
tries("cutting an original")(lambda: os.truncate(folder / "other", 1))
tries("removing an original")(lambda: (folder / "other").unlink())
tries("a second name")(lambda: os.link(folder / "other", source.scratch / "second"))
def written(path):
    # Leaves nothing where it succeeds.
    path.write_text("")
    path.unlink()

tries("writing code")(lambda: written(Path(text.__file__).parent / "planted.tmp"))
tries("writing packages")(lambda: written(Path(told["packages"]) / "planted.tmp"))
tries("shared memory")(lambda: written(Path("/dev/shm/steelyard-probe")))
tries("a file outside")(lambda: written(Path("/tmp/steelyard-probe")))

tries("shell")(lambda: subprocess.run(["/bin/sh", "-c", "true"], check=True))
tries("python")(lambda: subprocess.run([sys.executable, "-c", "1"], check=True))
@tries("a program of its own")
def _():
    program = source.scratch / "program"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    subprocess.run([str(program)], check=True)

@tries("mount")
def _():
    place = os.fsencode(source.scratch)
    return libc.mount(b"none", place, b"tmpfs", 0, None) == 0 and libc.umount2(place, 2) == 0
for name, flag in (("user", 0x10000000), ("mount", 0x20000), ("process", 0x20000000)):
    tries(f"{name} namespace")(lambda: libc.unshare(flag) == 0)
@tries("namespace by clone")
def _():
    pid = libc.syscall(ctypes.c_long(56 if os.uname().machine == "x86_64" else 220),
                       ctypes.c_ulong(0x10000000 | signal.SIGCHLD), 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return pid > 0
tries("namespace of the worker")(
    lambda: libc.setns(os.open(f"/proc/{worker}/ns/net", os.O_RDONLY), 0) == 0)
numbers = {"keyctl": (250, 219), "userfaultfd": (323, 282), "io_uring": (425, 425),
           "bpf": (321, 280), "memfd": (319, 279), "shared segment": (29, 194),
           "socket": (41, 198)}
arguments = {"keyctl": (0, -3, 1), "userfaultfd": (1,), "io_uring": (1, bytes(120)),
             "bpf": (0, bytes(120), 40), "memfd": (b"x", 0), "shared segment": (0, 4096, 0o1600),
             "socket": (2, 1, 0)}
column = 0 if os.uname().machine == "x86_64" else 1
for name, pair in numbers.items():
    tries(name)(lambda: call(pair[column], *arguments[name]))
@tries("network")
def _():
    import socket
    socket.create_connection(("127.0.0.1", told["port"]), 2)
tries("leaving the session")(lambda: libc.setsid() >= 0)
tries("being root")(lambda: 0 in (*os.getresuid(), *os.getresgid()))
tries("becoming root")(lambda: os.setuid(0))
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
# The right to read files is kept where Python itself is in root's closed home; Landlock holds it.
for kind in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
    tries(f"capabilities {kind}")(lambda: int(status[kind], 16) & ~(1 << 2) != 0)
tries("new privileges")(lambda: status["NoNewPrivs"].strip() != "1")
tries("environment of its own")(lambda: "SECRET_KEY" in os.environ)

forks = 0
ready, end = os.pipe()
for forks in range(told["forks"]):
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        os.close(end)
        os.read(ready, 1)
        os._exit(0)
else:
    done.append("forks without end")
os.close(end)
return json.dumps({"done": done, "forks": forks, "notes": notes})
"""


def main(folder: Path, port: int, forks: int) -> None:
    connection = socket.create_connection(("127.0.0.1", port))
    kept = CANARY + "-in-memory"
    told = {
        "worker": os.getpid(),
        "folder": str(folder),
        "handle": connection.fileno(),
        "port": port,
        "packages": next(path for path in sys.path if path.endswith("site-packages")),
        "forks": forks,
    }
    with tempfile.TemporaryDirectory() as given:
        path = Path(given, "stored")
        path.write_text(json.dumps(told))
        with intruding(PROBE):
            answer = json.loads(parse_file(path, "a.txt").blocks[0].text)
    print(json.dumps({**answer, "kept": len(kept)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
