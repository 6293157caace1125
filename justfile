# One door for everything done often. `just` alone lists it.

default:
    @just --list

# Both binaries, as the tests use them.
build:
    cargo build -p dozed -p doze-cli

# Unit, property and end-to-end tests.
test:
    cargo test --workspace

# All that a change has to pass.
ci:
    .ci/run

# What the compiler and clippy have to say, formatting included.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# The crash test at length: 200 rounds of 64 committing clients and kill -9.
crash-200:
    cargo build -p dozed -p doze-cli
    DOZE_CRASH_ROUNDS=200 cargo test -p doze-tests --test crash -- --nocapture

# Everything measured against peers; see benches/README.md. Close other programs first.
bench:
    benches/run

# doze beside other memories for agents; fetches them from PyPI and npm. See benches/peers/README.md.
bench-peers:
    python3 benches/peers/peers.py --install --out benches/peers/target/table.md

# How well the rules extract, against notes that people took of the same sessions; see eval/README.md.
eval:
    cargo run -q -p doze-eval -- extraction

# Fuzz one target (wire, transcript, text, reply) or all of them for a number of seconds each.
fuzz target="all" seconds="600":
    fuzz/run {{target}} {{seconds}}

# Ask a real model on this machine through the HTTP extractor; the first run builds its server.
test-model:
    tests/model/run

# Read a session file, or the agents' own, without keeping anything.
try path="":
    cargo run -q -p doze-cli -- try {{path}}
