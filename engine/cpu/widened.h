#pragma once
#include <algorithm>
#include <vector>

#include "engine/cpu/halves_kernel.h"
#include "engine/dtype.h"

namespace headroom::engine {

/// Elements of each bf16 operand widened at a time: several such arrays fit into the first-level cache.
inline constexpr int64_t widened_run = 1024;
/// The same in whole rows: as many rows of this width as fit into the second-level cache.
inline int64_t widened_rows(int64_t width) { return std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(1, width)); }

/// `count` f32 arrays of n elements that this thread keeps for its next task: f32 kernels read widened bf16 operands
/// there and write results that are then rounded to bf16. One at a time.
class WidenedBlocks {
 public:
  WidenedBlocks(int64_t count, int64_t n) : step_((n + 15) / 16 * 16) {
    thread_local std::vector<float> memory;
    const auto floats = static_cast<size_t>(count * step_ + 16);
    if (memory.size() < floats) memory.resize(floats);
    const auto past = reinterpret_cast<uintptr_t>(memory.data()) % 64 / sizeof(float);
    first_ = memory.data() + (16 - past) % 16;
  }

  float* operator[](int64_t i) const { return first_ + i * step_; }
  /// Widens x into the i-th array; null if x is.
  const float* widen(int64_t i, const bf16* x, int64_t n) const {
    if (!x) return nullptr;
    kernel::widen_run(&x->bits, (*this)[i], n);
    return (*this)[i];
  }
  /// Rounds the i-th array to y, unless that is null.
  void narrow(int64_t i, bf16* y, int64_t n) const {
    if (y) kernel::narrow_run((*this)[i], &y->bits, n);
  }

 private:
  float* first_;
  int64_t step_;
};

/// Calls f(i, n) for blocks of widened_run elements, or of `step`, that cover [begin, end).
template <class F>
void for_each_block(int64_t begin, int64_t end, const F& f, int64_t step = widened_run) {
  for (int64_t i = begin; i < end; i += step) f(i, std::min(step, end - i));
}

}  // namespace headroom::engine
