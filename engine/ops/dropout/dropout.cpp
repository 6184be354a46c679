#include "engine/ops/dropout/dropout.h"

#include "engine/cpu/widened.h"
#include "engine/error.h"
#include "engine/ops/dropout/dropout_kernel.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/parallel.h"
#include "engine/switch.h"

namespace headroom::engine {
namespace {

template <class T>
void dropout_loop(const T* x, T* y, int64_t begin, int64_t end, const RngKey& key, uint32_t threshold, T factor) {
  for (int64_t i = begin; i < end; ++i)
    y[i] = random_bits(key, static_cast<uint64_t>(i)) >= threshold ? x[i] * factor : 0;
}

template <class T>
void run_loops(DropoutCall& c) {
  parallel_ranges(c.x.numel(), elementwise_grain, [&](int64_t begin, int64_t end) {
    dropout_loop(c.x.data<T>(), c.y.mutable_data<T>(), begin, end, c.dropout.key, c.dropout.threshold(),
                 static_cast<T>(c.dropout.factor()));
  });
}

void run_simd(DropoutCall& c) {
  const RngKey& key = c.dropout.key;
  const uint64_t first = key.first();
  parallel_ranges(c.x.numel(), elementwise_grain, [&](int64_t begin, int64_t end) {
    kernel::dropout_run(c.x.data<float>() + begin, c.y.mutable_data<float>() + begin, end - begin, key.seed, key.stream,
                        (first + static_cast<uint64_t>(begin)) / 4, c.dropout.threshold(),
                        static_cast<float>(c.dropout.factor()));
  });
}

void run_widened(DropoutCall& c) {
  const RngKey& key = c.dropout.key;
  const uint64_t first = key.first();
  const bf16* x = c.x.data<bf16>();
  bf16* y = c.y.mutable_data<bf16>();
  static_assert(widened_run % 4 == 0 && elementwise_grain % widened_run == 0);
  parallel_ranges(c.x.numel(), elementwise_grain, [&](int64_t begin, int64_t end) {
    const WidenedBlocks f32(2, widened_run);
    for_each_block(begin, end, [&](int64_t i, int64_t n) {
      kernel::dropout_run(f32.widen(0, x + i, n), f32[1], n, key.seed, key.stream,
                          (first + static_cast<uint64_t>(i)) / 4, c.dropout.threshold(),
                          static_cast<float>(c.dropout.factor()));
      f32.narrow(1, y + i, n);
    });
  });
}

void check(const char* op, const Tensor& x, const Dropout& dropout) {
  require(dropout.p >= 0 && dropout.p < 1, "{}: p = {} is not in [0, 1)", op, dropout.p);
  check_key(op, dropout.key, x.numel(), x.device());
}

}  // namespace

Op<DropoutCall> dropout_op{"dropout", kernel_and_loops<DropoutCall>(kernel::dropout_run.levels(), run_simd,
                                                                    run_loops<float>, run_loops<double>, run_widened)};

bool joins_dropout(const Tensor& x) {
  static const bool joins = !is_off("HEADROOM_JOINED_DROPOUT");
  return joins && !x.device().is_cpu();
}

void leave_dropout(const char* op, Tensor& x, Dropout& dropout) {
  if (dropout.p == 0) return;
  check(op, x, dropout);
  if (!joins_dropout(x)) x = engine::dropout(x, dropout.p, dropout.key), dropout = {};
}

Tensor dropout(const Tensor& x, double p, const RngKey& key, const Tensor& added) {
  require(!added.defined() || added.shape() == x.shape(), "dropout: added {} does not fit x {}", added, x);
  if (added.defined() && !joins_dropout(x)) return add(added, dropout(x, p, key));
  DropoutCall call{x, {p, key}, added};
  dropout_op.check(call);
  check("dropout", x, call.dropout);
  call.y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (x.numel() > 0) dropout_op.run(call);
  return call.y;
}

}  // namespace headroom::engine
