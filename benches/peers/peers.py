#!/usr/bin/env python3
"""Measures doze and its peers, one after another, on the same notes and questions. See README.md."""

import argparse
import contextlib
import importlib
import json
import os
import pathlib
import shutil
import time
import traceback

import data
import measure
import report
import score

HERE = pathlib.Path(__file__).resolve().parent
PEERS = {
    "doze": ("doze", "Peer"),
    "sqlite": ("library", "Sqlite"),
    "mcp-memory": ("mcp_memory", "Peer"),
    "mempalace": ("mempalace", "Peer"),
    "mem0": ("library", "Mem0"),
    "claude-mem": ("claude_mem", "Peer"),
}
REST = 60  # seconds of silence before the memory of an idle peer is read
PAIRS = {
    "ports": ("The staging database listens on port 5432", "The staging database listens on port 5433"),
    "push": ("Always push to main", "Never push to main"),
}
KEY = "AKIA" + "QX7RZ4MN2LKV9TWB"  # made up, in the form that AWS gives its keys


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peers", nargs="*", metavar="PEER", help=f"which of {', '.join(PEERS)}; all by default")
    parser.add_argument("--install", action="store_true", help="fetch the peers, their model and the data first")
    parser.add_argument("--doze-bin", type=pathlib.Path, default=HERE.parent / "target" / "release", metavar="DIR")
    parser.add_argument("--target", type=pathlib.Path, default=HERE / "target", metavar="DIR", help="where all of it lies")
    parser.add_argument("--data", type=pathlib.Path, metavar="FILE", help="longmemeval_oracle.json, if it is elsewhere")
    parser.add_argument("--half", choices=["dev", "test", "both"], default="dev", help="which questions, with their notes")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE", help="write the table here, as Markdown")
    options = parser.parse_args()
    options.target, options.doze_bin = options.target.resolve(), options.doze_bin.resolve()
    options.peers = options.peers or list(PEERS)
    if unknown := set(options.peers) - set(PEERS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    return options


@contextlib.contextmanager
def running(make, folder):
    """A peer in a home of its own, with the seconds that it took until its first answer."""
    peer = make(folder)
    try:
        yield peer, peer.start()
    finally:
        if hasattr(peer, "process"):
            peer.stop()


def fresh(make, folder):
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "home").mkdir(parents=True)
    make(folder).prepare()


def timed(calls):
    """Results and milliseconds of each call."""
    results, times = [], []
    for call in calls:
        begun = time.monotonic()
        results.append(call())
        times.append(1000 * (time.monotonic() - begun))
    return results, times


def work(make, folder, notes, questions):
    """Add, search, and rest."""
    fresh(make, folder)
    with running(make, folder) as (peer, first):
        # What it still does after its first answer would be counted as the first note's.
        measure.until_quiet(peer.process.pid)
        ids, adds = timed(lambda text=text: peer.add(text) for text in notes.values())
        settled = measure.until_quiet(peer.process.pid)
        found, searches = timed(lambda one=one: peer.search(one.text, 10) for one in questions)
        busy = measure.memory(peer.process.pid)
        version = peer.version()
    with running(make, folder) as (peer, again):
        begun, whole = time.monotonic(), again
        while not getattr(peer, "whole", lambda: True)():
            time.sleep(0.01)
            whole = again + time.monotonic() - begun
        time.sleep(REST)
        idle = measure.memory(peer.process.pid)
    names = {}
    for id, name in zip(ids, notes):
        names.setdefault(id, name)
    rankings = {
        # A note that was cut into pieces is found as often as its pieces are.
        question.name: list(dict.fromkeys(names.get(id, "?") for id in hits))
        for question, hits in zip(questions, found)
    }
    return {
        "version": version,
        "first_start": first,
        "start": again,
        "whole": whole,
        "add": [measure.percentile(adds, share) for share in (0.5, 0.99)],
        "settled": settled,
        "search": [measure.percentile(searches, share) for share in (0.5, 0.99)],
        "idle": idle,
        "busy": busy,
        "load": os.getloadavg()[1],
        "refused": sum(id is None for id in ids),
        "rankings": rankings,
    }


def probe(make, folder):
    """Whether what differs in a word is kept, and whether a key reaches the disk."""
    fresh(make, folder)
    told = {}
    with running(make, folder) as (peer, _):
        for name, pair in PAIRS.items():
            taken = [peer.add(text) is not None for text in pair]
            measure.until_quiet(peer.process.pid)
            found = [text in peer.texts(pair[0], 10) for text in pair]
            older = getattr(peer, "superseded", lambda query: [])(pair[0])
            told[name] = verdict(taken, found, pair[0] in older)
        peer.add(f"The deploy key is {KEY}")
        measure.until_quiet(peer.process.pid)
        hits = set(measure.in_clear(folder, KEY))
    hits |= set(measure.in_clear(folder, KEY))
    told["key"] = "in clear" if hits else "not on disk"
    return told


def verdict(taken, found, is_kept):
    if not all(taken):
        return "second refused"
    if all(found):
        return "both found"
    if found == [False, True]:
        return "newer in force, older kept" if is_kept else "newer only"
    return f"found: {found}"


def bm25(notes, questions):
    plain = score.Bm25(notes)
    return {question.name: plain.search(question.text, 10) for question in questions}


def main():
    options = arguments()
    options.target.mkdir(parents=True, exist_ok=True)
    kinds = {name: getattr(importlib.import_module(module), kind) for name, (module, kind) in PEERS.items()}
    if options.install:
        for name in options.peers:
            if name != "doze":
                kinds[name].install(options.target)
    notes, questions = data.load(options.data or data.fetch(options.target), options.half)
    print(f"{len(notes)} notes, {len(questions)} questions", flush=True)
    results = {"BM25 in the script": {"rankings": bm25(notes, questions)}}
    for name in options.peers:
        kind = kinds[name]

        def make(folder, kind=kind):
            return kind(options, folder)

        begun = time.monotonic()
        try:
            result = work(make, options.target / "run" / name, notes, questions)
            result.update(probe(make, options.target / "run" / f"{name}-probe"))
        except Exception:  # One that cannot be run is a row of the table; the others go on.
            traceback.print_exc()
            result = {"failed": traceback.format_exc(limit=1).splitlines()[-1]}
        results[kind.name] = result
        print(f"{kind.name}: {time.monotonic() - begun:.0f} s", flush=True)
        (options.target / f"results-{options.half}.json").write_text(json.dumps(results))
    table = report.table(results, notes, questions)
    print(table)
    if options.out:
        options.out.write_text(table)


if __name__ == "__main__":
    main()
