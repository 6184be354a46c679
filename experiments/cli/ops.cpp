#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "autograd/op_suite/registry.h"
#include "engine/isa.h"
#include "experiments/cli/commands.h"

namespace headroom::experiments {
namespace {

void list_ops() {
  const auto& ops = autograd::op_registry();
  size_t width = 0;
  for (const autograd::OpEntry& op : ops) width = std::max(width, op.name.size());
  for (const autograd::OpEntry& op : ops) {
    std::vector<std::string> backends{"reference"};
    if (op.has_kernels) {
      for (const engine::Isa isa : {engine::Isa::portable, engine::Isa::avx2, engine::Isa::avx512})
        backends.emplace_back(engine::name_of(isa));
    }
    if (op.samples().cuda) backends.emplace_back("cuda");
    fmt::print("{:<{}}  {}\n", op.name, width, fmt::join(backends, ", "));
  }
}

}  // namespace

void add_ops_command(Command app) { app.command("ops", "list every op with its backends").action(list_ops); }

}  // namespace headroom::experiments
