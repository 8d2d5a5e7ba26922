// Problem:  a batch of small layers, each with its own W: no single product computes them. 16 of 512 x 1024 x 1024 are
//           17 GFLOP, enough for every SM; one of them has 32 tiles of 128 x 128.
// Idea:     the loop that a framework runs: the kernel of linear 03, launched for each layer. A stream runs the
//           launches one after the other.
// Expect:   0.07 to 0.12x cuBLASLt at 16 x 512 x 1024 x 1024: 32 blocks leave 100 of 132 SMs idle, and each launch has
//           a tail. At 8 x 2048 cubed, with 256 tiles per layer, 0.4 to 0.5x, as linear 03.
// Measured: 0.089x cuBLASLt at 16x512x1024x1024 (H200).
// Next:     which blocks could run on the idle SMs? (Those of the next layers: nothing depends on this one.)
// needs: sm_80
#include "linear_batched.cuh"
#include "linear_03_cp_async.cu"

static void launch_loop(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                        std::size_t b, std::size_t m, std::size_t n, std::size_t k) {
  for (std::size_t i = 0; i < b; ++i)
    launch_cp_async(A + i * m * k, W + i * n * k, bias + i * n, C + i * m * n, m, n, k);
}

LADDER_STEP(LinearBatched, launch_loop);
