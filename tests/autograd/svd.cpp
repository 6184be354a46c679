// The singular value decomposition on the tape.
#include "autograd/linalg/svd.h"

#include "autograd/gradcheck.h"
#include "autograd/ops.h"
#include "tests/engine/linalg/matrices.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

using namespace headroom::autograd;
using headroom::engine::Rng;
using headroom::testing::contains;
using headroom::testing::error_of;
using headroom::testing::random_matrix;

TEST_CASE("gradients of svd agree with differences, for each factor and both methods") {
  using headroom::engine::linalg::SvdMethod;
  for (const SvdMethod method : {SvdMethod::accurate, SvdMethod::fast}) {
    for (const Shape& shape : {Shape{4, 4}, {6, 3}, {3, 6}, {2, 5, 3}, {1, 4}}) {
      const Var a(random_matrix(shape, 21), true);
      CAPTURE(shape.str());
      const auto check = [&](auto f) {
        const GradcheckResult result = gradcheck([&](const std::vector<Var>& in) { return f(svd(in[0], method)); }, {a},
                                                 Rng(3).take("cotangent", 64));
        INFO(result.message);
        CHECK(result.ok);
      };
      check([](const SvdVars& f) { return f.u; });
      check([](const SvdVars& f) { return f.s; });
      check([](const SvdVars& f) { return f.vt; });
      // A polynomial in a through all three: u·s³·vᵀ.
      check([](const SvdVars& f) {
        Shape row = f.s.shape();
        row[-1] = 1;
        row.push_back(f.s.dim(-1));
        return matmul(f.u * reshape(f.s * f.s * f.s, row), f.vt);
      });
    }
  }
}

TEST_CASE("where singular values are equal or zero, the error names them") {
  const Var equal(Tensor::from<double>({2, 2}, {2, 0, 0, 2}), true);
  CHECK_THAT(error_of([&] { sum(svd(equal).u).backward(); }),
             contains("singular values 0 and 1 are 2 and 2, not distinct"));
  sum(svd(equal).s).backward();
  CHECK(headroom::testing::distance(equal.grad(), Tensor::from<double>({2, 2}, {1, 0, 0, 1})) < 1e-14);
  const Var low(Tensor::from<double>({3, 2}, {1, 0, 0, 0, 0, 0}), true);
  CHECK_THAT(error_of([&] { sum(svd(low).vt).backward(); }), contains("singular value 1 is 0"));
}
