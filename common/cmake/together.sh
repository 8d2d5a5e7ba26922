#!/bin/sh
# together.sh OUTPUT FILE...: writes a source that compiles .cu files as one, each in a namespace of its own. Their
# headers, which take most of the time, are read once, and before: none is read inside a namespace.
output=$1
shift

headers() {
  for file; do
    sed -n '/^#include .*\.cu"/d; s/^#include //p' "$file" | while read -r name rest; do
      path=${file%/*}/${name#\"}
      if [ "$path" != "${file%/*}/$name" ] && [ -e "${path%\"}" ]; then name=\"$path; fi
      printf '#include %s\n' "$name"
    done
  done
}

{
  headers "$@" | awk '!seen[$0]++'
  # The steps register themselves, though they are included.
  printf '#undef LADDER_STEP_1\n#define LADDER_STEP_1 LADDER_STEP_0\n'
  for file; do
    name=${file##*/}
    printf 'namespace in_%s {\n#include "%s"\n}\n' "${name%.cu}" "$file"
  done
} >"$output"
