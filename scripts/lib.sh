# Shared by the shell scripts; sourced, not run.
# shellcheck shell=bash
set -euo pipefail
trap 'exit 130' INT  # no message on Ctrl-C

if ! command -v nvcc >/dev/null && [[ -x /usr/local/cuda/bin/nvcc ]]; then
  export PATH=$PATH:/usr/local/cuda/bin
fi

say() { printf '%s\n' "$*" >&2; }
fail() { say "${0##*/}: $*"; exit 1; }
usage_error() { say "${0##*/}: $*; see --help"; exit 2; }
has() { command -v "$1" >/dev/null; }
