"""Processes, their memory, and the time that calls take. Reads /proc, so Linux only."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import time

PATIENCE = 300  # seconds until a peer that does not answer counts as one that cannot be run


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def spawn(command, home, log, env=None, pipes=False):
    """Starts a process in a group of its own. Its home is `home`, and nothing of the caller's settings reaches it."""
    kept = {name: os.environ[name] for name in ("PATH", "SSL_CERT_FILE", "SSL_CERT_DIR") if name in os.environ}
    clean = {**kept, "LANG": "C.UTF-8", "HOME": str(home), **(env or {})}
    pipe = subprocess.PIPE if pipes else subprocess.DEVNULL
    out = pipe if pipes else open(log, "ab")
    with open(log, "ab") as errors:
        return subprocess.Popen(
            [str(part) for part in command], cwd=home, env=clean, stdin=pipe, stdout=out, stderr=errors, start_new_session=True
        )


def end(process):
    """Ends a process and what it started in its group."""
    for number, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
            break


def family(pid):
    """A process and all that descend from it or share its group."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            after = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            parents[int(entry.name)] = (int(after[1]), int(after[2]))
    found = {pid}
    while True:
        more = {one for one, (parent, group) in parents.items() if parent in found or group == pid} - found
        if not more:
            return sorted(found & set(parents) | ({pid} & set(parents)))
        found |= more


def memory(pid):
    """MiB of all its processes: RssAnon + RssFile, and PSS where the kernel tells it."""
    rss = pss = 0
    for one in family(pid):
        with contextlib.suppress(OSError):
            status = pathlib.Path(f"/proc/{one}/status").read_text()
            rss += sum(int(line.split()[1]) for line in status.splitlines() if line.startswith(("RssAnon:", "RssFile:")))
        with contextlib.suppress(OSError):
            rollup = pathlib.Path(f"/proc/{one}/smaps_rollup").read_text()
            pss += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return rss / 1024, pss / 1024


def ticks(pid):
    """User and system time of all its processes, in seconds."""
    total = 0
    for one in family(pid):
        with contextlib.suppress(OSError):
            after = pathlib.Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
            total += int(after[11]) + int(after[12])
    return total / os.sysconf("SC_CLK_TCK")


def until_quiet(pid):
    """Waits until its processes need less than a twentieth of a core; seconds that this took."""
    begun = time.monotonic()
    while time.monotonic() - begun < 6 * PATIENCE:
        before = ticks(pid)
        time.sleep(2)
        if ticks(pid) - before < 0.1:
            return time.monotonic() - begun - 2
    return 6 * PATIENCE


def until(answer, begun):
    """Calls until it is answered; seconds since `begun`."""
    while True:
        try:
            answer()
            return time.monotonic() - begun
        except (OSError, ValueError, LookupError, RuntimeError):
            if time.monotonic() - begun > PATIENCE:
                raise
            time.sleep(0.01)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def in_clear(folder, secret):
    """The files below a folder that hold these bytes."""
    found = []
    for file in pathlib.Path(folder).rglob("*"):
        with contextlib.suppress(OSError):
            if file.is_file() and secret.encode() in file.read_bytes():
                found.append(file.relative_to(folder))
    return found
