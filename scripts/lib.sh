# What the shell scripts share; sourced, not run. Build output goes to standard error: a script's own can be piped.
# shellcheck shell=bash
set -euo pipefail
unset CDPATH  # with it, cd could go elsewhere, and would print where
trap 'exit 130' INT  # Ctrl-C says nothing

LADDER_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

if ! command -v nvcc >/dev/null && [[ -x /usr/local/cuda/bin/nvcc ]]; then
  export PATH=$PATH:/usr/local/cuda/bin
fi

say() { printf '%s\n' "$*" >&2; }
fail() { say "${0##*/}: $*"; exit 1; }
usage_error() { say "${0##*/}: $*; see --help"; exit 2; }
has() { command -v "$1" >/dev/null; }

# Is Catch2 where CMake will look, or already fetched?
catch2_found() {
  local prefix folder prefixes
  IFS=: read -ra prefixes <<<"${CMAKE_PREFIX_PATH:-}:/usr/local:/usr"
  for prefix in "${prefixes[@]}"; do
    for folder in lib lib64 share "lib/*"; do
      if [[ -n $prefix ]] && compgen -G "$prefix/$folder/cmake/Catch2*/Catch2Config.cmake" >/dev/null; then return 0; fi
    done
  done
  [[ -n ${Catch2_DIR:-} ]] || compgen -G "$LADDER_ROOT/build/*/_deps/catch2-src/CMakeLists.txt" >/dev/null
}

# locked <preset> <command...>: runs the command; others that want to change build/<preset> wait until it is done.
locked() {
  local preset=$1 lock=$LADDER_ROOT/build/$1/.lock holder
  shift
  has flock || fail "needs flock, from util-linux"
  mkdir -p "${lock%/*}"
  # shellcheck disable=SC2094  # the lock's file holds the name of who has it
  (
    trap 'exit 130' INT
    if ! flock --nonblock 9; then
      holder=$(<"$lock")
      say "${0##*/}: waiting for ${holder:-another process}, which is at work in build/$preset"
      flock 9
    fi
    echo "scripts/${0##*/} (process $$)" >"$lock"
    "$@" 9>&-  # what outlives the command, such as a compiler cache, must not keep the lock
  ) 9>>"$lock"
}

# configure <preset> [tests]: makes build/<preset>. Without `tests`, a missing Catch2 only leaves the tests out.
configure() { locked "$1" configure_now "$@"; }

configure_now() {
  local preset=$1 tests=ON build=$LADDER_ROOT/build/$1 home
  # A copied or moved build folder names the old place's sources.
  if [[ -f $build/CMakeCache.txt ]]; then
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt")
    if [[ ! $home -ef $LADDER_ROOT ]]; then
      say "build/$preset is of another folder, ${home:-unknown}: starting it anew"
      find "$build" -mindepth 1 -not -name .lock -delete
    fi
  fi
  if [[ ${2:-} != tests ]] && ! catch2_found; then tests=OFF; fi
  if [[ $build/build.ninja -nt $LADDER_ROOT/CMakePresets.json ]] &&
    grep -q "^LADDER_TESTS:BOOL=$tests\$" "$build/CMakeCache.txt"; then
    # What has changed that CMake reads is read now, and not by the build: the scripts ask what is left out.
    if cmake --build "$build" --target build.ninja >"$build/configure.log" 2>&1; then return 0; fi
  fi
  say "Configuring build/$preset"
  if ! (cd "$LADDER_ROOT" && cmake --preset "$preset" -DLADDER_TESTS=$tests) >"$build/configure.log" 2>&1; then
    cat "$build/configure.log" >&2
    fail "cmake --preset $preset failed"
  fi
}

# build <preset> [target...]: builds the targets, or everything.
build() { locked "$1" build_now "$@"; }

build_now() {
  local preset=$1
  shift
  say "Building build/$preset"
  cmake --build "$LADDER_ROOT/build/$preset" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" \
    ${1:+--target "$@"} >&2 || fail "the build of preset $preset failed"
}
