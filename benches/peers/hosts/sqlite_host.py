"""SQLite's FTS5 and sqlite-vec in one process, fused by rank:  python sqlite_host.py MODEL_FOLDER"""

import os
import re
import sqlite3
import sys

import minilm
import sqlite_vec
from serve import serve

CANDIDATES, RANK = 40, 60

model = minilm.MiniLm(sys.argv[1])
database = sqlite3.connect(f"{os.environ['HOME']}/memory.db")
database.enable_load_extension(True)
sqlite_vec.load(database)
database.enable_load_extension(False)
database.executescript(
    """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
    CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, tokenize = 'porter unicode61');
    CREATE VIRTUAL TABLE IF NOT EXISTS near USING vec0(embedding float[384]);
    """
)


def add(text):
    vector = model.embed(text).astype("float32").tobytes()
    with database:
        id = database.execute("INSERT INTO note (text) VALUES (?)", (text,)).lastrowid
        database.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (id, text))
        database.execute("INSERT INTO near (rowid, embedding) VALUES (?, ?)", (id, vector))
    return id


def search(query, most):
    any_of = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
    words = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT ?"
    near = "SELECT rowid FROM near WHERE embedding MATCH ? AND k = ? ORDER BY distance"
    vector = model.embed(query).astype("float32").tobytes()
    scores = {}
    for sql, what in ((words, any_of), (near, vector)):
        for rank, (id,) in enumerate(database.execute(sql, (what, CANDIDATES)), 1):
            scores[id] = scores.get(id, 0) + 1 / (RANK + rank)
    best = sorted(scores, key=lambda id: (-scores[id], id))[:most]
    return [(id, database.execute("SELECT text FROM note WHERE id = ?", (id,)).fetchone()[0]) for id in best]


serve(add, search)
