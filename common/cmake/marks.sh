#!/bin/sh
# marks.sh OUTPUT FILE...: writes to OUTPUT the lines that CMake reads of these files, unless it holds them already; and
# OUTPUT.d, which lists the files for Ninja: unlike a dependency in build.ninja, one of them may have been deleted.
output=$1
shift
grep -sE '^// (needs|links|caught by): ' "$@" >"$output.new"
if cmp -s "$output.new" "$output"; then rm "$output.new"; else mv "$output.new" "$output"; fi
printf '%s\n' "$output:" "$@" | sed 's/ /\\ /g; $!s/$/ \\/' >"$output.d"
