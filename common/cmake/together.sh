#!/bin/sh
# together.sh OUTPUT FILE...: writes a source that compiles .cu files as one, each in its own namespace. Their headers,
# which take most of the compile time, are included once, before the namespaces.
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
  # The steps register themselves although they are included.
  printf '#undef LADDER_STEP_1\n#define LADDER_STEP_1 LADDER_STEP_0\n'
  for file; do
    name=${file##*/}
    printf 'namespace in_%s {\n#include "%s"\n}\n' "${name%.cu}" "$file"
  done
} >"$output"
