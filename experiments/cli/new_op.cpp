#include <fmt/core.h>

#include <memory>

#include "experiments/cli/commands.h"
#include "experiments/new_op/new_op.h"

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
    fmt::print(
        "The formula in {0}/{1}.h is softplus's: put yours there. docs/adding-an-op.md says how to build and test.\n",
        folder, arguments->name);
  });
}

}  // namespace headroom::experiments
