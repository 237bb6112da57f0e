#!/bin/sh
# Runs the bench of the crate and that of the published packages one after the other, on one machine.
# Needs Node 22 or newer as `node` and the packages (`npm ci` or `npm install` in benches/node).
set -eu
cd "$(dirname "$0")/.."
conversation=$(mktemp)
trap 'rm -f "$conversation"' EXIT
cargo run --release --quiet --example bench_conversation > "$conversation"
cargo bench --quiet --bench prompt
(cd benches/node && node bench.mjs "$conversation")
