#pragma once

// CUDA's short vectors: names, members and alignments are CUDA's. A load from an address that is not aligned so is
// found by the undefined-behaviour sanitizer.
#define HEADROOM_VECTOR_1_TO_4(TYPE, SCALAR)                                           \
  struct alignas(2 * sizeof(SCALAR)) TYPE##2 {                                         \
    SCALAR x, y;                                                                       \
  };                                                                                   \
  struct TYPE##3 {                                                                     \
    SCALAR x, y, z;                                                                    \
  };                                                                                   \
  struct alignas(sizeof(SCALAR) < 4 ? 4 * sizeof(SCALAR) : 16) TYPE##4 {               \
    SCALAR x, y, z, w;                                                                 \
  };                                                                                   \
  constexpr TYPE##2 make_##TYPE##2(SCALAR x, SCALAR y) { return {x, y}; }              \
  constexpr TYPE##3 make_##TYPE##3(SCALAR x, SCALAR y, SCALAR z) { return {x, y, z}; } \
  constexpr TYPE##4 make_##TYPE##4(SCALAR x, SCALAR y, SCALAR z, SCALAR w) { return {x, y, z, w}; }

HEADROOM_VECTOR_1_TO_4(uchar, unsigned char)
HEADROOM_VECTOR_1_TO_4(short, short)
HEADROOM_VECTOR_1_TO_4(ushort, unsigned short)
HEADROOM_VECTOR_1_TO_4(int, int)
HEADROOM_VECTOR_1_TO_4(uint, unsigned)
HEADROOM_VECTOR_1_TO_4(longlong, long long)
HEADROOM_VECTOR_1_TO_4(ulonglong, unsigned long long)
HEADROOM_VECTOR_1_TO_4(float, float)
HEADROOM_VECTOR_1_TO_4(double, double)
#undef HEADROOM_VECTOR_1_TO_4

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
