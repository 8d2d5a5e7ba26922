// CUDA's built-in vector types (char1 ... double4, dim3) with their sizes, alignments and make_ functions.
#pragma once

#ifndef CUDA_EMU_TRACE
#define CUDA_EMU_VECTOR_COPIES(SELF, ELEMENT, COUNT, ALIGN)
#define CUDA_EMU_VECTOR_VALUES(...)
#define CUDA_EMU_TRIPLE_COPIES(SELF, ELEMENT)
#else
// Copies for a traced build. The compiler may copy a vector member by member; a GPU copies it as a whole, at most 16
// bytes at a time. Here each such copy is one access.
#define CUDA_EMU_VECTOR_COPIES(SELF, ELEMENT, COUNT, ALIGN)                                       \
  static constexpr unsigned kBytes = COUNT * sizeof(ELEMENT) < 16 ? COUNT * sizeof(ELEMENT) : 16; \
  typedef ELEMENT Bits __attribute__((vector_size(kBytes), may_alias, aligned(ALIGN)));           \
  SELF() = default;                                                                               \
  __attribute__((always_inline)) SELF(const SELF& other) { *this = other; }                       \
  __attribute__((always_inline)) SELF& operator=(const SELF& other) {                             \
    for (unsigned part = 0; part < COUNT * sizeof(ELEMENT) / kBytes; ++part) {                    \
      reinterpret_cast<Bits*>(this)[part] = reinterpret_cast<const Bits*>(&other)[part];          \
    }                                                                                             \
    return *this;                                                                                 \
  }
#define CUDA_EMU_VECTOR_VALUES(...) constexpr __VA_ARGS__
#define CUDA_EMU_TRIPLE_COPIES(SELF, ELEMENT)                                              \
  SELF() = default;                                                                        \
  constexpr SELF(ELEMENT x_, ELEMENT y_, ELEMENT z_) : x(x_), y(y_), z(z_) {}              \
  constexpr __attribute__((always_inline)) SELF(const SELF& o) : x(o.x), y(o.y), z(o.z) {} \
  __attribute__((always_inline)) SELF& operator=(const SELF& other) {                      \
    x = other.x;                                                                           \
    y = other.y;                                                                           \
    z = other.z;                                                                           \
    return *this;                                                                          \
  }
#endif
#define CUDA_EMU_VECTOR_TYPES(ELEMENT, NAME, ALIGN2, ALIGN4)                                                       \
  struct NAME##1 {                                                                                                 \
    ELEMENT x;                                                                                                     \
  };                                                                                                               \
  struct alignas(ALIGN2) NAME##2 {                                                                                 \
    ELEMENT x, y;                                                                                                  \
    CUDA_EMU_VECTOR_COPIES(NAME##2, ELEMENT, 2, ALIGN2)                                                            \
    CUDA_EMU_VECTOR_VALUES(NAME##2(ELEMENT x_, ELEMENT y_) : x(x_), y(y_){})                                       \
  };                                                                                                               \
  struct NAME##3 {                                                                                                 \
    ELEMENT x, y, z;                                                                                               \
    CUDA_EMU_TRIPLE_COPIES(NAME##3, ELEMENT)                                                                       \
  };                                                                                                               \
  struct alignas(ALIGN4) NAME##4 {                                                                                 \
    ELEMENT x, y, z, w;                                                                                            \
    CUDA_EMU_VECTOR_COPIES(NAME##4, ELEMENT, 4, ALIGN4)                                                            \
    CUDA_EMU_VECTOR_VALUES(NAME##4(ELEMENT x_, ELEMENT y_, ELEMENT z_, ELEMENT w_) : x(x_), y(y_), z(z_), w(w_){}) \
  };                                                                                                               \
  inline NAME##1 make_##NAME##1(ELEMENT x) { return {x}; }                                                         \
  inline NAME##2 make_##NAME##2(ELEMENT x, ELEMENT y) { return {x, y}; }                                           \
  inline NAME##3 make_##NAME##3(ELEMENT x, ELEMENT y, ELEMENT z) { return {x, y, z}; }                             \
  inline NAME##4 make_##NAME##4(ELEMENT x, ELEMENT y, ELEMENT z, ELEMENT w) { return {x, y, z, w}; }

CUDA_EMU_VECTOR_TYPES(signed char, char, 2, 4)
CUDA_EMU_VECTOR_TYPES(unsigned char, uchar, 2, 4)
CUDA_EMU_VECTOR_TYPES(short, short, 4, 8)
CUDA_EMU_VECTOR_TYPES(unsigned short, ushort, 4, 8)
CUDA_EMU_VECTOR_TYPES(int, int, 8, 16)
CUDA_EMU_VECTOR_TYPES(unsigned int, uint, 8, 16)
CUDA_EMU_VECTOR_TYPES(long, long, 2 * sizeof(long), 16)
CUDA_EMU_VECTOR_TYPES(unsigned long, ulong, 2 * sizeof(long), 16)
CUDA_EMU_VECTOR_TYPES(long long, longlong, 16, 16)
CUDA_EMU_VECTOR_TYPES(unsigned long long, ulonglong, 16, 16)
CUDA_EMU_VECTOR_TYPES(float, float, 8, 16)
CUDA_EMU_VECTOR_TYPES(double, double, 16, 16)

#undef CUDA_EMU_VECTOR_TYPES
#undef CUDA_EMU_VECTOR_COPIES
#undef CUDA_EMU_VECTOR_VALUES
#undef CUDA_EMU_TRIPLE_COPIES

struct dim3 {
  unsigned int x, y, z;

  constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
