#include "engine/optim/update.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "engine/dispatch/op.h"
#include "engine/error.h"
#include "engine/optim/update_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

constexpr int64_t grain = 1 << 14;

/// Throws Error unless all are flat arrays of one length.
void check_flat(const char* op, std::span<const Operand> operands) {
  const Tensor& first = *operands[0].tensor;
  for (const Operand& operand : operands) {
    const Tensor& x = *operand.tensor;
    require(!x.defined() || (x.rank() == 1 && x.is_contiguous() && x.shape() == first.shape()),
            "{}: want flat arrays of {}, got {} {}", op, first.str(), operand.name, x.str());
  }
}

void check_copies(const char* op, const Tensor& values, const Tensor& copies) {
  if (!copies.defined()) return;
  require(values.dtype() == DType::f32 && copies.dtype() == DType::bf16 && copies.is_contiguous() &&
              copies.shape() == values.shape() && copies.device() == values.device(),
          "{}: masters {}, copies {}; want f32 and bf16 of one length", op, values.str(), copies.str());
}

bf16* data_of(const Tensor& copies) { return copies.defined() ? copies.mutable_data<bf16>() : nullptr; }

/// The scalars of one step in f64.
struct AdamScalars {
  double keep, l2, one_minus_beta1, beta2, one_minus_beta2, step_size, root, eps, gradient_factor;
};

AdamScalars scalars_of(const AdamConfig& c, const StepState& s, bool decays) {
  const auto t = static_cast<double>(s.updates + 1);
  return {.keep = decays ? 1 - s.learning_rate * c.decoupled_decay : 1,
          .l2 = decays ? c.l2_decay : 0,
          .one_minus_beta1 = 1 - c.beta1,
          .beta2 = c.beta2,
          .one_minus_beta2 = 1 - c.beta2,
          .step_size = s.learning_rate / (1 - std::pow(c.beta1, t)),
          .root = std::sqrt(1 - std::pow(c.beta2, t)),
          .eps = c.eps,
          .gradient_factor = s.gradient_factor};
}

template <class T>
void adam_loop(T* p, const T* g, T* m, T* v, bf16* copy, int64_t n, const AdamScalars& s) {
  const auto rounded = [](double x) { return static_cast<T>(x); };
  for (int64_t i = 0; i < n; ++i) {
    const T grad = g[i] * rounded(s.gradient_factor) + rounded(s.l2) * p[i];
    p[i] *= rounded(s.keep);
    m[i] += rounded(s.one_minus_beta1) * (grad - m[i]);
    v[i] = rounded(s.beta2) * v[i] + rounded(s.one_minus_beta2) * grad * grad;
    p[i] -= rounded(s.step_size) * m[i] / (std::sqrt(v[i]) / rounded(s.root) + rounded(s.eps));
    if (copy) copy[i] = bf16(static_cast<float>(p[i]));
  }
}

void adam_fast(float* p, const float* g, float* m, float* v, bf16* copy, int64_t n, const AdamScalars& s) {
  const auto f = [](double x) { return static_cast<float>(x); };
  const AdamConstants c{f(s.keep),     f(s.l2),  f(s.one_minus_beta1), f(s.beta2), f(s.one_minus_beta2), f(s.step_size),
                        f(1 / s.root), f(s.eps), f(s.gradient_factor)};
  static_assert(sizeof(bf16) == sizeof(uint16_t));
  if (copy) kernel::adam_bf16_run(p, g, m, v, &copy->bits, n, c);
  else kernel::adam_run(p, g, m, v, n, c);
}

/// Calls f(begin, end, in the decayed part) over ranges that never straddle `decayed`.
template <class F>
void for_each_range(int64_t n, int64_t decayed, const F& f) {
  parallel_ranges(decayed, grain, [&](int64_t begin, int64_t end) { f(begin, end, true); });
  parallel_ranges(n - decayed, grain, [&](int64_t begin, int64_t end) { f(decayed + begin, decayed + end, false); });
}

struct AdamCall {
  Tensor values, gradients, mean, square, copies;
  AdamConfig config;
  StepState step;
  auto operands() {
    return std::array{real("values", values), real("gradients", gradients), real("mean", mean), real("square", square)};
  }
};

/// `loop` over the ranges of one call.
template <class T>
void run_adam(AdamCall& c, void (*loop)(T*, const T*, T*, T*, bf16*, int64_t, const AdamScalars&)) {
  const AdamScalars with_decay = scalars_of(c.config, c.step, true), without = scalars_of(c.config, c.step, false);
  for_each_range(c.values.numel(), c.config.decayed, [&](int64_t begin, int64_t end, bool decays) {
    bf16* const copy = data_of(c.copies);
    loop(c.values.mutable_data<T>() + begin, c.gradients.data<T>() + begin, c.mean.mutable_data<T>() + begin,
         c.square.mutable_data<T>() + begin, copy ? copy + begin : nullptr, end - begin, decays ? with_decay : without);
  });
}

const Op<AdamCall> adam_op{"adam",
                           {{.name = "simd",
                             .dtypes = DType::f32,
                             .run = [](AdamCall& c) { run_adam<float>(c, adam_fast); },
                             .levels = kernel::adam_run.levels()},
                            {.name = "loops",
                             .dtypes = DType::f32,
                             .run = [](AdamCall& c) { run_adam<float>(c, adam_loop); },
                             .is_reference = true},
                            {.name = "loops",
                             .dtypes = DType::f64,
                             .run = [](AdamCall& c) { run_adam<double>(c, adam_loop); },
                             .is_reference = true}}};

struct SgdCall {
  Tensor values, gradients, momentum, copies;
  SgdConfig config;
  StepState step;
  auto operands() {
    return std::array{real("values", values), real("gradients", gradients), optional_real("momentum", momentum)};
  }
};

template <class T>
void run_sgd(SgdCall& c) {
  const T lr = static_cast<T>(c.step.learning_rate), mu = static_cast<T>(c.config.momentum);
  const T factor = static_cast<T>(c.step.gradient_factor);
  for_each_range(c.values.numel(), c.config.decayed, [&](int64_t begin, int64_t end, bool decays) {
    const T l2 = decays ? static_cast<T>(c.config.l2_decay) : T(0);
    T *p = c.values.mutable_data<T>(), *b = c.momentum.defined() ? c.momentum.mutable_data<T>() : nullptr;
    const T* g = c.gradients.data<T>();
    bf16* const copy = data_of(c.copies);
    for (int64_t i = begin; i < end; ++i) {
      const T grad = g[i] * factor + l2 * p[i];
      if (b) b[i] = c.step.updates == 0 ? grad : mu * b[i] + grad;
      p[i] -= lr * (!b ? grad : c.config.nesterov ? grad + mu * b[i] : b[i]);
      if (copy) copy[i] = bf16(static_cast<float>(p[i]));
    }
  });
}

const Op<SgdCall> sgd_op{"sgd",
                         {{.name = "loops", .dtypes = DType::f32, .run = run_sgd<float>, .is_reference = true},
                          {.name = "loops", .dtypes = DType::f64, .run = run_sgd<double>, .is_reference = true}}};

struct SquareSumCall {
  Tensor x;
  double total = 0;
  auto operands() { return std::array{real("x", x)}; }
};

template <class T>
double square_sum_loop(const T* x, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total;
}

double square_sum_fast(const float* x, int64_t n) { return kernel::square_sum_run(x, n); }

/// Sums of chunks of one size, added in their order.
template <class T>
void run_square_sum(SquareSumCall& c, double (*loop)(const T*, int64_t)) {
  const int64_t n = c.x.numel(), chunks = (n + grain - 1) / grain;
  const Tensor partial = Tensor::empty({chunks}, DType::f64);  // (chunks)
  double* sums = partial.mutable_data<double>();
  const T* data = c.x.data<T>();
  parallel_for(chunks,
               [&](int64_t chunk) { sums[chunk] = loop(data + chunk * grain, std::min(grain, n - chunk * grain)); });
  for (int64_t i = 0; i < chunks; ++i) c.total += sums[i];
}

const Op<SquareSumCall> square_sum_op{"square_sum",
                                      {{.name = "simd",
                                        .dtypes = DType::f32,
                                        .run = [](SquareSumCall& c) { run_square_sum<float>(c, square_sum_fast); },
                                        .levels = kernel::square_sum_run.levels()},
                                       {.name = "loops",
                                        .dtypes = DType::f32,
                                        .run = [](SquareSumCall& c) { run_square_sum<float>(c, square_sum_loop); },
                                        .is_reference = true},
                                       {.name = "loops",
                                        .dtypes = DType::f64,
                                        .run = [](SquareSumCall& c) { run_square_sum<double>(c, square_sum_loop); },
                                        .is_reference = true}}};

}  // namespace

void adam_inplace(const Tensor& values, const Tensor& gradients, const Tensor& mean, const Tensor& square,
                  const Tensor& copies, const AdamConfig& config, const Tensor& state) {
  AdamCall call{values, gradients, mean, square, copies, config, read_step_state(state)};
  adam_op.check(call);
  check_flat("adam", call.operands());
  check_copies("adam", values, copies);
  if (!call.step.is_finite) return;
  for (const Tensor* x : {&values, &mean, &square}) x->bump_version();
  if (copies.defined()) copies.bump_version();
  adam_op.run(call);
}

void sgd_inplace(const Tensor& values, const Tensor& gradients, const Tensor& momentum, const Tensor& copies,
                 const SgdConfig& config, const Tensor& state) {
  SgdCall call{values, gradients, momentum, copies, config, read_step_state(state)};
  sgd_op.check(call);
  check_flat("sgd", call.operands());
  check_copies("sgd", values, copies);
  if (!call.step.is_finite) return;
  for (const Tensor* x : {&values, &momentum, &copies})
    if (x->defined()) x->bump_version();
  sgd_op.run(call);
}

double square_sum(const Tensor& x) {
  SquareSumCall call{x};
  square_sum_op.check(call);
  if (x.numel() > 0) square_sum_op.run(call);
  return call.total;
}

}  // namespace headroom::engine
