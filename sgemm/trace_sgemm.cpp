// Tests of what these ladders claim about their memory accesses.
#include "claims.hpp"

#include <map>

using namespace ladder;
using Space = Claims::Space;
using Op = Claims::Op;

namespace {

constexpr std::size_t kM = 256, kN = 256, kK = 32;

// Each step runs once for all tests.
const Claims& seen_at_256(const std::string& step) {
  static std::map<std::string, Claims> seen;
  return seen.try_emplace(step, step, Size({kM, kN, kK, 0, 0, 0}, {1, 0})).first->second;
}

}  // namespace

TEST_CASE("sgemm: lanes in 32 rows, then along a row") {
  const Claims &naive = seen_at_256("sgemm_01_naive"), &coalesced = seen_at_256("sgemm_02_coalesced");
  CHECK(naive.store() == 32);
  CHECK(naive.load() == (32 + 1) / 2.0);  // 32 rows of A; one word of B
  CHECK(coalesced.store() == 4);
  CHECK(coalesced.load() == (1 + 4) / 2.0);
}

TEST_CASE("sgemm: bank conflicts in steps 06 and 07, none from step 08 on") {
  CHECK(seen_at_256("sgemm_04_square_tile").conflicts() == 0);
  CHECK(seen_at_256("sgemm_05_thread_tile_1d").conflicts() == 0);
  const Claims& conflicts = seen_at_256("sgemm_07_float4");
  CHECK(conflicts.conflicts() > 0);
  for (const char* step : {"sgemm_08_no_bank_conflicts", "sgemm_09_double_buffer", "sgemm_10_warp_tile",
                           "sgemm_11_staged_store", "sgemm_12_zero_padded", "sgemm_13_cp_async", "sgemm_14_stream_k"}) {
    CAPTURE(step);
    CHECK(seen_at_256(step).conflicts() == 0);
  }
  const Claims& none = seen_at_256("sgemm_08_no_bank_conflicts");
  CHECK(none.total(Space::shared, Op::load).requests == conflicts.total(Space::shared, Op::load).requests);
  CHECK(none.total(Space::shared, Op::load).units < conflicts.total(Space::shared, Op::load).units);
  CHECK(none.shared_store() < conflicts.shared_store());
}

TEST_CASE("sgemm: tiles of matrices are loaded by 16 bytes from step 07 on") {
  CHECK(seen_at_256("sgemm_06_thread_tile_2d").width(Space::global, Op::load) == 4);
  for (const char* step : {"sgemm_07_float4", "sgemm_08_no_bank_conflicts", "sgemm_13_cp_async"}) {
    CAPTURE(step);
    const Claims& seen = seen_at_256(step);
    CHECK(seen.width(Space::global, Op::load) == 16);
    CHECK(seen.width(Space::shared, Op::load) == 16);
  }
}

TEST_CASE("sgemm: stores of an unaligned C are coalesced from step 11 on, and loads by 16 bytes from step 12 on") {
  const Size odd({129, 257, 33, 0, 0, 0}, {1, 0});
  CHECK(Claims("sgemm_10_warp_tile", odd).store() > 8);
  CHECK(Claims("sgemm_11_staged_store", odd).store() <= 5);
  CHECK(Claims("sgemm_11_staged_store", odd).width(Space::global, Op::load) == 4);
  const Claims padded("sgemm_12_zero_padded", odd);
  CHECK(padded.width(Space::global, Op::load) == 16);
}

TEST_CASE("sgemm: words from shared memory per product fall") {
  const auto bytes = [](const char* step) { return seen_at_256(step).total(Space::shared, Op::load).bytes_requested; };
  const std::uint64_t products = kM * kN * kK;
  CHECK(bytes("sgemm_04_square_tile") == 2 * 4 * products);
  CHECK(bytes("sgemm_05_thread_tile_1d") == 9 * 4 * products / 8);
  CHECK(bytes("sgemm_08_no_bank_conflicts") == 16 * 4 * products / 64);
}

TEST_CASE(
    "sgemm_tf32 and gemm_bf16 at any shape: for 2 rows of C, B is read once, by 16 bytes where its rows are aligned") {
  constexpr std::size_t n = 2048, k = 48;
  for (const std::string step : {"sgemm_tf32_any_shape", "gemm_bf16_any_shape"}) {
    CAPTURE(step);
    const std::size_t columns = step == "sgemm_tf32_any_shape" ? 4 : 8;  // per lane: 16 bytes
    const Claims aligned(step, Size({2, n, k, 0, 0, 0}, {1, 0}));
    CHECK(aligned.width(Space::global, Op::load) == 16);
    const std::size_t of_b = n * k * 16 / columns / 32, of_a = n / columns / 32 * k * 2;  // A: a sector per warp
    CHECK(aligned.total(Space::global, Op::load).units == of_b + of_a);
    const Claims unaligned(step, Size({2, n, k, 0, n + 1, 0}, {1, 0}));
    CHECK(unaligned.width(Space::global, Op::load) == 16 / columns);
    CHECK(unaligned.load() <= 5);  // 32 neighbours that start at any element
  }
}

TEST_CASE("gemm_int8: 16 bytes per access along k, no bank conflicts, whole sectors of C") {
  const Size size({128, 128, 128});
  for (const char* step : {"gemm_int8_01_dp4a", "gemm_int8_02_mma"}) {
    CAPTURE(step);
    const Claims seen(step, size);
    CHECK(seen.width(Space::global, Op::load) == 16);
    CHECK(seen.width(Space::shared, Op::load) == 16);
    CHECK(seen.conflicts() == 0);
  }
  CHECK(Claims("gemm_int8_01_dp4a", size).store() == 4);  // two rows of 16 floats
  CHECK(Claims("gemm_int8_02_mma", size).store() == 8);   // eight rows of 4 pairs
  CHECK(Claims("gemm_int8_01_dp4a", {128, 128, 127}).width(Space::global, Op::load) == 4);
}

TEST_CASE("gemm_fp8: bytes along k, 16 per access from step 02 on; no bank conflicts") {
  const Size size({128, 128, 256});
  for (const char* step : {"gemm_fp8_01_cuda_cores", "gemm_fp8_blocks_01_cuda_cores"}) {
    CAPTURE(step);
    CHECK(Claims(step, size).conflicts() == 0);
  }
  for (const char* step : {"gemm_fp8_02_mma", "gemm_fp8_blocks_02_mma"}) {
    CAPTURE(step);
    const Claims seen(step, size);
    CHECK(seen.width(Space::global, Op::load) == 16);
    CHECK(seen.conflicts() == 0);
    CHECK(seen.store() == 8);
  }
}

TEST_CASE("aat: a transposed tile, without and with padding") {
  const Size size({256, 32});
  CHECK(Claims("aat_02_shared_tile", size).shared_store() == (32 + 1) / 2.0);  // one of two tiles is transposed
  CHECK(Claims("aat_03_padded", size).conflicts() == 0);
}

TEST_CASE("linear: the unfused epilogue writes and reads each sum as a float") {
  constexpr std::uint64_t m = 256, n = 256;
  const Size size({m, n, 64});
  const Claims unfused("linear_01_unfused", size), fused("linear_02_fused", size),
      residual("linear_residual_01_fused", size);
  const auto bytes = [](const Claims& seen, Op op) { return seen.total(Space::global, op).bytes_requested; };
  CHECK(bytes(unfused, Op::store) == (4 + 2) * m * n);
  CHECK(bytes(fused, Op::store) == 2 * m * n);
  const std::uint64_t tiles = 4 * 2 * (128 * 64 * 2);           // of A and of W
  CHECK(bytes(unfused, Op::load) == tiles + (4 + 2) * m * n);   // sums and bias, element by element
  CHECK(bytes(fused, Op::load) == tiles + 4 * 128 * (16 * 2));  // 16 elements of the bias per lane
  CHECK(bytes(residual, Op::load) == bytes(fused, Op::load) + 2 * m * n);
  CHECK(bytes(residual, Op::store) == 2 * m * n);
}

TEST_CASE("linear_batched: one launch of all layers moves what a launch per layer moves") {
  const Size size({3, 128, 136, 64});
  const Claims loop("linear_batched_01_loop", size), once("linear_batched_02_one_launch", size);
  CHECK(loop.launches.size() == 3);
  CHECK(once.launches.size() == 1);
  for (const Op op : {Op::load, Op::store}) {
    for (const Space space : {Space::global, Space::shared}) {
      CHECK(once.total(space, op).bytes_requested == loop.total(space, op).bytes_requested);
      CHECK(once.total(space, op).units == loop.total(space, op).units);
    }
  }
  CHECK(once.conflicts() == 0);
}

TEST_CASE("linear: rows of A and of W are loaded by 16 bytes, and fragments of both without bank conflicts") {
  const Size size({256, 256, 64});
  for (const char* step : {"linear_01_unfused", "linear_02_fused", "linear_03_cp_async", "linear_residual_01_fused"}) {
    CAPTURE(step);
    const Claims seen(step, size);
    CHECK(seen.conflicts() == 0);
    CHECK(seen.shared_load() == 4);  // an ldmatrix of 512 bytes
    CHECK(seen.width(Space::global, Op::load) == 16);
  }
}
