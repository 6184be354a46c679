// Every op of engine/ops.txt through the driver of autograd/op_suite: one test case per op, and one more on CUDA for
// the ops that have a kernel there. HEADROOM_ISA chooses the level of the CPU kernels.
#include "autograd/op_suite/driver.h"
#include "engine/transfer.h"
#include "tests/op_suite/registry.h"
#include "tests/support/catch.h"

namespace {

using namespace headroom;
using autograd::Check;
using autograd::OpEntry;

void demand(const std::vector<Check>& checks) {
  for (const Check& check : checks) {
    INFO(check.str());
    CHECK(check.status != Check::Status::fail);
  }
}

void check_on_cpu(const OpEntry& op) {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  demand(autograd::check_op(op));
}

void check_on_cuda(const OpEntry& op) {
  const engine::Device device{engine::Device::Kind::cuda, 0};
  if (!engine::has_device(device.kind)) return testing::skip("no CUDA device");
  if (!autograd::runs_on(op, device.kind)) return testing::skip("no CUDA kernel");
  demand(autograd::check_op(op, device));
}

const bool registered = [] {
  for (const OpEntry& op : autograd::op_registry()) {
    testing::register_test(op.name, "[op]", [&op] { check_on_cpu(op); });
    testing::register_test(op.name + " on CUDA", "[cuda][suite]", [&op] { check_on_cuda(op); });
  }
  return true;
}();

}  // namespace
