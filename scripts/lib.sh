# What the shell scripts share; sourced, not run.
# shellcheck shell=bash
set -euo pipefail
trap 'exit 130' INT  # Ctrl-C says nothing

if ! command -v nvcc >/dev/null && [[ -x /usr/local/cuda/bin/nvcc ]]; then
  export PATH=$PATH:/usr/local/cuda/bin
fi

say() { printf '%s\n' "$*" >&2; }
fail() { say "${0##*/}: $*"; exit 1; }
usage_error() { say "${0##*/}: $*; see --help"; exit 2; }
has() { command -v "$1" >/dev/null; }
