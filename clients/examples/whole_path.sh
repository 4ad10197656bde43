#!/usr/bin/env bash
# The whole path with curl alone: submit a distributed job, wait for it, read its log, fetch its checkpoint.
# Usage: whole_path.sh [URL] [TOKEN_FILE] [SCRIPT]
# Without arguments it finds the gateway of this machine by its data folder.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
data=${TRAINYARD_DATA:-$([ "$(id -u)" -eq 0 ] && echo /var/lib/trainyard || echo "${XDG_STATE_HOME:-$HOME/.local/state}/trainyard")}
url=${1:-http://$(cat "$data/address")}
token=$(cat "${2:-$data/admin.token}")
script=${3:-$here/ddp_mlp.py}

# The token goes to curl on its standard input, not on the command line, where every user of the machine could see it.
call() {
    local path=$1
    shift
    curl --fail-with-body --silent --show-error --config - "$@" "$url$path" <<<"header = \"Authorization: Bearer $token\""
}

member() { # of the JSON object on standard input
    python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}

request=$(mktemp)
trap 'rm -f "$request"' EXIT
python3 - "$script" >"$request" <<'EOF'
import json
import sys

print(json.dumps({
    "name": "whole-path",
    "image": "pytorch/pytorch:2.0.0",
    "script": open(sys.argv[1], encoding="utf-8").read(),
    "epochs": 3,
    "replicas": 2,
}))
EOF

job=$(call /v1/jobs -H 'Content-Type: application/json' -H "Idempotency-Key: whole-path-$$-$RANDOM" --data-binary "@$request" | member id)
echo "job $job"

# The follower's connection ends after the job's last byte.
call "/v1/jobs/$job/logs?follow=true" --no-buffer

state=$(call "/v1/jobs/$job" | member state)
while [ "$state" != succeeded ] && [ "$state" != failed ] && [ "$state" != cancelled ] && [ "$state" != lost ]; do
    state=$(call "/v1/jobs/$job?wait=30" | member state)
done
echo "state $state"
[ "$state" = succeeded ]

checkpoint=$(call "/v1/jobs/$job/checkpoints" | member latest)
echo "latest checkpoint $checkpoint"
call "/v1/jobs/$job/artifacts/model.pth" --output "model-$job.pth"
echo "saved model-$job.pth ($(stat -c %s "model-$job.pth") bytes)"
