// CUDA's built-in vector types (char1 ... double4, dim3) with their sizes, alignments and make_ functions.
#pragma once

#define CUDA_EMU_VECTOR_TYPES(ELEMENT, NAME, ALIGN2, ALIGN4)                           \
  struct NAME##1 {                                                                     \
    ELEMENT x;                                                                         \
  };                                                                                   \
  struct alignas(ALIGN2) NAME##2 {                                                     \
    ELEMENT x, y;                                                                      \
  };                                                                                   \
  struct NAME##3 {                                                                     \
    ELEMENT x, y, z;                                                                   \
  };                                                                                   \
  struct alignas(ALIGN4) NAME##4 {                                                     \
    ELEMENT x, y, z, w;                                                                \
  };                                                                                   \
  inline NAME##1 make_##NAME##1(ELEMENT x) { return {x}; }                             \
  inline NAME##2 make_##NAME##2(ELEMENT x, ELEMENT y) { return {x, y}; }               \
  inline NAME##3 make_##NAME##3(ELEMENT x, ELEMENT y, ELEMENT z) { return {x, y, z}; } \
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

struct dim3 {
  unsigned int x, y, z;

  constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
