#include <algorithm>

#include "engine/cuda/launch.cuh"
#include "engine/cuda/numbers.cuh"
#include "engine/optim/calls.h"

// The optimizers' fused passes. What changes from step to step is read from the state, so a captured launch can be
// replayed.
namespace headroom::engine::cuda {
namespace {

constexpr int threads = 256;

template <class T>
struct AdamArrays {
  T *values, *mean, *square;
  const T* gradients;
  bf16* copies;  ///< may be null
  int64_t n;
  bool aligned;
};

/// The AdamScalars that an element needs, rounded once.
template <class T>
struct AdamNumbers {
  T keep, l2, one_minus_beta1, beta2, one_minus_beta2, step_size, inverse_root, eps, gradient_factor;
};

template <int pack, class T>
__device__ void adam_pack(const AdamArrays<T>& a, int64_t i, int64_t decayed, const AdamNumbers<T> (&numbers)[2]) {
  Numbers<T, pack> p = load_numbers<pack>(a.values + i, a.aligned), m = load_numbers<pack>(a.mean + i, a.aligned);
  Numbers<T, pack> v = load_numbers<pack>(a.square + i, a.aligned);
  const Numbers<T, pack> g = load_numbers<pack>(a.gradients + i, a.aligned);
  for (int k = 0; k < pack; ++k) {
    const AdamNumbers<T>& c = numbers[i + k < decayed ? 0 : 1];
    const T grad = g.at[k] * c.gradient_factor + c.l2 * p.at[k];
    m.at[k] += c.one_minus_beta1 * (grad - m.at[k]);
    v.at[k] = c.beta2 * v.at[k] + c.one_minus_beta2 * grad * grad;
    p.at[k] = p.at[k] * c.keep - c.step_size * m.at[k] / (std::sqrt(v.at[k]) * c.inverse_root + c.eps);
  }
  store_numbers<pack>(a.values + i, p, a.aligned);
  store_numbers<pack>(a.mean + i, m, a.aligned);
  store_numbers<pack>(a.square + i, v, a.aligned);
  if (!a.copies) return;
  Numbers<bf16, pack> rounded;
  for (int k = 0; k < pack; ++k) rounded.at[k] = static_cast<float>(p.at[k]);
  store_numbers<pack>(a.copies + i, rounded, a.aligned);
}

/// Calls f.operator()<pack>(i) for packs and for the elements after the last.
template <class T, class F>
__device__ void for_each_flat(int64_t n, const F& f) {
  constexpr int pack = widest_pack<T>;
  const int64_t own = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = own; i < n / pack; i += step) f.template operator()<pack>(i * pack);
  if (own < n % pack) f.template operator()<1>(n / pack * pack + own);
}

template <class T>
__global__ void adam_kernel(AdamArrays<T> a, AdamConfig config, const StepState* state) {
  __shared__ AdamNumbers<T> numbers[2];  // of elements that decay, and of the others
  if (state->is_finite == 0) return;
  if (threadIdx.x < 2) {
    const AdamScalars s = adam_scalars(config, *state, threadIdx.x == 0);
    numbers[threadIdx.x] = {
        T(s.keep),     T(s.l2),  T(s.one_minus_beta1), T(s.beta2), T(s.one_minus_beta2), T(s.step_size),
        T(1 / s.root), T(s.eps), T(s.gradient_factor)};
  }
  __syncthreads();
  for_each_flat<T>(a.n, [&]<int pack>(int64_t i) { adam_pack<pack>(a, i, config.decayed, numbers); });
}

template <class T>
LaunchShape flat_shape(int64_t n) {
  constexpr int64_t most_blocks = 2048, of_a_block = threads * widest_pack<T>;
  return {std::min(most_blocks, (n + of_a_block - 1) / of_a_block), threads};
}

const StepState* state_of(const Tensor& state) { return static_cast<const StepState*>(state.raw()); }

template <class T>
void run_adam(AdamCall& c) {
  AdamArrays<T> a{c.values.mutable_data<T>(),
                  c.mean.mutable_data<T>(),
                  c.square.mutable_data<T>(),
                  c.gradients.data<T>(),
                  c.copies.mutable_data_or_null<bf16>(),
                  c.values.numel(),
                  false};
  a.aligned = are_aligned(a.values, a.mean, a.square, a.gradients, a.copies);
  launch_kernel("adam", adam_kernel<T>, flat_shape<T>(a.n), a, c.config, state_of(c.state));
}

template <class T>
struct SgdArrays {
  T *values, *momentum;  ///< momentum may be null
  const T* gradients;
  bf16* copies;  ///< may be null
  int64_t n;
  bool aligned;
};

template <int pack, class T>
__device__ void sgd_pack(const SgdArrays<T>& a, int64_t i, const SgdConfig& config, const StepState& state) {
  const T lr = T(state.learning_rate), mu = T(config.momentum), factor = T(state.gradient_factor);
  Numbers<T, pack> p = load_numbers<pack>(a.values + i, a.aligned), b{};
  const Numbers<T, pack> g = load_numbers<pack>(a.gradients + i, a.aligned);
  if (a.momentum) b = load_numbers<pack>(a.momentum + i, a.aligned);
  for (int k = 0; k < pack; ++k) {
    const T grad = g.at[k] * factor + (i + k < config.decayed ? T(config.l2_decay) : T(0)) * p.at[k];
    b.at[k] = state.updates == 0 ? grad : mu * b.at[k] + grad;
    p.at[k] -= lr * (!a.momentum ? grad : config.nesterov ? grad + mu * b.at[k] : b.at[k]);
  }
  store_numbers<pack>(a.values + i, p, a.aligned);
  if (a.momentum) store_numbers<pack>(a.momentum + i, b, a.aligned);
  if (!a.copies) return;
  Numbers<bf16, pack> rounded;
  for (int k = 0; k < pack; ++k) rounded.at[k] = static_cast<float>(p.at[k]);
  store_numbers<pack>(a.copies + i, rounded, a.aligned);
}

template <class T>
__global__ void sgd_kernel(SgdArrays<T> a, SgdConfig config, const StepState* state) {
  if (state->is_finite == 0) return;
  for_each_flat<T>(a.n, [&]<int pack>(int64_t i) { sgd_pack<pack>(a, i, config, *state); });
}

template <class T>
void run_sgd(SgdCall& c) {
  SgdArrays<T> a{c.values.mutable_data<T>(), c.momentum.mutable_data_or_null<T>(),
                 c.gradients.data<T>(),      c.copies.mutable_data_or_null<bf16>(),
                 c.values.numel(),           false};
  a.aligned = are_aligned(a.values, a.momentum, a.gradients, a.copies);
  launch_kernel("sgd", sgd_kernel<T>, flat_shape<T>(a.n), a, c.config, state_of(c.state));
}

__global__ void step_begin_kernel(StepState* state, const double* rates, int64_t n) { begin_step(*state, rates, n); }
template <class T>
__global__ void step_loss_kernel(StepState* state, const T* x) {
  state->loss += static_cast<double>(load(*x));
}
__global__ void step_norm_kernel(StepState* state, const double* norm, double max_norm) {
  set_norm(*state, *norm, max_norm);
}
__global__ void step_end_kernel(StepState* state) { end_step(*state); }

StepState* changed(const Tensor& state) { return static_cast<StepState*>(state.mutable_raw()); }

template <class T>
void run_step_loss(StepLossCall& c) {
  launch_kernel("step_loss", step_loss_kernel<T>, {1, 1}, changed(c.state), c.x.data<T>());
}

}  // namespace

void register_optim() {
  add_kernel(adam_op, "flat", DType::f32, run_adam<float>);
  add_kernel(adam_op, "flat", DType::f64, run_adam<double>);
  add_kernel(sgd_op, "flat", DType::f32, run_sgd<float>);
  add_kernel(sgd_op, "flat", DType::f64, run_sgd<double>);
  add_kernels(step_loss_op, "one thread", run_step_loss<float>, run_step_loss<double>, run_step_loss<bf16>);
  add_kernel(step_begin_op, "one thread", DType::f64, [](StepBeginCall& c) {
    launch_kernel("step_begin", step_begin_kernel, {1, 1}, changed(c.state), c.rates.data<double>(), c.rates.numel());
  });
  add_kernel(step_norm_op, "one thread", DType::f64, [](StepNormCall& c) {
    launch_kernel("step_norm", step_norm_kernel, {1, 1}, changed(c.state), c.norm.data<double>(), c.max_norm);
  });
  add_kernel(step_end_op, "one thread", DType::u8, [](StepEndCall& c) {
    launch_kernel("step_end", step_end_kernel, {1, 1}, changed(c.state));
  });
}

}  // namespace headroom::engine::cuda
