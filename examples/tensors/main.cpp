// Tensors alone: fits a line through noisy points, looks at the singular values of the problem, and shows an error.
#include <cstdio>
#include <vector>

#include "headroom/engine/context.h"
#include "headroom/engine/linalg/least_squares.h"
#include "headroom/engine/linalg/svd.h"
#include "headroom/engine/ops/elementwise/binary.h"
#include "headroom/engine/ops/matmul/matmul.h"
#include "headroom/engine/rng.h"

using namespace headroom::engine;

int main() {
  const ThreadScope two_threads(2);  // this thread's loops; the results' bits are the same with any number
  Rng rng(0);
  const int64_t n = 1000;
  const Tensor x = random_uniform({n, 2}, rng, "data", -1, 1, DType::f64);        // (n, 2)
  const Tensor truth = Tensor::from<double>({2, 1}, {3, -0.5});                   // (2, 1)
  const Tensor noise = random_normal({n, 1}, rng, "noise", 0, 0.01, DType::f64);  // (n, 1)
  const Tensor fit = linalg::least_squares(x, add(matmul(x, truth), noise));      // (2, 1)
  const std::vector<double> w = fit.to_vector<double>(), s = linalg::singular_values(x).to_vector<double>();
  std::printf("w = %.3f, %.3f; singular values %.1f, %.1f\n", w[0], w[1], s[0], s[1]);

  const std::vector<float> mine{1, 2, 3, 4};  // memory of the caller, seen but not copied: it must outlive the tensor
  const Tensor view = Tensor::over(mine.data(), nullptr, {2, 2}, DType::f32).transpose(0, 1);  // (2, 2)
  std::printf("%s, first row %.0f %.0f\n", view.str().c_str(), view.to_vector<float>()[0], view.to_vector<float>()[1]);
  try {
    matmul(x, x);
  } catch (const headroom::Error& error) {  // the one exception of every layer
    std::printf("%s\n", error.what());
  }
}
