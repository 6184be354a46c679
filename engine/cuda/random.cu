#include <numbers>

#include "engine/cuda/launch.cuh"
#include "engine/random_fills.h"

// The fills of rng.cpp, four elements a thread. Products and sums are rounded one by one, as on the CPU: a compiler
// that joined them would change bits.
namespace headroom::engine::cuda {
namespace {

using Words = std::array<uint32_t, 4>;

template <class T, class F>
struct RandomElements {
  int64_t n;
  RngKey key;
  F values;
  T* y;
  __device__ void operator()(int64_t block) const {
    const Words words = random_words(key, key.first() / 4 + static_cast<uint64_t>(block));
    T four[4];
    values(words, four);
    for (int64_t j = 0; j < 4 && 4 * block + j < n; ++j) y[4 * block + j] = four[j];
  }
};

template <class T>
struct UniformValues {
  double low, width, last;
  __device__ void operator()(const Words& words, T (&four)[4]) const {
    for (size_t j = 0; j < 4; ++j) {
      const double unit = sizeof(T) == 4 ? (words[j] >> 8) * 0x1p-24 : words[j] * 0x1p-32;
      const double value = __dadd_rn(low, __dmul_rn(width, unit)), capped = value < last ? value : last;
      four[j] = static_cast<T>(capped > low ? capped : low);
    }
  }
};

template <class T>
struct NormalValues {
  double mean, deviation;
  __device__ static double open_unit(uint32_t bits) { return (static_cast<double>(bits) + 0.5) * 0x1p-32; }
  __device__ void operator()(const Words& words, T (&four)[4]) const {
    for (size_t j = 0; j < 4; j += 2) {
      const double radius = deviation * std::sqrt(-2 * std::log(open_unit(words[j])));
      const double angle = 2 * std::numbers::pi * open_unit(words[j + 1]);
      four[j] = static_cast<T>(__dadd_rn(mean, __dmul_rn(radius, std::cos(angle))));
      four[j + 1] = static_cast<T>(__dadd_rn(mean, __dmul_rn(radius, std::sin(angle))));
    }
  }
};

struct IntegerValues {
  int64_t low;
  uint64_t range;
  __device__ void operator()(const Words& words, int64_t (&four)[4]) const {
    for (size_t j = 0; j < 4; ++j) four[j] = low + static_cast<int64_t>((words[j] * range) >> 32);
  }
};

template <class T, class F>
void fill(const char* name, const Tensor& y, const RngKey& key, const F& values) {
  launch(name, (y.numel() + 3) / 4, RandomElements<T, F>{y.numel(), key, values, y.mutable_data<T>()});
}

template <class T>
void run_uniform(RandomCall& c) {
  fill<T>("random_uniform", c.y, c.key, UniformValues<T>{c.a, c.b - c.a, c.last});
}
template <class T>
void run_normal(RandomCall& c) {
  fill<T>("random_normal", c.y, c.key, NormalValues<T>{c.a, c.b});
}
void run_integers(RandomIntegersCall& c) {
  fill<int64_t>("random_integers", c.y, c.key, IntegerValues{c.low, c.range});
}

}  // namespace

void register_random() {
  add_kernel(random_uniform_op, "four a thread", DType::f32, run_uniform<float>);
  add_kernel(random_uniform_op, "four a thread", DType::f64, run_uniform<double>);
  add_kernel(random_normal_op, "four a thread", DType::f32, run_normal<float>);
  add_kernel(random_normal_op, "four a thread", DType::f64, run_normal<double>);
  add_kernel(random_integers_op, "four a thread", DType::i64, run_integers);
}

}  // namespace headroom::engine::cuda
