#!/bin/sh
# Run the simulation over COUNT seeds on all processors, then show that it finds each bug put in on purpose.
#
# usage: tests/sim/run.sh [COUNT [SIM]]     default: 2000 seeds, build/dev/tests/sim/sim
set -eu

count=${1:-2000}
root=$(cd "$(dirname "$0")/../.." && pwd)
sim=${2:-$root/build/dev/tests/sim/sim}
[ -x "$sim" ] || {
    echo "run.sh: no simulation at $sim: build the target sim first" >&2
    exit 2
}

processes=$(nproc)
[ "$processes" -le "$count" ] || processes=$count
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Each process takes a run of seeds; one that fails has printed how to replay it.
share=$(((count + processes - 1) / processes))
process=0
pids=
while [ "$process" -lt "$processes" ]; do
    first=$((process * share + 1))
    last=$((first + share - 1))
    [ "$last" -le "$count" ] || last=$count
    if [ "$first" -le "$last" ]; then
        "$sim" --seeds "$first..$last" --coverage >"$folder/$process" 2>&1 &
        pids="$pids $!"
    fi
    process=$((process + 1))
done
failed=0
for pid in $pids; do
    wait "$pid" || failed=1
done
grep -hE '^seed|^replay|every promise' "$folder"/* || cat "$folder"/*
[ "$failed" -eq 0 ] || exit 1

for bug in lost_commit early_answer double_apply; do
    "$sim" --bug "$bug" --seeds "1..$count" || failed=1
done
exit "$failed"
