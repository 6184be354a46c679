#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/dispatch/op.h"
#include "engine/transfer.h"
#include "experiments/program/command_line/commands.h"

namespace headroom::experiments {
namespace {

/// "simd f32 (portable, avx2, avx512)", "loops f64, reference", "cublasLt f32, f64 on cuda".
std::string row_text(const engine::ImplementationInfo& row) {
  return fmt::format("{} {}{}{}{}{}", row.name, row.dtypes, row.levels.empty() ? "" : " (" + row.levels + ")",
                     row.device == "cpu" ? "" : " on " + row.device, row.is_reference ? ", reference" : "",
                     row.is_partial ? ", where it fits" : "");
}

void list_ops() {
  engine::cuda_status();  // adds the device's rows to the tables
  size_t width = 0;
  for (const std::string& op : engine::op_names()) width = std::max(width, op.size() + std::string("_grad").size());
  for (const std::string& op : engine::op_names()) {
    const std::vector<const engine::OpBase*> tables = engine::tables_of(op);
    if (tables.empty()) fmt::print("{:<{}}  a view, or made of other ops\n", op, width);
    for (const engine::OpBase* table : tables) {
      std::string name = table->name();
      for (const engine::ImplementationInfo& row : table->table()) {
        fmt::print("{:<{}}  {}\n", name, width, row_text(row));
        name.clear();
      }
    }
  }
}

}  // namespace

void add_ops_command(Command app) { app.command("ops", "list every op with its backends").action(list_ops); }

}  // namespace headroom::experiments
