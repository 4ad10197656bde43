#!/usr/bin/env bash
# Build the release preset and the measuring programs into build/bench, measure, print one table.
# Usage: tests/bench/run.sh [get|list|submit|logs|events|files|start|true]…   (all without arguments)
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=deploy/packages.sh
. deploy/packages.sh
need_packages "${build_packages[@]}" "${run_packages[@]}" "${test_packages[@]}" "${bench_packages[@]}"

cmake --preset release -B build/bench >/dev/null
ninja -C build/bench trainyardd trainyard-supervisor trainyard-init bench >/dev/null
TRAINYARD_BENCH_BUILD=$PWD/build/bench exec /usr/bin/python3 tests/bench/bench.py "$@"
