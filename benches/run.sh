#!/usr/bin/env bash
# Runs the benches beside their peers, all in one run on the same files, and prints the medians: `benches/run.sh [quick]`.
#
# The ways take turns, so that a busy machine is unfair to all alike; still, only the ratios of one run say something.
# Needs npm (the peers and a Node 22 are installed with it, from lock files, into benches/peers); valgrind and GNU time
# are used where they are. Instruction counts are the figures to compare between versions.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = quick ]; then frames=20000 turns=2 rounds=5; else frames=100000 turns=5 rounds=7; fi
target=${CARGO_TARGET_DIR:-target}/release
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cargo build --release --quiet -p tapline-cli -p tapline-testkit -p tapline-recorder -p tapline-agent --bins --examples
for peer in harness-acp acpx; do
    [ -d "benches/peers/$peer/node_modules" ] || (cd "benches/peers/$peer" && npm install --silent --no-save --no-audit --no-fund)
done
node=benches/peers/harness-acp/node_modules/.bin/node
export NODE_OPTIONS=--disable-warning=ExperimentalWarning

echo "machine: $(lscpu | sed -n 's/^Model name: *//p'), $(nproc) cores; load $(cut -d ' ' -f 1-3 /proc/loadavg); Node $($node --version); $(rustc --version)"

# Median of each name, and its share of the last line's, which is Tapline's rows.
table() {
    sort -t "$(printf '\t')" -k 1,1 -k 2,2n "$1" | awk -F '\t' '
        { values[$1, ++count[$1]] = $2 }
        END {
            own = "tapline, frames to rows"
            n = count[own]; rows = values[own, int((n + 1) / 2)]
            for (name in count) {
                n = count[name]; median = values[name, int((n + 1) / 2)]
                printf "  %-40s %9.0f frames/s   best %9.0f   rows / this: %.2f\n", name, median, values[name, n], rows / median
            }
        }' | sort
}

real=fixtures/recordings/claude/s17-many-tools.jsonl
for traffic in "chunks $frames" "mixed $frames" "repeat $real $frames"; do
    # Split into words on purpose.
    # shellcheck disable=SC2086
    "$target/examples/frames" $traffic >"$scratch/file.jsonl"
    : >"$scratch/figures"
    for _ in $(seq "$turns"); do
        "$target/examples/compare" "$scratch/file.jsonl" "$rounds" >>"$scratch/figures"
        $node benches/peers/harness-acp/translate.mjs "$scratch/file.jsonl" "$rounds" >>"$scratch/figures"
    done
    echo
    echo "$traffic"
    table "$scratch/figures"
done

echo
echo "memory of the recorder"
"$target/examples/flat" 1000000 3000000

echo
echo "recorded: frames a second, memory, bytes; a message streamed at 50 chunks a second (it takes its time)"
"$target/examples/recorded" "$scratch/recorded" 10000 100000 1000000
for message in "300 20" "300 100"; do
    # shellcheck disable=SC2086
    "$target/examples/streamed" "$scratch/streamed" $message
done

if command -v valgrind >/dev/null; then
    instructions() {
        valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null \
            "$target/examples/compare" "$scratch/file.jsonl" "$2" "$1" 2>&1 | sed -n 's/.*I *refs: *//p' | tr -d ,
    }
    # Two rounds more, over the frames of two rounds: what comes before and after them falls out.
    per_frame() {
        echo $((($(instructions "$1" 3) - $(instructions "$1" 1)) / 2 / $(wc -l <"$scratch/file.jsonl")))
    }
    echo
    echo "instructions a frame"
    for traffic in "chunks 10000" "mixed 10000" "repeat $real 10000"; do
        # shellcheck disable=SC2086
        "$target/examples/frames" $traffic >"$scratch/file.jsonl"
        for way in envelopes typed events rows; do
            printf '  %-72s %-10s %6d\n' "$traffic" "$way" "$(per_frame "$way")"
        done
    done
    lengths="100000"
    [ "${1:-}" = quick ] || lengths="100000 1000000"
    for count in $lengths; do
        "$target/examples/frames" chunks "$count" >"$scratch/file.jsonl"
        printf '  %-72s %-10s %6d\n' "chunks $count" rows "$(per_frame rows)"
    done
fi

if [ -x /usr/bin/time ]; then
    echo
    echo "a turn of 20,000 chunks, whole process"
    benches/peers/acpx/turn.sh "$target/tapline" | sed 's/^/  /'
    TAPLINE_HOME="$scratch/turn" /usr/bin/time -f '  tapline wrap, recorded: %e s; peak memory %M KiB (the largest of its processes)' \
        "$target/examples/drive" "$target/tapline" wrap -- "$target/tapline" demo-agent builtin:stream-20000 2>&1 >/dev/null
fi
