// SPDX-License-Identifier: Apache-2.0
//
// CUDA's vector types with its sizes and alignments, make_*, and dim3.
#pragma once

// A type of one to four components, with the alignment of each width.
#define PKB_HOSTCUDA_VECTOR1(name, scalar)     \
  struct name##1 {                             \
    scalar x;                                  \
  };                                           \
  constexpr name##1 make_##name##1(scalar x) { \
    return {x};                                \
  }
#define PKB_HOSTCUDA_VECTOR2(name, scalar, alignment)    \
  struct alignas(alignment) name##2 {                    \
    scalar x, y;                                         \
  };                                                     \
  constexpr name##2 make_##name##2(scalar x, scalar y) { \
    return {x, y};                                       \
  }
#define PKB_HOSTCUDA_VECTOR3(name, scalar)                         \
  struct name##3 {                                                 \
    scalar x, y, z;                                                \
  };                                                               \
  constexpr name##3 make_##name##3(scalar x, scalar y, scalar z) { \
    return {x, y, z};                                              \
  }
#define PKB_HOSTCUDA_VECTOR4(name, scalar, alignment)                        \
  struct alignas(alignment) name##4 {                                        \
    scalar x, y, z, w;                                                       \
  };                                                                         \
  constexpr name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) { \
    return {x, y, z, w};                                                     \
  }
#define PKB_HOSTCUDA_VECTORS(name, scalar, alignment2, alignment4) \
  PKB_HOSTCUDA_VECTOR1(name, scalar)                               \
  PKB_HOSTCUDA_VECTOR2(name, scalar, alignment2)                   \
  PKB_HOSTCUDA_VECTOR3(name, scalar)                               \
  PKB_HOSTCUDA_VECTOR4(name, scalar, alignment4)

PKB_HOSTCUDA_VECTORS(char, signed char, 2, 4)
PKB_HOSTCUDA_VECTORS(uchar, unsigned char, 2, 4)
PKB_HOSTCUDA_VECTORS(short, short, 4, 8)
PKB_HOSTCUDA_VECTORS(ushort, unsigned short, 4, 8)
PKB_HOSTCUDA_VECTORS(int, int, 8, 16)
PKB_HOSTCUDA_VECTORS(uint, unsigned, 8, 16)
PKB_HOSTCUDA_VECTORS(long, long, 16, 16)
PKB_HOSTCUDA_VECTORS(ulong, unsigned long, 16, 16)
PKB_HOSTCUDA_VECTORS(longlong, long long, 16, 16)
PKB_HOSTCUDA_VECTORS(ulonglong, unsigned long long, 16, 16)
PKB_HOSTCUDA_VECTORS(float, float, 8, 16)
PKB_HOSTCUDA_VECTORS(double, double, 16, 16)

#undef PKB_HOSTCUDA_VECTOR1
#undef PKB_HOSTCUDA_VECTOR2
#undef PKB_HOSTCUDA_VECTOR3
#undef PKB_HOSTCUDA_VECTOR4
#undef PKB_HOSTCUDA_VECTORS

struct dim3 {
  unsigned x = 1, y = 1, z = 1;

  constexpr dim3(unsigned x_extent = 1, unsigned y_extent = 1, unsigned z_extent = 1)
      : x(x_extent), y(y_extent), z(z_extent) {}
  constexpr dim3(uint3 extents) : x(extents.x), y(extents.y), z(extents.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
