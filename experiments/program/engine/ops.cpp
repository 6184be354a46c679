#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/dispatch/op.h"
#include "engine/transfer.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/tools/new_op/new_op.h"

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
    if (tables.empty()) print_text("{:<{}}  a view, or made of other ops\n", op, width);
    for (const engine::OpBase* table : tables) {
      std::string name = table->name();
      for (const engine::ImplementationInfo& row : table->table()) {
        print_text("{:<{}}  {}\n", name, width, row_text(row));
        name.clear();
      }
    }
  }
}

}  // namespace

void add_ops_command(Command app) { app.command("ops", "list every op with its backends").action(list_ops); }

void add_new_op_command(Command app) {
  struct NewOpArguments {
    std::string name, folder;
    bool is_reduction = false;
  };
  const auto a = std::make_shared<NewOpArguments>();
  const Command command = app.command("new-op", "write the files of a new op outside the tree");
  command.option("name", a->name, "its name, snake_case").required();
  command.option("--dir", a->folder, "folder to make (default: ./NAME)");
  command.flag("--reduction", a->is_reduction,
               "an op that adds up each row, with a CUDA kernel, in place of an elementwise one");
  command.action([a] {
    const std::string folder = a->folder.empty() ? a->name : a->folder;
    for (const std::string& file : write_new_op(a->name, folder, a->is_reduction))
      print_text("wrote {}/{}\n", folder, file);
    const NewOpFormula& formula = new_op_formula(a->name);
    const std::string functor = fmt::format("{0}/engine/ops/{1}/{1}_functor.h", folder, a->name);
    if (a->is_reduction)
      print_text("{} computes y = {} until you put another function into the functor.\n", a->name, reduction_value);
    else if (formula.name.empty())
      print_text("No formula is known for {}: {} computes y = x until yours is put there.\n", a->name, functor);
    else print_text("{} computes y = {}.\n", functor, formula.value);
    print_text("docs/adding.md says how to build and test.\n");
  });
}

}  // namespace headroom::experiments
