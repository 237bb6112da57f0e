#!/usr/bin/env bash
# One turn of 20,000 chunks of the scripted agent, driven and recorded by acpx: `turn.sh PATH-OF-TAPLINE`.
#
# acpx has two processes in a recorded session: the command, which waits and prints, and the owner of the session, which
# it leaves in the background to speak with the agent and write the record. What is timed is the command, from its start
# to its end; the peak memory of both is given. Its home is a fresh folder, so nothing of yours is read or changed.
set -euo pipefail

tapline=$(realpath "${1:?usage: turn.sh PATH-OF-TAPLINE}")
here=$(cd "$(dirname "$0")" && pwd)
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
mkdir "$home/project"
cd "$home/project"
export HOME="$home" PATH="$here/node_modules/.bin:$PATH"
acpx=(acpx --agent "$tapline demo-agent builtin:stream-20000" --format quiet)

"${acpx[@]}" sessions new >/dev/null 2>&1
# The peak memory of the owner is read while it lives.
(
    while sleep 0.05; do
        for lock in "$home"/.acpx/queues/*.lock; do
            [ -e "$lock" ] || continue
            pid=$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$lock" 2>/dev/null | head -n 1)
            sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$pid/status" >>"$home/owner" 2>/dev/null || true
        done
    done
) &
watch=$!
/usr/bin/time -f '%e %M' -o "$home/time" "${acpx[@]}" --ttl 1 prompt 'Go on.' >"$home/out"
kill "$watch"
read -r seconds client <"$home/time"
owner=$(sort -n "$home/owner" | tail -n 1)
words=$(wc -w <"$home/out")
[ "$words" -ge 40000 ] || { echo "acpx printed only $words words of the turn" >&2; exit 1; }
disk=$(du -sk "$home/.acpx/sessions" | cut -f 1)
echo "acpx, recorded session: $seconds s; peak memory $((client / 1024)) MiB (command) + $((owner / 1024)) MiB (owner); $disk KiB on disk"
