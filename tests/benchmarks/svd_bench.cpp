// svd-bench [THREADS [SECONDS]]: both singular value decompositions in f64 at the shapes that are compared with LAPACK.
// One JSON line per shape and method: the best time in milliseconds.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/linalg/svd.h"
#include "engine/parallel.h"
#include "engine/rng.h"

namespace {

using namespace headroom::engine;
using linalg::SvdMethod;

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void time_case(const char* name, const Shape& shape, SvdMethod method, double seconds) {
  const Tensor a = random_normal(shape, 0, 1, {.seed = 1}, DType::f64);
  double best = std::numeric_limits<double>::infinity();
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < 2 || milliseconds_since(start) < 1e3 * seconds; ++step) {
    const auto before = std::chrono::steady_clock::now();
    linalg::svd(a, method);
    best = std::min(best, milliseconds_since(before));
  }
  fmt::print("{{\"name\": \"{}\", \"method\": \"{}\", \"ms\": {:.3f}}}\n", name,
             method == SvdMethod::fast ? "fast" : "accurate", best);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const ThreadScope threads(argc > 1 ? std::atoi(argv[1]) : num_threads());
    const double seconds = argc > 2 ? std::atof(argv[2]) : 1.0;
    for (const SvdMethod method : {SvdMethod::fast, SvdMethod::accurate}) {
      time_case("64x64 x1000", {1000, 64, 64}, method, seconds);
      time_case("576x576", {576, 576}, method, seconds);
      time_case("2048x128", {2048, 128}, method, seconds);
      time_case("1024x1024", {1024, 1024}, method, seconds);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "svd-bench: {}\n", error.what());
    return 1;
  }
}
