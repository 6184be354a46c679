#pragma once
// Shared parts of the optimizers' fused passes over flat arrays; for the .cpp files of this folder.
#include <span>

#include "engine/dispatch/operand.h"
#include "engine/error.h"
#include "engine/parallel.h"

namespace headroom::engine {

/// Elements per task.
inline constexpr int64_t flat_grain = 1 << 14;

/// Throws Error unless all are flat arrays of one length.
inline void check_flat(const char* op, std::span<const Operand> operands) {
  const Tensor& first = *operands[0].tensor;
  for (const Operand& operand : operands) {
    const Tensor& x = *operand.tensor;
    require(!x.defined() || (x.rank() == 1 && x.is_contiguous() && x.shape() == first.shape()),
            "{}: expected flat arrays of {}, got {} {}", op, first, operand.name, x);
  }
}

/// Throws Error if two of them overlap: one would read what the other has just written.
inline void check_apart(const char* op, std::span<const Operand> operands) {
  for (size_t i = 0; i < operands.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      require(!operands[i].tensor->overlaps(*operands[j].tensor), "{}: {} and {} lie in the same memory", op,
              operands[j].name, operands[i].name);
}

/// Throws Error unless copies are undefined, or bf16 with f32 values.
inline void check_copies(const char* op, const Tensor& values, const Tensor& copies) {
  if (!copies.defined()) return;
  require(values.dtype() == DType::f32 && copies.dtype() == DType::bf16 && copies.is_contiguous() &&
              copies.shape() == values.shape() && copies.device() == values.device(),
          "{}: masters {}, copies {}; expected f32 and bf16 of one length", op, values, copies);
}

/// Throws Error unless 0 ≤ decayed ≤ n.
inline void check_decayed(int64_t n, int64_t decayed) {
  require(decayed >= 0 && decayed <= n, "optimizer: {} of {} elements decay", decayed, n);
}

/// Calls f(begin, end, in the decayed part) over ranges that never straddle `decayed`.
template <class F>
void for_each_range(int64_t n, int64_t decayed, const F& f) {
  parallel_ranges(decayed, flat_grain, [&](int64_t begin, int64_t end) { f(begin, end, true); });
  parallel_ranges(n - decayed, flat_grain,
                  [&](int64_t begin, int64_t end) { f(decayed + begin, decayed + end, false); });
}

}  // namespace headroom::engine
