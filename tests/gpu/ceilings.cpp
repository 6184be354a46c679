// What a GPU reaches at best: copies, products, and many small kernels in one graph. One line of JSON each, which
// tests/gpu/run_all.py reads and predict.py's rates are compared with. HEADROOM_CEILING_SIZE: rows and columns of the
// matrices. Hidden from whoever runs all tests, as nothing here can be right or wrong.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "engine/context.h"
#include "engine/device_stream.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/recording.h"
#include "engine/rng.h"
#include "engine/transfer.h"
#include "tests/support/catch.h"

namespace {

using namespace headroom;
using engine::DType;
using engine::Tensor;

constexpr engine::Device cuda{engine::Device::Kind::cuda, 0};

/// The least of 20 times, in seconds, after three that are not counted.
double least_seconds(const std::function<void()>& f) {
  const engine::DeviceTimes& times = engine::backend_of(cuda).times;
  void* const stream = engine::context().stream;
  double least = INFINITY;
  for (int i = 0; i < 23; ++i) {
    void* const begin = times.mark(stream);
    f();
    void* const end = times.mark(stream);
    engine::synchronize(cuda);
    if (i >= 3) least = std::min(least, 1e-6 * times.microseconds(begin, end));
    times.forget(begin);
    times.forget(end);
  }
  return least;
}

void say(const std::string& what, double value, const char* unit, int64_t bytes = 0) {
  const std::string more = bytes > 0 ? fmt::format(", \"bytes\": {}", bytes) : "";
  fmt::print("{{\"ceiling\": \"{}\", \"value\": {:.4g}, \"unit\": \"{}\"{}}}\n", what, value, unit, more);
}

}  // namespace

TEST_CASE("ceilings", "[.][ceilings]") {
  if (!engine::has_device(engine::Device::Kind::cuda)) return testing::skip("no CUDA device");
  const char* const given = std::getenv("HEADROOM_CEILING_SIZE");
  const int64_t n = given ? std::atoll(given) : 8192;
  const engine::DeviceStream stream(cuda);
  const engine::StreamScope on_stream(stream.handle());
  const auto matrix = [&](DType dtype) {
    return engine::random_uniform({n, n}, -1, 1, engine::RngKey{1, 0}).to(cuda).to(dtype);  // (n, n)
  };
  const double numbers = static_cast<double>(n) * static_cast<double>(n);
  {
    const Tensor from = matrix(DType::f32), to = Tensor::empty({n, n}, DType::f32, cuda);
    say("copy", 8 * numbers / least_seconds([&] { engine::copy_inplace(to, from); }) * 1e-9, "GB/s");
    say("a + b", 12 * numbers / least_seconds([&] { engine::add(from, to); }) * 1e-9, "GB/s");
  }
  for (const DType dtype : {DType::bf16, DType::f32}) {
    const Tensor a = matrix(dtype), b = matrix(dtype);
    const double seconds = least_seconds([&] { engine::matmul(a, b); });
    say(fmt::format("product {}", engine::name_of(dtype)), 2 * numbers * static_cast<double>(n) / seconds * 1e-12,
        "TFLOP/s");
  }
  // What one kernel takes after another in a step: within a graph, on what the last ones left in the cache.
  constexpr int kernels = 256;
  const auto microseconds = [&](int64_t count, DType dtype) {
    engine::Recorder recorder(cuda);
    const Tensor one = Tensor::full({count}, 1.0).to(cuda).to(dtype);  // (count)
    const auto chain = [&] {
      Tensor x = one;
      for (int i = 0; i < kernels; ++i) x = engine::add(x, one);
    };
    for (int i = 0; i < 3; ++i) recorder.run(chain);
    return least_seconds([&] { recorder.run(chain); }) / kernels * 1e6;
  };
  say("small kernel in a graph", microseconds(1024, DType::f32), "us");
  for (const DType dtype : {DType::bf16, DType::f32})
    for (int64_t kilobytes = 4; kilobytes <= std::min<int64_t>(65536, n * n / 64); kilobytes *= 4) {
      const int64_t bytes = 1000 * std::min<int64_t>(kilobytes, 50000);
      say(fmt::format("kernel of {} KB, {}", bytes / 1000, engine::name_of(dtype)),
          microseconds(bytes / (3 * engine::size_of(dtype)), dtype), "us", bytes);
    }
}
