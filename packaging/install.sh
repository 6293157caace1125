#!/bin/sh
# Installs doze for the user who runs it: copies both binaries, then registers the user service. Running it again upgrades.
set -eu

usage() {
    cat <<'EOF'
usage: install.sh [--from DIR] [--prefix DIR] [--no-service]

  --from DIR     folder with the binaries doze and dozed (default: beside this script, else target/release)
  --prefix DIR   they go to DIR/bin (default: ~/.local)
  --no-service   copy only; `doze up` then starts the daemon when it is wanted
EOF
}

die() {
    echo "install.sh: $1" >&2
    exit "${2:-1}"
}

here=$(cd "$(dirname "$0")" && pwd)
from=
prefix=
service=yes
while [ $# -gt 0 ]; do
    case $1 in
    --from) from=${2:?--from needs a folder}; shift 2 ;;
    --prefix) prefix=${2:?--prefix needs a folder}; shift 2 ;;
    --no-service) service=no; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
done

if [ -z "$from" ]; then
    for place in "$here" "$here/../target/release"; do
        if [ -x "$place/dozed" ] && [ -x "$place/doze" ]; then
            from=$place
            break
        fi
    done
    [ -n "$from" ] || die "no binaries found; build them with: cargo build --release -p doze-cli -p dozed" 66
fi
for name in doze dozed; do
    [ -x "$from/$name" ] || die "$from/$name is missing or cannot be run" 66
done
[ -n "$prefix" ] || prefix=${HOME:?HOME is not set; say --prefix}/.local
bin=$prefix/bin

mkdir -p "$bin"
# The daemon first: a client that is newer than its daemon is the less usual case, and a rename replaces a running binary
# without disturbing it.
for name in dozed doze; do
    cp "$from/$name" "$bin/.$name.new"
    chmod 755 "$bin/.$name.new"
    mv -f "$bin/.$name.new" "$bin/$name"
done
echo "installed $("$bin/doze" --version) to $bin"

if [ "$service" = yes ]; then
    "$bin/doze" service install
else
    echo "no service registered; start the daemon with: $bin/doze up"
fi

case ":$PATH:" in
*":$bin:"*) ;;
*) echo "note: $bin is not on your PATH" ;;
esac
echo "next: $bin/doze setup"
