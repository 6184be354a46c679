// Compiled once per instruction set: includes nothing but kernel headers.
#include "engine/ops/sum_squares/sum_squares_kernel.h"

#include "engine/cpu/rows.h"
#include "engine/ops/sum_squares/sum_squares_functor.h"

namespace headroom::engine::HEADROOM_ISA {

void sum_squares_forward(const float* x, float* y, int64_t rows, int64_t n) {
  for (; rows > 0; --rows, x += n, ++y)  // keep: nothing is added beyond the row's end
    *y = sum_over(n, [&](int64_t i, auto at) { return at.keep(SumSquares::f(at.load(x + i))); });
}

void sum_squares_backward(const float* dy, const float* x, float* dx, int64_t rows, int64_t n) {
  for (; rows > 0; --rows, ++dy, x += n, dx += n)
    for_each_vec(n, [&](int64_t i, auto at) { at.store(dx + i, Vec(*dy) * SumSquares::df(at.load(x + i))); });
}

}  // namespace headroom::engine::HEADROOM_ISA
