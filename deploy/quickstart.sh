#!/usr/bin/env bash
# From a fresh Debian 12 machine to a trained model: build Trainyard, start it, run a distributed PyTorch job (one
# master, two workers), follow it, fetch its checkpoint. Run it again whenever you like.
# Usage: deploy/quickstart.sh [--stop]
set -euo pipefail
cd "$(dirname "$0")/.."
top=$PWD

# shellcheck source=deploy/packages.sh
. deploy/packages.sh

if [ "$(id -u)" -eq 0 ]; then
    data=${TRAINYARD_DATA:-/var/lib/trainyard}
else
    data=${TRAINYARD_DATA:-${XDG_STATE_HOME:-$HOME/.local/state}/trainyard}
fi
export TRAINYARD_DATA=$data
unset TRAINYARD_ADDRESS TRAINYARD_TOKEN TRAINYARD_TOKEN_FILE TRAINYARD_TENANT # the gateway of this folder, no other
bin=$top/build/release/bin

# Whether the process runs. Not `kill -0`: where PID 1 does not reap, as in some containers, a dead one is a zombie.
alive() {
    local state
    state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null) && [ "${state:-Z}" != Z ]
}

# The pid of the gateway that this script started, if it still runs.
own_pid() {
    local pid
    pid=$(cat "$data/trainyardd.pid" 2>/dev/null) && alive "$pid" &&
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = trainyardd ] && echo "$pid"
}

running() {
    [ -s "$data/address" ] && curl --silent --fail --max-time 5 --output /dev/null "http://$(cat "$data/address")/livez"
}

step() {
    printf '\n== %s\n' "$*"
}

stop() {
    local pid
    if ! pid=$(own_pid); then
        echo "no gateway that this script started is running"
        return
    fi
    kill "$pid"
    while alive "$pid"; do
        sleep 0.1
    done
    echo "stopped; jobs that run go on, and data stays in $data"
}

case ${1:-} in
'') ;;
--stop)
    stop
    exit 0
    ;;
*)
    echo "usage: deploy/quickstart.sh [--stop]" >&2
    exit 2
    ;;
esac

step "packages"
need_packages "${build_packages[@]}" "${run_packages[@]}" curl

step "build"
log=$(mktemp)
cmake --preset release >"$log" 2>&1 || { cat "$log"; exit 1; }
cmake --build --preset release --parallel "$(nproc)" --target trainyardd trainyard trainyard-supervisor trainyard-init \
    >>"$log" 2>&1 || { tail -n 40 "$log"; exit 1; }
rm -f "$log"
ls "$bin"

step "gateway"
if running; then
    echo "runs already at http://$(cat "$data/address")"
else
    mkdir -p "$data"
    rm -f "$data/address"
    setsid nohup "$bin/trainyardd" serve --listen "${TRAINYARD_LISTEN:-127.0.0.1:8080}" --data "$data" \
        >>"$data/trainyardd.log" 2>&1 </dev/null &
    echo $! >"$data/trainyardd.pid"
    until running; do
        alive "$(cat "$data/trainyardd.pid")" || { tail -n 20 "$data/trainyardd.log"; exit 1; }
        sleep 0.1
    done
    echo "started at http://$(cat "$data/address")"
fi

step "a distributed job: one master, two workers, DDP over gloo"
job=$("$bin/trainyard" submit clients/examples/ddp_mlp.py --name quickstart --replicas 3 --epochs 5 --no-follow -o name)
echo "submitted $job"
"$bin/trainyard" logs "$job" --follow
"$bin/trainyard" wait "$job"

step "result"
"$bin/trainyard" get "$job"
"$bin/trainyard" checkpoints "$job"
"$bin/trainyard" download "$job" model.pth --to "$data/quickstart-model.pth"

address=$(cat "$data/address")
cat <<EOF

The job succeeded. Its model is in $data/quickstart-model.pth
  API        http://$address/v1/jobs
  reference  http://$address/docs
  token      $data/admin.token
  client     $bin/trainyard (finds address and token by itself)
  stop       deploy/quickstart.sh --stop
EOF
