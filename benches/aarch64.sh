#!/usr/bin/env bash
# Whether runs are the same on another architecture: the digests of benches/digests.txt on aarch64, by
# qemu-user (some three minutes, nearly all of them compiling). Installs what it needs with rustup and apt-get;
# where that does not work it says so and exits with 0.
set -euo pipefail
cd "$(dirname "$0")/.."
missing() {
    printf '\n!! %s: THE DIGESTS WERE NOT CHECKED ON AARCH64.\n' "$1"
    exit 0
}
if ! command -v qemu-aarch64-static >/dev/null || ! command -v aarch64-linux-gnu-gcc >/dev/null; then
    root=()
    [ "$(id -u)" = 0 ] || root=(sudo -n)
    packages=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static)
    { "${root[@]}" apt-get update -qq && "${root[@]}" apt-get install -y -qq "${packages[@]}" >/dev/null; } ||
        missing "qemu-user and a cross compiler could not be installed"
fi
target=aarch64-unknown-linux-gnu
rustup target add "$target" || missing "rustup could not add $target"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64-static -L /usr/aarch64-linux-gnu"
export CARGO_INCREMENTAL=0 CARGO_PROFILE_TEST_DEBUG=0
cargo test --locked --quiet -p simsched-benches --test digests --target "$target"
