// Problem:  wave quantization. Step 12 gives an SM whole tiles: 512 tiles on 132 SMs take four waves and leave 16 SMs
//           idle in the last one; 32 tiles leave 100 idle.
// Idea:     stream-K. Whole waves stay. The k tiles of the remaining tiles of C are cut into equal work units, one per
//           SM. Partial tiles go to memory; a second kernel adds them in the order of k.
// Expect:   against step 12: 3 % at 4096 and 8192, 15 % at 4097 (a fifth wave goes), 2.5 to 3x at 1024.
// Measured: 1.03x step 12, 1.04x cuBLAS at 4096 (H200); 1.02x, 1.03x (H100).
// Next:     a partial tile is 128 KB, written and read again. How could the blocks of a cluster avoid that?
#include "stream_k.cuh"  // the kernels

LADDER_STEP(Sgemm, launch_stream_k);
