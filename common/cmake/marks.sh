#!/bin/sh
# marks.sh OUTPUT FILE...: writes the lines of these files that CMake reads to OUTPUT, unless they are there already.
# Also writes OUTPUT.d, which lists the files for Ninja: a file listed there may be deleted, unlike a dependency in
# build.ninja.
output=$1
shift
grep -sE '^// (needs|links|caught by): ' "$@" >"$output.new"
if cmp -s "$output.new" "$output"; then rm "$output.new"; else mv "$output.new" "$output"; fi
printf '%s\n' "$output:" "$@" | sed 's/ /\\ /g; $!s/$/ \\/' >"$output.d"
