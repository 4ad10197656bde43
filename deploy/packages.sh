# Debian packages by what they are for; sourced by deploy/quickstart.sh, tests/run.sh and .ci/run.
# shellcheck shell=bash disable=SC2034

build_packages=(build-essential cmake ninja-build pkg-config python3 libmicrohttpd-dev libsqlite3-dev
    libjansson-dev libcurl4-openssl-dev libssl-dev libyaml-dev libpcre2-dev zlib1g-dev)
run_packages=(bubblewrap python3 python3-torch python3-numpy ca-certificates)
test_packages=(libcmocka-dev python3-pytest python3-requests python3-yaml python3-jsonschema ccache git curl faketime)
gate_packages=(clang clang-format clang-tidy libclang-rt-14-dev cppcheck shellcheck python3-venv chromium)
bench_packages=(wrk curl)

# Print those of the given packages that are not installed.
missing_packages() {
    local package
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s\n' "$package"
    done
}

# Install what is missing; needs root for that, and says what to run where it is not.
need_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@" | sort -u)
    [ ${#missing[@]} -gt 0 ] || return 0
    local run=()
    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
            run=(sudo)
        else
            printf 'These packages are missing; install them as root, then run this again:\n  apt-get install -y %s\n' \
                "${missing[*]}" >&2
            return 1
        fi
    fi
    printf 'installing %d packages: %s\n' "${#missing[@]}" "${missing[*]}"
    "${run[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
