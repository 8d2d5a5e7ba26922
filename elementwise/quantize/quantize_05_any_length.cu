// Problem:  step 04 gives a warp to a row of 7, keeps too little of a row of 8224 in flight, and reads a row of more
//           than 32768 twice.
// Idea:     very short rows in tiles, many at a time; longer ones in registers, then in shared memory as well; what one
//           block does not hold a team of blocks does: each keeps its part until it has all the others' maxima.
// Expect:   0.85 to 1.0 of a copy from 256 MB on, up to the 11 million elements that an H200 holds; beyond, the rest of
//           the row is read again. 0.6 to 0.9 where rows are short.
// Measured: 0.99x step 04, 0.97 of a copy at 16384x4096 (H200).
// Next:     a block waits for others of its team. Why do these run? (Tickets: see the kernel's comment.)
#include "quantize_rows.cuh"

using quantize_rows::Parts, quantize_rows::Units, quantize_rows::magnitude;
using quantize_shapes::kKept;

// No magnitude: its sign is set.
constexpr unsigned kEmpty = ~0u;

// Waits until another block has published its greatest.
__device__ static unsigned await(const unsigned* from) {
  const volatile unsigned* const greatest = from;
  unsigned v = *greatest;
  while (v == kEmpty) {
    __nanosleep(20);
    v = *greatest;
  }
  return v;
}

// `team` blocks share a row. Each keeps `share` float4 of it: kKept of a thread in registers, `chunks` in shared
// memory; what no block keeps is read again. Blocks take their parts by tickets, in the order in which they start, and
// a team is no larger than what fits on the GPU: so the first team that has not ended is complete, or its blocks start
// next. `ticket` and the rows' `greatest`, one for each block, start at kEmpty.
template <unsigned kBlock>
__global__ void __launch_bounds__(kBlock, 1024 / kBlock)
    quantize_team(const float* __restrict__ x, std::int8_t* __restrict__ q, float* __restrict__ scale, std::size_t cols,
                  unsigned team, unsigned share, unsigned chunks, unsigned* greatest, unsigned* ticket) {
  extern __shared__ float4 shared[];  // [chunk][thread]
  __shared__ unsigned number;
  const unsigned tid = threadIdx.x;
  if (team > 1) {
    if (tid == 0) number = atomicAdd(ticket, 1) + 1;
    __syncthreads();
  }
  const unsigned turn = team > 1 ? number : blockIdx.x, row = turn / team, rank = turn % team;
  x += row * cols;
  q += row * cols;

  // load: to shared memory, what no block keeps, to registers
  const Parts<128> part(x, cols);
  const float4* const x4 = reinterpret_cast<const float4*>(x + part.head);
  const std::size_t begin = std::size_t{rank} * share + tid, end = min(std::size_t{rank + 1} * share, part.units);
  for (unsigned k = 0; k < chunks; ++k) {
    const std::size_t i = begin + (kKept + k) * kBlock;
    shared[k * kBlock + tid] = float4{0.0f, 0.0f, 0.0f, 0.0f};
    if (i < end) __pipeline_memcpy_async(&shared[k * kBlock + tid], x4 + i, sizeof(float4));
  }
  __pipeline_commit();
  Units<kKept, kBlock> kept;
  const std::size_t rest = std::size_t{team} * share + rank * kKept * kBlock + tid, stride = team * kKept * kBlock;
  unsigned most = 0;
  for (std::size_t i = rest; i < part.units; i += stride) {
    kept.load(x4, i, part.units);
    most = max(most, kept.greatest());
  }
  kept.load(x4, begin, end);
  const std::size_t edge = rank == 0 ? part.edge(tid) : cols;
  const float single = edge < cols ? x[edge] : 0.0f;

  // the greatest magnitude: of the thread, the block, the team
  most = max(most, max(kept.greatest(), magnitude(single)));
  if (chunks > 0) {            // without this branch ptxas moves loads of registers behind the wait
    __pipeline_wait_prior(0);  // each thread reads what it has copied
    for (unsigned k = 0; k < chunks; ++k) most = max(most, magnitude(shared[k * kBlock + tid]));
  }
  most = block_max<kBlock>(most);
  if (team > 1) {
    greatest += std::size_t{row} * team;
    if (tid == 0) atomicExch(&greatest[rank], most);
    for (unsigned b = tid; b < team; b += kBlock) most = max(most, await(&greatest[b]));
    __syncthreads();  // before block_max writes again what it has just read
    most = block_max<kBlock>(most);
  }

  // divide, store; the rest from its end, which L2 may still hold
  const float row_scale = scale_of(most);
  if (rank == 0 && tid == 0) scale[row] = row_scale;
  const Quantizer quantized(row_scale);
  std::int8_t* const q4 = q + part.head;
  if (edge < cols) q[edge] = quantized(single);
  kept.store(q4, begin, end, quantized);
  for (unsigned k = 0; k < chunks; ++k) {
    const std::size_t i = begin + (kKept + k) * kBlock;
    const bool aligned = quantize_rows::aligned_for_four(q4);
    if (i < end) quantize_rows::store_four(q4 + 4 * i, quantized(shared[k * kBlock + tid]), aligned);
  }
  if (rest >= part.units) return;
  for (std::size_t left = (part.units - 1 - rest) / stride + 1; left > 0; --left) {
    const std::size_t i = rest + (left - 1) * stride;
    kept.load(x4, i, part.units);
    kept.store(q4, i, part.units, quantized);
  }
}

template <unsigned kBlock>
static void launch_team(const float* x, std::int8_t* q, float* scale, std::size_t rows, std::size_t cols) {
  constexpr unsigned kChunk = kBlock * sizeof(float4),
                     kOthers = 2 << 10;  // bytes; of the SM's, for what is not dynamic
  const unsigned of_block = device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / (1024 / kBlock) - kOthers;
  const unsigned most_chunks = std::min(quantize_shapes::kMostChunks, of_block / kChunk);
  const auto kernel = quantize_team<kBlock>;
  const auto most_bytes = static_cast<int>(most_chunks * kChunk);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_bytes));
  const std::size_t held = std::size_t{kKept + most_chunks} * kBlock;  // float4
  const std::size_t resident = resident_blocks(kernel, kBlock, most_bytes);
  const std::size_t team = kBlock > 256 ? 1 : quantize_shapes::team_for(rows, cols, 4 * held, resident);
  const std::size_t line = 128 / sizeof(float4), wanted = ceil_div(ceil_div(cols / 4, team), line) * line;
  const auto share = static_cast<unsigned>(std::min(wanted, held));
  const unsigned chunks = std::max(ceil_div(share, kBlock), kKept) - kKept;

  const std::size_t most_rows = team > 1 ? std::max<std::size_t>((std::size_t{1} << 22) / team, 1) : rows;
  for (std::size_t first = 0; first < rows; first += most_rows) {
    const std::size_t count = std::min(most_rows, rows - first), words = count * team + 1;
    unsigned* const greatest = team > 1 ? scratch<unsigned>(words) : nullptr;
    if (team > 1) CUDA_CHECK(cudaMemsetAsync(greatest, 0xff, words * sizeof *greatest));
    kernel<<<static_cast<unsigned>(count * team), kBlock, chunks * kChunk>>>(
        x + first * cols, q + first * cols, scale + first, cols, static_cast<unsigned>(team), share, chunks, greatest,
        team > 1 ? greatest + count * team : nullptr);
    CUDA_CHECK(cudaGetLastError());
  }
}

static void launch(const float* x, std::int8_t* q, float* scale, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;
  using namespace quantize_shapes;
  const auto run = row_shape(cols) < kRowShapeCount ? quantize_rows::launch
                   : block_for(cols) == 512         ? launch_team<512>
                   : block_for(cols) == 1024        ? launch_team<1024>
                                                    : launch_team<256>;
  run(x, q, scale, rows, cols);
}

LADDER_STEP(Quantize, launch);
