// Every op of engine/ops.txt through the driver of autograd/op_suite: one test case per op, and one more on CUDA for
// the ops that have a kernel there. HEADROOM_ISA chooses the level of the CPU kernels.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "autograd/op_suite/driver.h"
#include "tests/support/catch.h"

namespace {

using namespace headroom;
using autograd::Check;
using autograd::OpEntry;

std::string ledger_path() { return testing::source_root() + "/tests/op_suite/ledger.txt"; }

/// "NAME SAMPLES REFUSALS", a line per op: deleting a sample is a change of two files, seen in review.
std::string ledger_line(const OpEntry& op) {
  const autograd::OpSamples samples = op.samples();
  return fmt::format("{} {} {}", op.name, samples.samples.size(), samples.refusals.size());
}

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
  const std::vector<Check> checks = autograd::check_op_on_cuda(op);
  const auto skipped = [](const Check& check) { return check.status == Check::Status::skip; };
  if (std::all_of(checks.begin(), checks.end(), skipped)) return testing::skip("no CUDA device");
  demand(checks);
}

void check_ledger() {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  std::string now;
  for (const OpEntry& op : autograd::op_registry()) now += ledger_line(op) + "\n";
  if (std::getenv("HEADROOM_UPDATE_LEDGER")) std::ofstream(ledger_path()) << now;
  std::stringstream kept;
  kept << std::ifstream(ledger_path()).rdbuf();
  INFO(
      "counts of samples and refusals differ from tests/op_suite/ledger.txt. Where that is meant, rewrite it with"
      " HEADROOM_UPDATE_LEDGER=1 build/tests/op-suite ledger");
  CHECK(kept.str() == now);
}

const bool registered = [] {
  for (const OpEntry& op : autograd::op_registry()) {
    testing::register_test(op.name, "[op]", [&op] { check_on_cpu(op); });
    if (!autograd::tables_of(op.name).empty())
      testing::register_test(op.name + " on CUDA", "[cuda]", [&op] { check_on_cuda(op); });
  }
  testing::register_test("ledger", "[ledger]", check_ledger);
  return true;
}();

}  // namespace
