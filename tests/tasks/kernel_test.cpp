#include "tasks/kernel.h"

#include <cmath>
#include <limits>

#include "engine/error.h"
#include "tasks/linear_functional.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::tasks;

TEST_CASE("kernels by their formulas") {
  CHECK(kernel_values({.kind = "n-gram", .n = 3}, 5) == std::vector<double>{1, 1, 1});
  CHECK(kernel_values({.kind = "n-gram", .n = 9}, 2) == std::vector<double>{1, 1});
  const std::vector<double> exponential = kernel_values({.kind = "exponential", .alpha = 0.2}, 3);
  const std::vector<double> polynomial = kernel_values({.kind = "polynomial", .alpha = 1.5}, 3);
  REQUIRE(exponential.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    const double s = static_cast<double>(i) + 1;
    CHECK(exponential[i] == Approx(std::exp(-0.2 * s)));
    CHECK(polynomial[i] == Approx(std::pow(1 + s, -1.5)));
  }
  CHECK(kernel_values({.kind = "delta", .alpha = 3}, 9) == std::vector<double>{0, 0, 1});
  CHECK(kernel_values({.kind = "list", .values = {2, 0, -1, 0}}, 9) == std::vector<double>{2, 0, -1});
  CHECK(kernel_values({.kind = "list", .values = {2, 0, -1}}, 2) == std::vector<double>{2});
}

TEST_CASE("Airy's function, at arguments tabled by Abramowitz and Stegun") {
  const std::vector<double> rho = kernel_values({.kind = "airy", .alpha = 3}, 5);
  REQUIRE(rho.size() == 5);
  CHECK(rho[0] == Approx(0.22740742820168557));  // Ai(-2)
  CHECK(rho[1] == Approx(0.53556088329235));     // Ai(-1)
  CHECK(rho[2] == Approx(0.35502805388781724));  // Ai(0)
  CHECK(rho[3] == Approx(0.13529241631288141));  // Ai(1)
  CHECK(rho[4] == Approx(0.03492413042327438));  // Ai(2)
}

TEST_CASE("the target is the convolution with the kernel") {
  const LinearFunctional task({.kernel = {.kind = "list", .values = {2, 0, -1}}, .token_dim = 1, .length = 5});
  const Tensor x = Tensor::from<float>({1, 5, 1}, {1, 10, 100, 1000, 10000});
  CHECK(task.target(x).to_vector<float>() == std::vector<float>{0, 2, 20, 199, 1990});
  const LinearFunctional delta({.kernel = {.kind = "delta", .alpha = 2}, .token_dim = 1, .length = 5});
  CHECK(delta.target(x).to_vector<float>() == std::vector<float>{0, 0, 1, 10, 100});
}

TEST_CASE("kernels out of range are refused") {
  CHECK_THROWS_WITH(kernel_values({.kind = "exponential", .alpha = 0}, 4),
                    "kernel.alpha: a kernel that does not decay, expected > 0, got 0");
  CHECK_THROWS_WITH(kernel_values({.kind = "delta", .alpha = 1.5}, 4),
                    "kernel.alpha: the lag of a delta, expected an integer >= 1, got 1.5");
  CHECK_THROWS_WITH(kernel_values({.kind = "list"}, 4), "kernel.values: empty, expected rho(1), rho(2), ...");
  CHECK_THROWS_WITH(kernel_values({.kind = "airy", .alpha = std::numeric_limits<double>::infinity()}, 4),
                    "kernel.alpha: inf is not finite");
  CHECK_THROWS_WITH(kernel_values({.kind = "list", .values = {1, std::nan("")}}, 4), "kernel: rho(2) is nan");
}

TEST_CASE("a lag's projection is one, of its rank, and not another lag's") {
  const KernelConfig kernel{.n = 3, .ranks = {8, 3, 3}};
  const auto values = [&](int64_t lag) { return lag_projection(kernel, lag, 8).to_vector<double>(); };
  for (const int64_t lag : {1, 2, 3}) {
    const std::vector<double> p = values(lag);
    double trace = 0;
    for (size_t i = 0; i < 8; ++i) {
      trace += p[i * 9];
      for (size_t j = 0; j < 8; ++j) {
        double square = 0;
        for (size_t k = 0; k < 8; ++k) square += p[i * 8 + k] * p[k * 8 + j];
        CHECK(square == Approx(p[i * 8 + j]).margin(1e-12));
        CHECK(p[i * 8 + j] == Approx(p[j * 8 + i]).margin(1e-12));
      }
    }
    CHECK(trace == Approx(kernel.ranks[static_cast<size_t>(lag - 1)]));
  }
  CHECK(values(2) != values(3));
  CHECK(lag_projection({.n = 3, .ranks = {8, 3}, .rank_seed = 1}, 2, 8).to_vector<double>() != values(2));
  CHECK_FALSE(lag_projection(kernel, 4, 8).defined());
  CHECK(describe(kernel) == "3-gram of ranks 8 3 3");
  CHECK_THROWS_WITH(validate({.ranks = {0}}), "kernel.ranks: expected ranks >= 1, got 0");
}
