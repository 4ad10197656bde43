#!/usr/bin/env bash
# Set up and pass every test that this machine can run: unit, API, end to end with real PyTorch, faults.
# Usage: tests/run.sh [unit|api]…   (all without arguments)   TRAINYARD_TEST_PRESET: dev (default), asan or tsan
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=deploy/packages.sh
. deploy/packages.sh
need_packages "${build_packages[@]}" "${run_packages[@]}" "${test_packages[@]}"

preset=${TRAINYARD_TEST_PRESET:-dev}
jobs=$(nproc)
passed=0
failed=0
parts=("$@")
[ $# -gt 0 ] || parts=(unit api)

# `all tests` figures come from the runners' own closing lines.
count() {
    passed=$((passed + $1))
    failed=$((failed + $2))
}

run_unit() {
    local log=build/$preset/ctest.log
    ctest --test-dir "build/$preset" --output-on-failure --parallel "$jobs" 2>&1 | tee "$log" || true
    local bad total
    total=$(sed -n 's/.* tests failed out of \([0-9]*\)$/\1/p' "$log" | tail -n 1)
    bad=$(sed -n 's/^.*, \([0-9]*\) tests\? failed out of [0-9]*$/\1/p' "$log" | tail -n 1)
    if [ -z "$total" ]; then
        count 0 1
    else
        count $((total - bad)) "$bad"
    fi
}

run_api() {
    local report=build/$preset/pytest.xml status=0
    TRAINYARD_BIN=$PWD/build/$preset/bin /usr/bin/python3 -m pytest -q -p no:cacheprovider --junitxml="$report" \
        tests/api tests/e2e tests/fault || status=$?
    local figures
    figures=$(/usr/bin/python3 - "$report" <<'EOF'
import sys
import xml.etree.ElementTree as tree

suite = tree.parse(sys.argv[1]).getroot().find("testsuite")
bad = int(suite.get("failures")) + int(suite.get("errors"))
print(int(suite.get("tests")) - bad - int(suite.get("skipped")), bad)
EOF
    ) || figures="0 1"
    # shellcheck disable=SC2086
    count $figures
    [ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || count 0 1
}

cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" --parallel "$jobs"
for part in "${parts[@]}"; do
    "run_$part"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
