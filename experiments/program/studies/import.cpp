#include <fmt/core.h>

#include <memory>

#include "experiments/program/command_line/commands.h"
#include "experiments/studies/export/publish.h"

namespace headroom::experiments {

void add_import_command(Command app) {
  struct Arguments {
    std::vector<std::string> paths;
    std::string out = "runs";
  };
  const Command command = app.command("import", "put trials that export trials wrote into run stores");
  const auto arguments = std::make_shared<Arguments>();
  command.option("FILE", arguments->paths, "files STUDY/PROFILE.jsonl.gz, or folders that hold some").required();
  command.option("--out", arguments->out, "folder of the run stores").show_default();
  command.action([arguments] {
    for (const Published& one : import_trials(arguments->paths, arguments->out))
      fmt::print("{}: {} {} added, {} {} there\n", one.run, one.trials, one.trials == 1 ? "trial" : "trials", one.there,
                 one.there == 1 ? "was" : "were");
  });
}

}  // namespace headroom::experiments
