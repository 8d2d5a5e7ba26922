// The functions of common/tensor_core.cuh and tensor_core_8bit.cuh. Lanes hold the elements that the PTX ISA manual
// specifies.
#pragma once

#include "cuda_pipeline.h"
#include "matrix_product.hpp"

namespace cuda_emu {

struct LdmatrixPart : Fragments {
  unsigned char row[16];
  unsigned* matrices;
};

// Matrix i consists of the rows of lanes 8 i to 8 i + 7. Elements have 16 bits.
template <bool transposed>
void exchange_rows(Fragments* const* lanes) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
      unsigned short pair[2];
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned outer = lane / 4, inner = lane % 4 * 2 + i;
        const unsigned row = transposed ? inner : outer, column = transposed ? outer : inner;
        std::memcpy(&pair[i], static_cast<LdmatrixPart*>(lanes[matrix * 8 + row])->row + column * 2, 2);
      }
      static_cast<LdmatrixPart*>(lanes[lane])->matrices[matrix] = pair[0] | static_cast<unsigned>(pair[1]) << 16;
    }
  }
}

template <class T>
struct MmaPart : Fragments {
  T* d;
  const unsigned* a;
  unsigned b[2];
};

inline float float_of_bits(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline float low_bfloat16(unsigned pair) { return float_of_bits(pair << 16); }
inline float high_bfloat16(unsigned pair) { return float_of_bits(pair & 0xffff0000u); }
inline float cut_off_to_tf32(unsigned bits) { return float_of_bits(bits & ~0x1fffu); }

// Computes a 16 x 8 D. fill(part, group, lane in group, ...) writes the lane's elements to A and B.
template <int k, class Fill>
void multiply_fragments(Fragments* const* lanes, const Fill& fill, KeptBits kept = kBitsOfFloat) {
  float A[16 * k], B[k * 8], D[16 * 8];
  const auto each_d = [&](const auto& action) {
    for (int lane = 0; lane < 32; ++lane) {
      float* d = static_cast<MmaPart<float>*>(lanes[lane])->d;
      for (int i = 0; i < 4; ++i) action(D[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2], d[i]);
    }
  };
  each_d([](float& in_matrix, float& in_lane) { in_matrix = in_lane; });
  for (int lane = 0; lane < 32; ++lane) fill(*static_cast<MmaPart<float>*>(lanes[lane]), lane / 4, lane % 4, A, B);
  multiply_on_tensor_core(16, 8, k, k, A, B, D, kept);
  each_d([](float& in_matrix, float& in_lane) { in_lane = in_matrix; });
}

inline void multiply_bf16(Fragments* const* lanes) {
  multiply_fragments<16>(lanes, [](const MmaPart<float>& part, int g, int t, float* A, float* B) {
    for (int i = 0; i < 4; ++i) {
      float* pair = A + (g + i % 2 * 8) * 16 + i / 2 * 8 + t * 2;
      pair[0] = low_bfloat16(part.a[i]);
      pair[1] = high_bfloat16(part.a[i]);
    }
    for (int i = 0; i < 2; ++i) {
      float* pair = B + (i * 8 + t * 2) * 8 + g;
      pair[0] = low_bfloat16(part.b[i]);
      pair[8] = high_bfloat16(part.b[i]);
    }
  });
}

inline void multiply_tf32(Fragments* const* lanes) {
  multiply_fragments<8>(lanes, [](const MmaPart<float>& part, int g, int t, float* A, float* B) {
    for (int i = 0; i < 4; ++i) A[(g + i % 2 * 8) * 8 + t + i / 2 * 4] = cut_off_to_tf32(part.a[i]);
    for (int i = 0; i < 2; ++i) B[(t + i * 4) * 8 + g] = cut_off_to_tf32(part.b[i]);
  });
}

// Computes an int8 product. Sums that overflow wrap.
inline void multiply_s8(Fragments* const* lanes) {
  constexpr int k = 32;
  signed char A[16 * k], B[8 * k];  // B by columns
  for (int lane = 0; lane < 32; ++lane) {
    const auto& part = *static_cast<MmaPart<int>*>(lanes[lane]);
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) std::memcpy(A + (g + i % 2 * 8) * k + i / 2 * 16 + t * 4, &part.a[i], 4);
    for (int i = 0; i < 2; ++i) std::memcpy(B + g * k + i * 16 + t * 4, &part.b[i], 4);
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      int& d = static_cast<MmaPart<int>*>(lanes[lane])->d[i];
      const signed char *a = A + (lane / 4 + i / 2 * 8) * k, *b = B + (lane % 4 * 2 + i % 2) * k;
      int sum = 0;
      for (int l = 0; l < k; ++l) sum += a[l] * b[l];
      d = static_cast<int>(static_cast<unsigned>(d) + static_cast<unsigned>(sum));
    }
  }
}

// Converts an e4m3 number. The exponent's bias is 7; only all ones in exponent and mantissa is NaN.
inline float from_e4m3_bits(unsigned bits) {
  const unsigned magnitude = bits & 0x7f, sign = (bits & 0x80) << 24;
  return float_of_bits(sign | (magnitude == 0x7f ? 0x7fc00000 : magnitude << 20)) * 0x1p120f;
}

inline void multiply_e4m3(Fragments* const* lanes) {
  multiply_fragments<32>(
      lanes,
      [](const MmaPart<float>& part, int g, int t, float* A, float* B) {
        for (int x = 0; x < 4; ++x) {
          for (int i = 0; i < 4; ++i) {
            A[(g + i % 2 * 8) * 32 + i / 2 * 16 + t * 4 + x] = from_e4m3_bits(part.a[i] >> 8 * x);
          }
          for (int i = 0; i < 2; ++i) B[(i * 16 + t * 4 + x) * 8 + g] = from_e4m3_bits(part.b[i] >> 8 * x);
        }
      },
      kBitsInFp8);
}

template <bool transposed>
CUDA_EMU_TRACED void load_matrices(unsigned* matrices, const void* row, const Where& where) {
  require_alignment(row, 16, where);
  require_shared(row, 16, where);
  LdmatrixPart part;
  part.evaluate = exchange_rows<transposed>;
  part.matrices = matrices;
  std::memcpy(part.row, row, 16);
  meet_all_lanes(part, where);
}

template <class T>
void multiply(void (*evaluate)(Fragments* const*), T* d, const unsigned* a, unsigned b0, unsigned b1,
              const Where& where) {
  MmaPart<T> part;
  part.evaluate = evaluate;
  part.d = d;
  part.a = a;
  part.b[0] = b0;
  part.b[1] = b1;
  meet_all_lanes(part, where);
}

}  // namespace cuda_emu

CUDA_EMU_TRACED void ldmatrix_x4(unsigned (&matrices)[4], const void* row, CUDA_EMU_HERE) {
#ifdef CUDA_EMU_TRACE
  cuda_emu::trace_load(row, 16, __builtin_return_address(0));
#endif
  cuda_emu::load_matrices<false>(matrices, row, {"ldmatrix_x4", file, line});
}

CUDA_EMU_TRACED void ldmatrix_x4_trans(unsigned (&matrices)[4], const void* row, CUDA_EMU_HERE) {
#ifdef CUDA_EMU_TRACE
  cuda_emu::trace_load(row, 16, __builtin_return_address(0));
#endif
  cuda_emu::load_matrices<true>(matrices, row, {"ldmatrix_x4_trans", file, line});
}

CUDA_EMU_TRACED void mma_m16n8k16_bf16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, CUDA_EMU_HERE) {
  cuda_emu::multiply(cuda_emu::multiply_bf16, d, a, b0, b1, {"mma_m16n8k16_bf16", file, line});
}

CUDA_EMU_TRACED void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, CUDA_EMU_HERE) {
  cuda_emu::multiply(cuda_emu::multiply_tf32, d, a, b0, b1, {"mma_m16n8k8_tf32", file, line});
}

CUDA_EMU_TRACED void mma_m16n8k32_s8(int (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, CUDA_EMU_HERE) {
  cuda_emu::multiply(cuda_emu::multiply_s8, d, a, b0, b1, {"mma_m16n8k32_s8", file, line});
}

CUDA_EMU_TRACED void mma_m16n8k32_e4m3(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, CUDA_EMU_HERE) {
  cuda_emu::multiply(cuda_emu::multiply_e4m3, d, a, b0, b1, {"mma_m16n8k32_e4m3", file, line});
}

CUDA_EMU_TRACED void cp_async_16(void* to, const void* from, int bytes, CUDA_EMU_HERE) {
  const auto zeros = static_cast<std::size_t>(16 - bytes);
  cuda_emu::copy_async(to, from, 16, zeros, {"cp_async_16", file, line});
#ifdef CUDA_EMU_TRACE
  cuda_emu::trace_async_copy(to, from, 16, zeros, __builtin_return_address(0));
#endif
}

inline void cp_async_commit(CUDA_EMU_HERE) { cuda_emu::commit_copies({"cp_async_commit", file, line}); }

template <int kGroups>
void cp_async_wait(CUDA_EMU_HERE) {
  cuda_emu::wait_for_copies(kGroups, {"cp_async_wait", file, line});
}
