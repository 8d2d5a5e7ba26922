// Warp matrix functions: nvcuda::wmma for half, bfloat16 and TF32, with accumulators in float or half.
//
// CUDA does not specify which lane holds which element of a fragment. Here the order is different from that of any GPU:
// elements are distributed round-robin, backwards. A program that relies on a GPU's order gets wrong results.
#pragma once

#include "cuda_bf16.h"
#include "cuda_emu/matrix_product.hpp"
#include "cuda_fp16.h"

namespace nvcuda {
namespace wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

}  // namespace wmma
}  // namespace nvcuda

namespace cuda_emu {

template <class T>
struct WmmaElement {
  using Type = T;
};
template <>
struct WmmaElement<nvcuda::wmma::precision::tf32> {
  using Type = float;
};

template <class T>
inline float as_multiplied(const T& value) {
  return static_cast<float>(value);
}
// The tensor core uses the upper 19 bits of a float.
template <>
inline float as_multiplied<float>(const float& value) {
  return bit_cast<float>(bit_cast<std::uint32_t>(value) & ~0x1fffu);
}

template <int m, int n, int k, class T>
constexpr bool is_wmma_shape() {
  using nvcuda::wmma::precision::tf32;
  if (std::is_same<T, tf32>::value) return m == 16 && n == 16 && k == 8;
  const bool sixteen_bits = std::is_same<T, __half>::value || std::is_same<T, __nv_bfloat16>::value;
  const bool shape = (m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32);
  if (sixteen_bits) return k == 16 && shape;
  return std::is_same<T, float>::value && ((k == 16 && shape) || (m == 16 && n == 16 && k == 8));
}

}  // namespace cuda_emu

namespace nvcuda {
namespace wmma {

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment {
  static_assert(
      cuda_emu::is_wmma_shape<m, n, k, T>(),
      "the CPU backend has fragments of 16x16x16, 32x8x16 and 8x32x16 for half and bfloat16, of 16x16x8 for tf32");

 public:
  static constexpr int kRows = std::is_same<Use, matrix_b>::value ? k : m;
  static constexpr int kColumns = std::is_same<Use, matrix_a>::value ? k : n;
  enum { num_elements = kRows * kColumns / 32, num_storage_elements = num_elements };
  using element_type = T;
  using storage_element_type = typename cuda_emu::WmmaElement<T>::Type;
  storage_element_type x[num_elements];
};

// Rounds to the nearest TF32 number, ties away from 0.
inline float __float_to_tf32(float value) {
  if (!std::isfinite(value)) return value;
  return cuda_emu::bit_cast<float>((cuda_emu::bit_cast<std::uint32_t>(value) + 0x1000u) & ~0x1fffu);
}

}  // namespace wmma
}  // namespace nvcuda

namespace cuda_emu {

// Returns the offset in the matrix, in elements, of element i of the lane's part of a fragment. The order is backwards;
// else lanes would often load what they stored themselves, and a missing barrier would not show.
template <class Fragment>
constexpr std::size_t wmma_offset(unsigned i, unsigned lane, std::size_t ldm, bool row_major) {
  const unsigned at = i * 32 + 31 - lane, row = at / Fragment::kColumns, column = at % Fragment::kColumns;
  return row_major ? row * ldm + column : column * ldm + row;
}

inline unsigned wmma_lane() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32; }

// Checks the rules of the CUDA C++ Programming Guide: the matrix is aligned to 32 bytes, and its rows are a multiple of
// 16 bytes apart.
template <class T>
inline void require_wmma_matrix(const T* matrix, unsigned ldm, const Where& where) {
  require_alignment(matrix, 32, where);
  require_alignment(reinterpret_cast<const void*>(ldm * sizeof(T)), 16, where);
}

inline void meet_for_wmma(const Where& where) {
  Fragments part{[](Fragments* const*) {}};
  meet_all_lanes(part, where);
}

template <class Fragment, class T>
CUDA_EMU_TRACED void load_fragment(Fragment& fragment, const T* matrix, unsigned ldm, bool row_major,
                                   const void* return_address, const Where& where) {
  require_wmma_matrix(matrix, ldm, where);
  for (unsigned i = 0; i < Fragment::num_elements; ++i) {
    const T* element = matrix + wmma_offset<Fragment>(i, wmma_lane(), ldm, row_major);
#ifdef CUDA_EMU_TRACE
    trace_load(element, sizeof(T), return_address);
#endif
    fragment.x[i] = *element;
  }
  (void)return_address;
  meet_for_wmma(where);
}

template <class D, class A, class B, class C>
struct WmmaPart : Fragments {
  D* d;
  const A* a;
  const B* b;
  const C* c;

  static void compute(Fragments* const* lanes) {
    constexpr int m = A::kRows, k = A::kColumns, n = B::kColumns;
    float first[m * k], second[k * n], sum[m * n];
    for (unsigned lane = 0; lane < 32; ++lane) {
      const auto& part = *static_cast<WmmaPart*>(lanes[lane]);
      for (unsigned i = 0; i < A::num_elements; ++i)
        first[wmma_offset<A>(i, lane, k, true)] = as_multiplied(part.a->x[i]);
      for (unsigned i = 0; i < B::num_elements; ++i)
        second[wmma_offset<B>(i, lane, n, true)] = as_multiplied(part.b->x[i]);
      for (unsigned i = 0; i < C::num_elements; ++i) {
        sum[wmma_offset<C>(i, lane, n, true)] = static_cast<float>(part.c->x[i]);
      }
    }
    multiply_on_tensor_core(m, n, k, k, first, second, sum);
    for (unsigned lane = 0; lane < 32; ++lane) {
      auto& part = *static_cast<WmmaPart*>(lanes[lane]);
      for (unsigned i = 0; i < D::num_elements; ++i) part.d->x[i] = sum[wmma_offset<D>(i, lane, n, true)];
    }
  }
};

}  // namespace cuda_emu

namespace nvcuda {
namespace wmma {

template <class Use, int m, int n, int k, class T, class Layout>
inline void fill_fragment(fragment<Use, m, n, k, T, Layout>& to, typename cuda_emu::WmmaElement<T>::Type value) {
  for (auto& x : to.x) x = value;
}

template <class Use, int m, int n, int k, class T, class Layout>
CUDA_EMU_TRACED void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& to,
                                      const typename cuda_emu::WmmaElement<T>::Type* matrix, unsigned ldm,
                                      CUDA_EMU_HERE) {
  cuda_emu::load_fragment(to, matrix, ldm, std::is_same<Layout, row_major>::value, __builtin_return_address(0),
                          {"load_matrix_sync", file, line});
}

template <int m, int n, int k, class T>
CUDA_EMU_TRACED void load_matrix_sync(fragment<accumulator, m, n, k, T>& to, const T* matrix, unsigned ldm,
                                      layout_t layout, CUDA_EMU_HERE) {
  cuda_emu::load_fragment(to, matrix, ldm, layout == mem_row_major, __builtin_return_address(0),
                          {"load_matrix_sync", file, line});
}

template <int m, int n, int k, class T>
CUDA_EMU_TRACED void store_matrix_sync(T* matrix, const fragment<accumulator, m, n, k, T>& from, unsigned ldm,
                                       layout_t layout, CUDA_EMU_HERE) {
  const cuda_emu::Where where{"store_matrix_sync", file, line};
  cuda_emu::require_wmma_matrix(matrix, ldm, where);
  cuda_emu::meet_for_wmma(where);
  for (unsigned i = 0; i < from.num_elements; ++i) {
    using Fragment = fragment<accumulator, m, n, k, T>;
    T* element = matrix + cuda_emu::wmma_offset<Fragment>(i, cuda_emu::wmma_lane(), ldm, layout == mem_row_major);
#ifdef CUDA_EMU_TRACE
    cuda_emu::trace_store(element, sizeof(T), __builtin_return_address(0));
#endif
    *element = from.x[i];
  }
}

// d = a b + c
template <int m, int n, int k, class T, class LayoutA, class LayoutB, class D, class C>
CUDA_EMU_TRACED void mma_sync(fragment<accumulator, m, n, k, D>& d, const fragment<matrix_a, m, n, k, T, LayoutA>& a,
                              const fragment<matrix_b, m, n, k, T, LayoutB>& b,
                              const fragment<accumulator, m, n, k, C>& c, CUDA_EMU_HERE) {
  using Part = cuda_emu::WmmaPart<fragment<accumulator, m, n, k, D>, fragment<matrix_a, m, n, k, T, LayoutA>,
                                  fragment<matrix_b, m, n, k, T, LayoutB>, fragment<accumulator, m, n, k, C>>;
  Part part;
  part.evaluate = Part::compute;
  part.d = &d;
  part.a = &a;
  part.b = &b;
  part.c = &c;
  cuda_emu::meet_all_lanes(part, {"mma_sync", file, line});
}

}  // namespace wmma
}  // namespace nvcuda
