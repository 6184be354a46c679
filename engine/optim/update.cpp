#include "engine/optim/update.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "engine/backend.h"
#include "engine/error.h"
#include "engine/optim/update_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

constexpr int64_t grain = 1 << 14;

void check_flat(const char* op, std::initializer_list<const Tensor*> tensors) {
  check_floating(op, tensors);
  const Tensor& first = **tensors.begin();
  for (const Tensor* x : tensors)
    require(x->rank() == 1 && x->is_contiguous() && x->shape() == first.shape(), "{}: want flat arrays of {}, got {}",
            op, first.str(), x->str());
}

/// The copies' elements, null where there are none.
bf16* check_copies(const char* op, const Tensor& values, const Tensor& copies) {
  if (!copies.defined()) return nullptr;
  require(values.dtype() == DType::f32 && copies.dtype() == DType::bf16 && copies.is_contiguous() &&
              copies.shape() == values.shape() && copies.device() == values.device(),
          "{}: masters {}, copies {}; want f32 and bf16 of one length", op, values.str(), copies.str());
  copies.bump_version();
  return copies.mutable_data<bf16>();
}

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

}  // namespace

void adam_inplace(const Tensor& values, const Tensor& gradients, const Tensor& mean, const Tensor& square,
                  const Tensor& copies, const AdamConfig& config, const Tensor& state) {
  check_flat("adam", {&values, &gradients, &mean, &square});
  const StepState step = read_step_state(state);
  if (!step.is_finite) return;
  bf16* const all_copies = check_copies("adam", values, copies);
  for (const Tensor* x : {&values, &mean, &square}) x->bump_version();
  const AdamScalars with_decay = scalars_of(config, step, true), without = scalars_of(config, step, false);
  visit_real("adam", values, [&](auto zero) {
    using T = decltype(zero);
    for_each_range(values.numel(), config.decayed, [&](int64_t begin, int64_t end, bool decays) {
      T *p = values.mutable_data<T>() + begin, *m = mean.mutable_data<T>() + begin;
      T* v = square.mutable_data<T>() + begin;
      const T* g = gradients.data<T>() + begin;
      bf16* const copy = all_copies ? all_copies + begin : nullptr;
      const AdamScalars& scalars = decays ? with_decay : without;
      if constexpr (std::is_same_v<T, float>)
        if (!reference_only()) return adam_fast(p, g, m, v, copy, end - begin, scalars);
      adam_loop(p, g, m, v, copy, end - begin, scalars);
    });
  });
}

void sgd_inplace(const Tensor& values, const Tensor& gradients, const Tensor& momentum, const Tensor& copies,
                 const SgdConfig& config, const Tensor& state) {
  if (momentum.defined()) check_flat("sgd", {&values, &gradients, &momentum});
  else check_flat("sgd", {&values, &gradients});
  const StepState step = read_step_state(state);
  if (!step.is_finite) return;
  bf16* const copy = check_copies("sgd", values, copies);
  values.bump_version();
  if (momentum.defined()) momentum.bump_version();
  visit_real("sgd", values, [&](auto zero) {
    using T = decltype(zero);
    const T lr = static_cast<T>(step.learning_rate), mu = static_cast<T>(config.momentum);
    const T factor = static_cast<T>(step.gradient_factor);
    for_each_range(values.numel(), config.decayed, [&](int64_t begin, int64_t end, bool decays) {
      const T l2 = decays ? static_cast<T>(config.l2_decay) : T(0);
      T *p = values.mutable_data<T>(), *b = momentum.defined() ? momentum.mutable_data<T>() : nullptr;
      const T* g = gradients.data<T>();
      for (int64_t i = begin; i < end; ++i) {
        const T grad = g[i] * factor + l2 * p[i];
        if (b) b[i] = step.updates == 0 ? grad : mu * b[i] + grad;
        p[i] -= lr * (!b ? grad : config.nesterov ? grad + mu * b[i] : b[i]);
        if (copy) copy[i] = bf16(static_cast<float>(p[i]));
      }
    });
  });
}

double square_sum(const Tensor& x_in) {
  check_floating("square_sum", {&x_in});
  const Tensor x = x_in.contiguous();
  const int64_t n = x.numel(), chunks = (n + grain - 1) / grain;
  const Tensor partial = Tensor::empty({chunks}, DType::f64);
  double* sums = partial.mutable_data<double>();
  visit_real("square_sum", x, [&](auto zero) {
    using T = decltype(zero);
    const T* data = x.data<T>();
    parallel_for(chunks, [&](int64_t chunk) {
      const int64_t begin = chunk * grain, count = std::min(grain, n - begin);
      if constexpr (std::is_same_v<T, float>)
        if (!reference_only()) return void(sums[chunk] = kernel::square_sum_run(data + begin, count));
      double total = 0;
      for (int64_t i = begin; i < begin + count; ++i)
        total += static_cast<double>(data[i]) * static_cast<double>(data[i]);
      sums[chunk] = total;
    });
  });
  double total = 0;
  for (int64_t i = 0; i < chunks; ++i) total += sums[i];
  return total;
}

}  // namespace headroom::engine
