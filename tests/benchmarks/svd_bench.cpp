// svd-bench [THREADS [SECONDS [NAME]]]: both singular value decompositions and eigh in f64, at the shapes that are
// compared with LAPACK. One JSON line per shape and method: the best time in milliseconds, with one thread that of the
// processor, which neighbours on the machine lengthen less, with several the wall's.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/linalg/eigh.h"
#include "engine/linalg/svd.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/parallel.h"
#include "engine/rng.h"

namespace {

using namespace headroom::engine;
using linalg::SvdMethod;

double milliseconds(bool of_processor) {
  if (of_processor) return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class F>
void time_case(const std::string& name, const char* method, double seconds, const F& f) {
  double best = std::numeric_limits<double>::infinity();
  const bool of_processor = num_threads() == 1;
  const double start = milliseconds(false);
  for (int step = 0; step < 2 || milliseconds(false) - start < 1e3 * seconds; ++step) {
    const double before = milliseconds(of_processor);
    f();
    best = std::min(best, milliseconds(of_processor) - before);
  }
  fmt::print("{{\"name\": \"{}\", \"method\": \"{}\", \"ms\": {:.3f}}}\n", name, method, best);
}

void time_shape(const std::string& name, const Shape& shape, double seconds) {
  const Tensor a = random_normal(shape, 0, 1, {.seed = 1}, DType::f64);
  time_case(name, "fast", seconds, [&] { linalg::svd(a, SvdMethod::fast); });
  time_case(name, "accurate", seconds, [&] { linalg::svd(a, SvdMethod::accurate); });
  if (shape.rank() != 2 || shape[0] != shape[1]) return;
  const Tensor symmetric = matmul(a, a, true, false);
  time_case(name, "eigh", seconds, [&] { linalg::eigh(symmetric); });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const ThreadScope threads(argc > 1 ? std::atoi(argv[1]) : num_threads());
    const double seconds = argc > 2 ? std::atof(argv[2]) : 1.0;
    const std::string only = argc > 3 ? argv[3] : "";
    for (const Shape& shape : {Shape{1000, 64, 64},
                               {256, 256},
                               {512, 512},
                               {576, 576},
                               {1000, 1000},
                               {1024, 1024},
                               {1024, 256},
                               {2048, 128}}) {
      const std::string name = shape.rank() == 3 ? "64x64 x1000" : fmt::format("{}x{}", shape[0], shape[1]);
      if (only.empty() || only == name) time_shape(name, shape, seconds);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "svd-bench: {}\n", error.what());
    return 1;
  }
}
