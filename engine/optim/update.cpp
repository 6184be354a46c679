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

template <class T>
void adam_loop(T* p, const T* g, T* m, T* v, int64_t n, const AdamStep& s, double keep, double l2) {
  const double bias1 = 1 - std::pow(s.beta1, static_cast<double>(s.step));
  const double bias2 = std::sqrt(1 - std::pow(s.beta2, static_cast<double>(s.step)));
  for (int64_t i = 0; i < n; ++i) {
    const T grad = g[i] + static_cast<T>(l2) * p[i];
    p[i] *= static_cast<T>(keep);
    m[i] += static_cast<T>(1 - s.beta1) * (grad - m[i]);
    v[i] = static_cast<T>(s.beta2) * v[i] + static_cast<T>(1 - s.beta2) * grad * grad;
    p[i] -= static_cast<T>(s.lr / bias1) * m[i] / (std::sqrt(v[i]) / static_cast<T>(bias2) + static_cast<T>(s.eps));
  }
}

/// Calls f(begin, end, in the decayed part) over ranges that never straddle `decayed`.
template <class F>
void for_each_range(int64_t n, int64_t decayed, const F& f) {
  parallel_ranges(decayed, grain, [&](int64_t begin, int64_t end) { f(begin, end, true); });
  parallel_ranges(n - decayed, grain, [&](int64_t begin, int64_t end) { f(decayed + begin, decayed + end, false); });
}

}  // namespace

void adam_inplace(const Tensor& values, const Tensor& gradients, const Tensor& mean, const Tensor& square,
                  const AdamStep& s, double decoupled_decay, double l2_decay, int64_t decayed) {
  check_flat("adam", {&values, &gradients, &mean, &square});
  for (const Tensor* x : {&values, &mean, &square}) x->bump_version();
  visit_real("adam", values, [&](auto zero) {
    using T = decltype(zero);
    for_each_range(values.numel(), decayed, [&](int64_t begin, int64_t end, bool decays) {
      T *p = values.mutable_data<T>() + begin, *m = mean.mutable_data<T>() + begin;
      T* v = square.mutable_data<T>() + begin;
      const T* g = gradients.data<T>() + begin;
      const double keep = decays ? 1 - s.lr * decoupled_decay : 1, l2 = decays ? l2_decay : 0;
      if constexpr (std::is_same_v<T, float>) {
        if (!reference_only()) {
          const double bias1 = 1 - std::pow(s.beta1, static_cast<double>(s.step));
          const double bias2 = 1 - std::pow(s.beta2, static_cast<double>(s.step));
          const auto f = [](double x) { return static_cast<float>(x); };
          const AdamConstants c{f(keep),        f(l2),           f(1 - s.beta1),          f(s.beta2),
                                f(1 - s.beta2), f(s.lr / bias1), f(1 / std::sqrt(bias2)), f(s.eps)};
          return kernel::adam_run(p, g, m, v, end - begin, c);
        }
      }
      adam_loop(p, g, m, v, end - begin, s, keep, l2);
    });
  });
}

void sgd_inplace(const Tensor& values, const Tensor& gradients, const Tensor& momentum, const SgdStep& s,
                 double l2_decay, int64_t decayed) {
  if (momentum.defined()) check_flat("sgd", {&values, &gradients, &momentum});
  else check_flat("sgd", {&values, &gradients});
  values.bump_version();
  if (momentum.defined()) momentum.bump_version();
  visit_real("sgd", values, [&](auto zero) {
    using T = decltype(zero);
    const T lr = static_cast<T>(s.lr), mu = static_cast<T>(s.momentum);
    for_each_range(values.numel(), decayed, [&](int64_t begin, int64_t end, bool decays) {
      const T l2 = decays ? static_cast<T>(l2_decay) : T(0);
      T *p = values.mutable_data<T>(), *b = momentum.defined() ? momentum.mutable_data<T>() : nullptr;
      const T* g = gradients.data<T>();
      for (int64_t i = begin; i < end; ++i) {
        const T grad = g[i] + l2 * p[i];
        if (b) b[i] = s.first ? grad : mu * b[i] + grad;
        p[i] -= lr * (!b ? grad : s.nesterov ? grad + mu * b[i] : b[i]);
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

void scale_inplace(const Tensor& x, double factor) {
  check_flat("scale_inplace", {&x});
  x.bump_version();
  visit_real("scale_inplace", x, [&](auto zero) {
    using T = decltype(zero);
    T* data = x.mutable_data<T>();
    const T by = static_cast<T>(factor);
    parallel_ranges(x.numel(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) data[i] *= by;
    });
  });
}

}  // namespace headroom::engine
