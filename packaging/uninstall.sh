#!/bin/sh
# Takes doze out again: the agents' hooks, the user service, the binaries. What it remembers stays unless --purge is said.
set -eu

usage() {
    cat <<'EOF'
usage: uninstall.sh [--prefix DIR] [--purge]

  --prefix DIR   where install.sh put the binaries (default: ~/.local)
  --purge        also delete every memory, session, setting and log
EOF
}

prefix=
purge=no
while [ $# -gt 0 ]; do
    case $1 in
    --prefix) prefix=${2:?--prefix needs a folder}; shift 2 ;;
    --purge) purge=yes; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
done
: "${HOME:?HOME is not set}"
[ -n "$prefix" ] || prefix=$HOME/.local
bin=$prefix/bin

if [ -x "$bin/doze" ]; then
    # An agent whose hook names a program that is gone would complain at every prompt, so this one has to work. Status 1
    # says that there is no agent, which is as good.
    status=0
    "$bin/doze" setup --remove --yes || status=$?
    if [ "$status" -gt 1 ]; then
        echo "uninstall.sh: the agents' hooks could not be removed; nothing else was touched" >&2
        exit "$status"
    fi
    "$bin/doze" service remove || echo "uninstall.sh: no service was removed" >&2
    "$bin/doze" stop >/dev/null 2>&1 || true
    rm -f "$bin/doze" "$bin/dozed"
    echo "removed doze and dozed from $bin"
else
    echo "no doze in $bin"
fi

# The value of an XDG variable, or its default when it is unset, empty or relative.
xdg() {
    case $1 in
    /*) printf '%s/doze\n' "$1" ;;
    *) printf '%s/doze\n' "$2" ;;
    esac
}
if [ "$(uname)" = Darwin ]; then
    folders="$HOME/Library/Application Support/doze
$HOME/Library/Caches/doze"
else
    folders="$(xdg "${XDG_DATA_HOME-}" "$HOME/.local/share")
$(xdg "${XDG_STATE_HOME-}" "$HOME/.local/state")
$(xdg "${XDG_CACHE_HOME-}" "$HOME/.cache")
$(xdg "${XDG_CONFIG_HOME-}" "$HOME/.config")"
fi
if [ -n "${DOZE_HOME-}" ]; then
    folders=$DOZE_HOME
fi

echo "$folders" | while IFS= read -r folder; do
    [ -d "$folder" ] || continue
    if [ "$purge" = yes ]; then
        rm -rf -- "$folder"
        echo "deleted $folder"
    else
        echo "kept $folder"
    fi
done
