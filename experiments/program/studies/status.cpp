#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/error.h"
#include "experiments/output/text.h"
#include "experiments/output/units.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/studies/status_text.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/toml/complaints.h"

namespace headroom::experiments {
namespace {

struct StatusArguments {
  std::vector<std::string> studies;
  std::string out = "runs";
  bool is_json = false, watches = false;
  double every = 2;
};

std::string lease_line(const Lease& lease) {
  const double silence = std::max(0.0, wall_clock() - lease.heartbeat);
  return fmt::format(
      "  {}{}{}   process {}, {}\n", lease.label,
      lease.steps > 0 ? fmt::format("   step {}/{}", lease.step, lease.steps) : "",
      std::isfinite(lease.loss) ? fmt::format("   loss {:.4g}", lease.loss) : "", lease.owner.pid,
      is_alive(lease) ? fmt::format("seen {:.0f} s ago", silence) : "gone: the next run goes on from here");
}

std::string name_text(const RunStatus& status) { return status.run.study + " · " + status.run.profile; }

std::string counts_text(const RunState& s) {
  return fmt::format("{} of {} trials finished, {} failed, {} running, {} to do{}", s.finished, s.planned(), s.failed,
                     s.running, s.to_do(), s.round == 1 ? "" : fmt::format(", round {}", s.round));
}

std::string left_text(const RunState& s) {
  if (s.seconds_left) return fmt::format("about {} left", seconds_text(*s.seconds_left));
  if (s.is_complete()) return "complete";
  return s.running > 0 ? "time left not known yet" : "nobody is training it";
}

void show(const StatusArguments& arguments) {
  std::vector<std::string> problems;  // a damaged store hides no other
  for (const StoredRun& run : runs_of(arguments.studies, arguments.out)) {
    try {
      const RunStatus status = read_status(run);
      if (!arguments.is_json) fmt::print("{}\n{}", status_line(status), status_details(status));
      else print_json(status_json(status));
    } catch (const Error& error) {
      problems.emplace_back(error.what());
    }
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

}  // namespace

std::vector<StoredRun> runs_of(const std::vector<std::string>& studies, const std::string& out) {
  std::set<std::string> ids;
  for (const std::string& study : studies)
    ids.insert(std::filesystem::path(study).extension() == ".toml" ? load_study(study).head.id : study);
  std::vector<StoredRun> runs = stored_runs(out);
  if (!ids.empty()) std::erase_if(runs, [&](const StoredRun& run) { return !ids.count(run.study); });
  require(!runs.empty(), "{}: there is no run store{}", out,
          ids.empty() ? "" : fmt::format(" of {}", fmt::join(ids, ", ")));
  return runs;
}

RunStatus read_status(const StoredRun& run) {
  const RunStore store(run.store(), RunStore::Access::read);
  return {run, read_run_state(store), store.leases()};
}

std::string status_line(const RunStatus& status) {
  return name_text(status) + "   " + counts_text(status.state) +
         (status.state.seconds_left ? " · " + left_text(status.state) : "");
}

std::string status_heading(const RunStatus& status) {
  return fmt::format("{}   {}\n  {}\n", name_text(status), left_text(status.state), counts_text(status.state));
}

std::string status_details(const RunStatus& status) {
  std::string text;
  if (!status.state.tags.empty())
    text += fmt::format("  tags: {}\n", clean(fmt::format("{}", fmt::join(status.state.tags, ", "))));
  for (const Note& note : status.state.notes) {
    const std::string words = clean(note.text);
    text += fmt::format("  note of {}: {}{}\n", note.at.substr(0, 10), words.substr(0, words.find('\n')),
                        words.find('\n') == std::string::npos ? "" : " …");
  }
  for (const Lease& lease : status.leases) text += lease_line(lease);
  return text;
}

nlohmann::json status_json(const RunStatus& status) {
  const RunState& s = status.state;
  nlohmann::json leases = nlohmann::json::array(), notes = nlohmann::json::array();
  for (const Lease& lease : status.leases)
    leases.push_back({{"trial", lease.trial},
                      {"label", lease.label},
                      {"step", lease.step},
                      {"steps", lease.steps},
                      {"loss", lease.loss},
                      {"process", lease.owner.pid},
                      {"alive", is_alive(lease)}});
  for (const Note& note : s.notes) notes.push_back({{"at", note.at}, {"text", note.text}});
  nlohmann::json json = {{"study", status.run.study},
                         {"profile", status.run.profile},
                         {"trials", s.planned()},
                         {"finished", s.finished},
                         {"failed", s.failed},
                         {"running", s.running},
                         {"remaining", s.to_do()},
                         {"round", s.round},
                         {"tags", s.tags},
                         {"notes", notes},
                         {"leases", leases}};
  if (s.seconds_left) json["seconds_left"] = *s.seconds_left;
  return json;
}

void add_status_command(Command app) {
  const Command command = app.command("status", "say what is finished, running and left, also while a run goes on");
  const auto arguments = std::make_shared<StatusArguments>();
  command.option("STUDY", arguments->studies, "ids or files of studies (default: all)");
  command.option("--out", arguments->out, "folder of stores and reports").show_default();
  const Option json = command.flag("--json", arguments->is_json, "one JSON object per store");
  command.flag("--watch", arguments->watches, "show it again and again until the runs have ended").excludes(json);
  command.option("--every", arguments->every, "seconds between two looks").show_default().range(0.1, 3600.0);
  command.action([arguments] {
    if (!arguments->watches) return show(*arguments);
    if (const int status = watch_runs(arguments->studies, arguments->out, arguments->every); status != 0)
      throw Exit{status};
  });
}

}  // namespace headroom::experiments
