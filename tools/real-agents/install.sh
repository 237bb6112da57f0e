#!/usr/bin/env bash
# Installs the agents that crates/cli/tests/real_agents.rs and real_driven.rs run, one folder each, outside of the tree.
# What is installed already, in the version that its package.json names, is left alone; a second run does nothing.
#
#   tools/real-agents/install.sh [AGENT…]      without names: all of them
#
# Where to: TAPLINE_AGENTS, else ~/.cache/tapline-agents.
set -uo pipefail
here="$(cd "$(dirname "$0")/../.." && pwd)/crates/cli/tests/real"
cache="${TAPLINE_AGENTS:-$HOME/.cache/tapline-agents}"

if ! command -v npm >/dev/null; then
    echo "skipped: npm is not installed, so no real agent is" >&2
    [ -z "${TAPLINE_CI:-}" ]
    exit
fi

# npm runs no script of a package: none of these needs one. It works beside the place and moves there in the end, so
# that an install that was broken off never looks like one.
install() {
    local agent="$1" work
    work="$(mktemp -d "$cache/.$agent.XXXXXX")" || return 1
    if cp "$here/$agent/package.json" "$work" &&
        (cd "$work" && timeout 600 npm install --ignore-scripts --no-package-lock --no-audit --no-fund --loglevel=error) >&2; then
        rm -rf "${cache:?}/$agent"
        mv "$work" "$cache/$agent" && return 0
    fi
    rm -rf "$work"
    return 1
}

mkdir -p "$cache"
failed=0
for wanted in "$here"/*/package.json; do
    agent="$(basename "$(dirname "$wanted")")"
    if [ "$#" -gt 0 ] && [[ " $* " != *" $agent "* ]]; then continue; fi
    if cmp -s "$wanted" "$cache/$agent/package.json"; then
        echo "$agent is there"
    elif install "$agent" || { echo "$agent: once more" >&2; install "$agent"; }; then
        echo "$agent installed"
    else
        echo "$agent could not be installed in $cache/$agent: npm said why above" >&2
        failed=1
    fi
done
exit "$failed"
