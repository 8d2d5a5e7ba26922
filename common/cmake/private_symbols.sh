#!/bin/sh
# private_symbols.sh OBJCOPY COMMAND... -o OBJECT ...: runs COMMAND, a compile with -fvisibility=hidden, and makes the
# hidden symbols of OBJECT local.
#
# Many steps are linked into one program, and two of them may define the same name, as a step and its edited copy do.
# For two plain kernels the linker would report an error. Of two equal templates or inline functions it would keep one,
# and the other step's code would never run. With local symbols each step keeps its own, with any compiler and CUDA
# toolkit. What the objects of a program share has default visibility: namespace ladder in problem.hpp, cuda_helpers.cuh
# and parallel.hpp, main, the CPU backend's threadIdx and similar names, and the judge's ladder_page.
#
# Needs objcopy for ELF, which comes with g++ on Linux. macOS has no equivalent.
objcopy=$1
shift
"$@" || exit
while [ "$1" != -o ]; do
  [ $# -gt 1 ] || { echo "private_symbols.sh: no -o OBJECT in the command" >&2; exit 1; }
  shift
done
# The linker keeps one copy of a section group (COMDAT). Without groups all copies stay.
"$objcopy" --remove-section=.group --localize-hidden "$2" || { rm -f "$2"; exit 1; }
