#include <cstdio>

#include "autograd/op_suite/driver.h"

namespace headroom::autograd {
OpSamples softplus_samples();
}

/// Everything that is demanded of an op: see driver.h.
int main() {
  using headroom::autograd::Check;
  int passed = 0, failed = 0, skipped = 0;
  for (const Check& check : headroom::autograd::check_op({"softplus", headroom::autograd::softplus_samples})) {
    if (check.status == Check::Status::pass) ++passed;
    if (check.status == Check::Status::skip) ++skipped;
    if (check.status == Check::Status::fail) ++failed, std::puts(check.str().c_str());
  }
  std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  return failed > 0 || passed == 0;
}
