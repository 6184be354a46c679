#include "engine/rng.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

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

/// Calls f(i, four words) for every group of four elements; parallel, order-free.
template <class F>
void for_each_block(int64_t n, const RngKey& key, F&& f) {
  const uint64_t first = key.first();
  require(first % 4 == 0, "rng: offset {} is not a multiple of four", first);
  parallel_ranges((n + 3) / 4, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(4 * i, random_words(key, first / 4 + static_cast<uint64_t>(i)));
  });
}

template <class F>
Tensor filled(const char* op, const Shape& shape, DType dtype, const RngKey& key, F&& values) {
  require(dtype == DType::f32 || dtype == DType::f64, "{}: dtype {} is not f32 or f64", op, name_of(dtype));
  Tensor out = Tensor::empty(shape, dtype);
  const int64_t n = out.numel();
  void* data = out.mutable_raw();
  for_each_block(n, key, [&](int64_t i, const std::array<uint32_t, 4>& words) {
    const std::array<double, 4> four = values(words);
    for (int64_t j = 0; j < 4 && i + j < n; ++j) {
      if (dtype == DType::f32) static_cast<float*>(data)[i + j] = static_cast<float>(four[static_cast<size_t>(j)]);
      else static_cast<double*>(data)[i + j] = four[static_cast<size_t>(j)];
    }
  });
  return out.to(context().device);
}

}  // namespace

RngKey Rng::take(const std::string& stream, int64_t count) {
  require(count >= 0, "rng: {} values of stream '{}'", count, stream);
  uint64_t& next = offsets_[stream];
  const auto found = bases_.find(stream);
  const Base base = found == bases_.end() ? Base{} : found->second;
  const RngKey key{seed_, hash_name(stream), next - base.value, base.address};
  next += (static_cast<uint64_t>(count) + 3) / 4 * 4;
  return key;
}

uint64_t Rng::next(const std::string& stream) const {
  const auto found = offsets_.find(stream);
  return found == offsets_.end() ? 0 : found->second;
}

Tensor random_uniform(const Shape& shape, double low, double high, const RngKey& key, DType dtype) {
  require(low <= high && std::isfinite(high - low), "random_uniform: [{}, {}) is no range", low, high);
  const double last = last_below(high, dtype);
  return filled("random_uniform", shape, dtype, key, [&](const std::array<uint32_t, 4>& words) {
    std::array<double, 4> values{};
    for (size_t j = 0; j < 4; ++j) {
      const double unit = dtype == DType::f32 ? (words[j] >> 8) * 0x1p-24 : words[j] * 0x1p-32;
      values[j] = std::max(low, std::min(low + (high - low) * unit, last));
    }
    return values;
  });
}

Tensor random_normal(const Shape& shape, double mean, double std, const RngKey& key, DType dtype) {
  require(std::isfinite(mean) && std::isfinite(std) && std >= 0,
          "random_normal: mean {} and std {} are not finite with std at least 0", mean, std);
  return filled("random_normal", shape, dtype, key, [&](const std::array<uint32_t, 4>& words) {
    std::array<double, 4> values{};
    for (size_t j = 0; j < 4; j += 2) {
      const double radius = std * std::sqrt(-2 * std::log(open_unit(words[j])));
      const double angle = 2 * std::numbers::pi * open_unit(words[j + 1]);
      values[j] = mean + radius * std::cos(angle);
      values[j + 1] = mean + radius * std::sin(angle);
    }
    return values;
  });
}

Tensor random_integers(const Shape& shape, int64_t low, int64_t high, const RngKey& key) {
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  require(low < high && range <= (uint64_t{1} << 32), "random_integers: [{}, {}) is empty or too wide", low, high);
  Tensor out = Tensor::empty(shape, DType::i64);
  const int64_t n = out.numel();
  auto* data = out.mutable_data<int64_t>();
  for_each_block(n, key, [&](int64_t i, const std::array<uint32_t, 4>& words) {
    for (int64_t j = 0; j < 4 && i + j < n; ++j)
      data[i + j] = low + static_cast<int64_t>((words[static_cast<size_t>(j)] * range) >> 32);
  });
  return out.to(context().device);
}

}  // namespace headroom::engine
