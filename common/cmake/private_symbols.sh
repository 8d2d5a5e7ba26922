#!/bin/sh
# private_symbols.sh NM OBJCOPY COMMAND... -o OBJECT ...: runs COMMAND, a compiler's, and makes OBJECT's symbols local.
#
# Many steps are linked into one program, and two of them may well define the same name: a step and its edited copy do.
# Of two plain kernels the linker would complain; of two equal templates or inline functions it would keep one, and the
# other step's code would never run. With local symbols each step keeps its own, with any compiler and CUDA toolkit.
#
# Needs nm and objcopy for ELF, which come with g++ on Linux; macOS has no counterpart.
nm=$1
objcopy=$2
shift 2
"$@" || exit
while [ "$1" != -o ]; do
  [ $# -gt 1 ] || { echo "private_symbols.sh: no -o OBJECT in the command" >&2; exit 1; }
  shift
done
object=$2

# What the objects of a program share: what runner/definitions.hpp defines, the list of steps, the scratch memory, the CPU backend's threadIdx and its like,
# and the type information of what one object throws and another catches.
set -- -G main \
  -G '_Z*N6ladder14scratch_bufferI*' \
  -G '_Z*N6ladder5stepsEv*' -G _ZN6ladder15awkward_lengthsEv -G '_ZN*6ladder7Problem*' \
  -G '_ZN6ladder12RegistrationC*' -G '_ZN6ladder9CudaErrorC*' -G '_ZN6ladder4SizeC*' \
  -G '_ZNSt6vectorIN6ladder4Size*' -G '_ZNKSt6vectorIN6ladder4Size*' \
  -G '_ZN6ladder15parallel_pieces*' -G '_ZN6ladder14require_grid_y*' \
  -G '_ZT[ISV]N6ladder*' \
  -G ladder_page \
  -G threadIdx -G blockIdx -G blockDim -G gridDim

# 1. The linker keeps one of the groups (COMDAT) with the same name; ungrouped, all sections stay. g++ gives static
#    variables of inline functions the binding "unique", which objcopy makes weak, but not at once local.
#    (An empty list of symbols is an error to objcopy, hence the name that no object has.)
# 2. All that is defined here and not shared becomes local.
{ "$nm" --defined-only "$object" && echo 0 u none; } | sed -n 's/^[0-9a-f]* u //p' >"$object.unique" &&
  "$objcopy" --remove-section=.group --weaken-symbols="$object.unique" "$object" &&
  "$objcopy" --wildcard "$@" "$object" && rm "$object.unique" && exit
rm -f "$object" "$object.unique"
exit 1
