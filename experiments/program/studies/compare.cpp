#include "experiments/studies/compare/comparison.h"

#include <unistd.h>

#include <memory>
#include <string>

#include "experiments/output/terminal_look.h"
#include "experiments/output/text.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"

namespace headroom::experiments {

void add_compare_command(Command app) {
  struct Arguments {
    std::string a, b, out = "runs", metric;
    bool is_json = false;
  };
  const Command command = app.command("compare", "set two runs side by side: settings that differ, metrics, B / A");
  const auto arguments = std::make_shared<Arguments>();
  command.option("A", arguments->a, "STUDY or STUDY/PROFILE under --out, a run's folder, or its store").required();
  command.option("B", arguments->b, "the other run").required();
  command.option("--out", arguments->out, "folder of stores and reports").show_default();
  command.option("--metric", arguments->metric, "test metric to compare (default: those of the reports)");
  command.flag("--json", arguments->is_json, "one JSON object");
  command.action([arguments] {
    const Comparison comparison =
        compare_runs(find_run(arguments->a, arguments->out), find_run(arguments->b, arguments->out), arguments->metric);
    write_output(arguments->is_json
                     ? comparison_json(comparison).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
                     : clean(comparison_text(comparison, static_cast<size_t>(look_of(STDOUT_FILENO).columns))));
  });
}

}  // namespace headroom::experiments
