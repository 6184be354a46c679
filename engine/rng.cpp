#include "engine/rng.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/parallel.h"
#include "engine/random_fills.h"

namespace headroom::engine {
namespace {

using FourWords = std::array<uint32_t, 4>;

/// FNV-1a: a name's stream number must be the same on every machine and in every version.
uint32_t hash_name(const std::string& name) {
  uint32_t hash = 2166136261u;
  for (unsigned char c : name) hash = (hash ^ c) * 16777619u;
  return hash;
}

/// (0, 1): the midpoint of one of 2^32 cells, so that a logarithm is finite.
double open_unit(uint32_t bits) { return (static_cast<double>(bits) + 0.5) * 0x1p-32; }

/// The largest value of the dtype below `high`: rounding low + (high - low)·u may reach `high` itself.
double last_below(double high, DType dtype) {
  if (dtype != DType::f32) return std::nextafter(high, -std::numeric_limits<double>::infinity());
  const auto rounded = static_cast<float>(high);
  if (static_cast<double>(rounded) < high) return static_cast<double>(rounded);
  return static_cast<double>(std::nextafter(rounded, -std::numeric_limits<float>::infinity()));
}

/// y = the four values that `values` makes of each four words; parallel, order-free.
template <class T, class F>
void fill_by_words(const Tensor& y, const RngKey& key, F&& values) {
  const uint64_t first = key.first();
  const int64_t n = y.numel();
  T* data = y.mutable_data<T>();
  parallel_for((n + 3) / 4, 4096, [&](int64_t i) {
    const auto four = values(random_words(key, first / 4 + static_cast<uint64_t>(i)));
    for (int64_t j = 0; j < 4 && 4 * i + j < n; ++j) data[4 * i + j] = static_cast<T>(four[static_cast<size_t>(j)]);
  });
}

template <class T>
void run_uniform(RandomCall& c) {
  fill_by_words<T>(c.y, c.key, [&](const FourWords& words) {
    std::array<double, 4> values{};
    for (size_t j = 0; j < 4; ++j) {
      const double unit = std::is_same_v<T, float> ? (words[j] >> 8) * 0x1p-24 : words[j] * 0x1p-32;
      values[j] = std::max(c.a, std::min(c.a + (c.b - c.a) * unit, c.last));
    }
    return values;
  });
}

template <class T>
void run_normal(RandomCall& c) {
  fill_by_words<T>(c.y, c.key, [&](const FourWords& words) {
    std::array<double, 4> values{};
    for (size_t j = 0; j < 4; j += 2) {
      const double radius = c.b * std::sqrt(-2 * std::log(open_unit(words[j])));
      const double angle = 2 * std::numbers::pi * open_unit(words[j + 1]);
      values[j] = c.a + radius * std::cos(angle);
      values[j + 1] = c.a + radius * std::sin(angle);
    }
    return values;
  });
}

void run_integers(RandomIntegersCall& c) {
  fill_by_words<int64_t>(c.y, c.key, [&](const FourWords& words) {
    std::array<int64_t, 4> values{};
    for (size_t j = 0; j < 4; ++j) values[j] = c.low + static_cast<int64_t>((words[j] * c.range) >> 32);
    return values;
  });
}

Tensor filled(const Op<RandomCall>& op, const Shape& shape, RandomCall call, DType dtype, Device device) {
  require(dtype == DType::f32 || dtype == DType::f64, "{}: dtype {} is not f32 or f64", op.name(), name_of(dtype));
  check_key(op.name(), call.key, shape.numel(), device);
  call.y = Tensor::empty(shape, dtype, device);
  op.check(call);
  if (call.y.numel() > 0) op.run(call);
  return call.y;
}

}  // namespace

Op<RandomCall> random_uniform_op{
    "random_uniform",
    {{.name = "loops", .dtypes = DType::f32, .run = run_uniform<float>, .is_reference = true},
     {.name = "loops", .dtypes = DType::f64, .run = run_uniform<double>, .is_reference = true}}};
Op<RandomCall> random_normal_op{
    "random_normal",
    {{.name = "loops", .dtypes = DType::f32, .run = run_normal<float>, .is_reference = true},
     {.name = "loops", .dtypes = DType::f64, .run = run_normal<double>, .is_reference = true}}};
Op<RandomIntegersCall> random_integers_op{
    "random_integers", {{.name = "loops", .dtypes = DType::i64, .run = run_integers, .is_reference = true}}};

void fail_past_end(const RngKey& key, uint64_t i) {
  fail("rng: value {} of a key that holds {}: take as many as are read", i, key.count);
}

void check_key(const char* op, const RngKey& key, int64_t count, Device device) {
  // A base on a device holds a multiple of four: StepState's own rule, which the host cannot look at.
  const uint64_t first = device.is_cpu() ? key.first() : key.offset;
  require(first % 4 == 0, "{}: the key's offset {} is not a multiple of four", op, first);
  require(static_cast<uint64_t>(count) <= key.count,
          "{}: needs {} random values, and the key holds {}: the ones after them are another key's", op, count,
          key.count);
}

RngKey Rng::take(const std::string& stream, int64_t count) {
  uint64_t& next = offsets_[stream];
  const uint64_t step = (static_cast<uint64_t>(count) + 3) / 4 * 4;
  require(count >= 0 && step <= ~next, "rng: {} values of stream '{}', which is at {}", count, stream, next);
  const auto found = bases_.find(stream);
  const Base base = found == bases_.end() ? Base{} : found->second;
  const auto found_lane = lanes_.find(stream);
  const std::pair name(stream, found_lane == lanes_.end() ? 0 : found_lane->second);
  const uint32_t number = hash_name(name.second == 0 ? stream : stream + "." + std::to_string(name.second));
  const auto& known = names_.try_emplace(number, name).first->second;
  require(known == name, "rng: streams '{}' and '{}' would have the same values: rename one", known.first, stream);
  const RngKey key{seed_, number, next - base.value, base.address, static_cast<uint64_t>(count)};
  next += step;
  return key;
}

uint64_t Rng::next(const std::string& stream) const {
  const auto found = offsets_.find(stream);
  return found == offsets_.end() ? 0 : found->second;
}

Tensor random_uniform(const Shape& shape, double low, double high, const RngKey& key, DType dtype) {
  require(low <= high && std::isfinite(high - low), "random_uniform: [{}, {}) is no range", low, high);
  return filled(random_uniform_op, shape, {{}, low, high, last_below(high, dtype), key}, dtype, context().device);
}

Tensor random_normal(const Shape& shape, double mean, double std, const RngKey& key, DType dtype) {
  require(std::isfinite(mean) && std::isfinite(std) && std >= 0,
          "random_normal: mean {} and std {} are not finite with std at least 0", mean, std);
  const Device device = key.base ? context().device : cpu;
  return filled(random_normal_op, shape, {{}, mean, std, 0, key}, dtype, device).to(context().device);
}

Tensor random_integers(const Shape& shape, int64_t low, int64_t high, const RngKey& key) {
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  require(low < high && range <= (uint64_t{1} << 32), "random_integers: [{}, {}) is empty or too wide", low, high);
  check_key("random_integers", key, shape.numel(), context().device);
  RandomIntegersCall call{Tensor::empty(shape, DType::i64, context().device), low, range, key};
  random_integers_op.check(call);
  if (call.y.numel() > 0) random_integers_op.run(call);
  return call.y;
}

}  // namespace headroom::engine
