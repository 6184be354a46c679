#include <fmt/core.h>

#include <memory>

#include "experiments/program/command_line/commands.h"
#include "experiments/tools/new_op/formulas.h"
#include "experiments/tools/new_op/new_op.h"

namespace headroom::experiments {

void add_new_op_command(Command app) {
  struct NewOpArguments {
    std::string name, folder;
  };
  const auto arguments = std::make_shared<NewOpArguments>();
  const Command command = app.command("new-op", "write the files of a new op outside the tree");
  command.option("name", arguments->name, "its name, snake_case").required();
  command.option("--dir", arguments->folder, "folder to make (default: ./NAME)");
  command.action([arguments] {
    const std::string folder = arguments->folder.empty() ? arguments->name : arguments->folder;
    for (const std::string& file : write_new_op(arguments->name, folder)) fmt::print("wrote {}/{}\n", folder, file);
    const NewOpFormula& formula = new_op_formula(arguments->name);
    const std::string functor = fmt::format("{0}/engine/ops/{1}/{1}_functor.h", folder, arguments->name);
    if (formula.name.empty())
      fmt::print("No formula is known for {}: {} computes y = x until yours is put there.\n", arguments->name, functor);
    else fmt::print("{} computes y = {}.\n", functor, formula.value);
    fmt::print("docs/adding-an-op.md says how to build and test.\n");
  });
}

}  // namespace headroom::experiments
