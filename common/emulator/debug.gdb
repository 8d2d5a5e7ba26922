# Settings for debugging a kernel on the CPU backend:
#   gdb -x common/emulator/debug.gdb ./program
#   (gdb) break reduce.cu:13 if blockIdx.x == 3 && threadIdx.x == 5
#   (gdb) run
#   (gdb) print threadIdx
#   (gdb) print tile              shows a __shared__ array; print buffer[0]@8 shows eight elements at a pointer
#   (gdb) cuda block 1 thread 37  switches to another CUDA thread; needs -x common/emulator/cuda_commands.py
#   (gdb) info cuda threads       shows where the threads of the block are; needs the same file
#   (gdb) next                    stays on the same CUDA thread, also across barriers

# One OS thread runs all blocks in order, so runs are reproducible.
set env CUDA_EMU_WORKERS=1

# step enters functions of the program, but not those of the emulator or the C++ library.
skip -gfi */emulator/include/*
skip -gfi */emulator/include/*/*
skip -gfi */emulator/src/*
skip -gfi /usr/include/c++/*/*

# Stop after the emulator has reported an error: a deadlock, a divergent barrier, a crash.
set breakpoint pending on
break cuda_emu_error
set breakpoint pending auto

set pagination off
