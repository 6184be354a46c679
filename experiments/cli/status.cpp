#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "engine/error.h"
#include "experiments/cli/commands.h"
#include "experiments/config/study.h"
#include "experiments/run/store.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

struct StatusArguments {
  std::vector<std::string> studies;
  std::string out = "runs";
  bool is_json = false;
};

/// Trials of a store's plan, by what became of them.
struct Counts {
  int64_t planned = 0, finished = 0, failed = 0, running = 0;
  int64_t remaining() const { return std::max<int64_t>(0, planned - finished - failed - running); }
};

/// OUT/STUDY/PROFILE/store.sqlite, in the order of their names.
std::vector<fs::path> stores_under(const fs::path& out) {
  std::vector<fs::path> stores;
  std::error_code error;
  for (const auto& study : fs::directory_iterator(out, error)) {
    for (const auto& profile : fs::directory_iterator(study.path(), error))
      if (fs::exists(profile.path() / "store.sqlite")) stores.push_back(profile.path() / "store.sqlite");
  }
  std::sort(stores.begin(), stores.end());
  return stores;
}

/// Ids: of the file for "….toml", else the argument itself.
std::set<std::string> ids_of(const std::vector<std::string>& studies) {
  std::set<std::string> ids;
  for (const std::string& study : studies)
    ids.insert(fs::path(study).extension() == ".toml" ? load_study(study).head.id : study);
  return ids;
}

Counts count(const RunStore& store, const std::vector<Lease>& leases) {
  Counts counts;
  std::set<std::string> seen, held;
  for (const Lease& lease : leases)
    if (is_alive(lease)) held.insert(lease.trial);
  const auto all = store.known();
  for (const PlanEntry& entry : store.plan()) {
    if (!seen.insert(entry.trial).second) continue;
    ++counts.planned;
    const auto found = all.find(entry.trial);
    const RunStore::Known known = found == all.end() ? RunStore::Known{} : found->second;
    if (known.is_finished) ++counts.finished;
    else if (held.count(entry.trial)) ++counts.running;
    else if (known.attempts > 0) ++counts.failed;
  }
  return counts;
}

void show_store(const fs::path& path, bool is_json) {
  const std::string profile = path.parent_path().filename().string();
  const std::string id = path.parent_path().parent_path().filename().string();
  const RunStore store(path, RunStore::Access::read);
  const std::vector<Lease> leases = store.leases();
  const Counts n = count(store, leases);
  const std::map<std::string, std::string> facts = store.study();
  const auto found = facts.find("round");  // stores of earlier versions have none
  const std::string round = found == facts.end() ? "1" : found->second;
  nlohmann::json running = nlohmann::json::array();
  std::string lines;
  for (const Lease& lease : leases) {
    const bool alive = is_alive(lease);
    const double silence = std::max(0.0, wall_clock() - lease.heartbeat);
    const std::string loss = std::isfinite(lease.loss) ? fmt::format("   loss {:.4g}", lease.loss) : "";
    lines +=
        fmt::format("  {}{}{}   process {}, {}\n", lease.label,
                    lease.steps > 0 ? fmt::format("   step {}/{}", lease.step, lease.steps) : "", loss, lease.owner.pid,
                    alive ? fmt::format("heard of {:.0f} s ago", silence) : "gone: the next run goes on from here");
    running.push_back({{"trial", lease.trial},
                       {"label", lease.label},
                       {"step", lease.step},
                       {"steps", lease.steps},
                       {"loss", lease.loss},
                       {"process", lease.owner.pid},
                       {"alive", alive}});
  }
  if (is_json) {
    const nlohmann::json status{
        {"study", id},        {"profile", profile},   {"trials", n.planned},        {"finished", n.finished},
        {"failed", n.failed}, {"running", n.running}, {"remaining", n.remaining()}, {"round", std::stoi(round)},
        {"leases", running}};
    fmt::print("{}\n", status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{} · {}   {} of {} trials finished, {} failed, {} running, {} to do{}\n{}", id, profile, n.finished,
               n.planned, n.failed, n.running, n.remaining(), round == "1" ? "" : ", round " + round, lines);
  }
}

void show(const StatusArguments& arguments) {
  const std::set<std::string> ids = ids_of(arguments.studies);
  bool has_any = false;
  std::vector<std::string> problems;  // a damaged store hides no other
  for (const fs::path& path : stores_under(arguments.out)) {
    if (!ids.empty() && !ids.count(path.parent_path().parent_path().filename().string())) continue;
    has_any = true;
    try {
      show_store(path, arguments.is_json);
    } catch (const Error& error) {
      problems.emplace_back(error.what());
    }
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
  require(has_any, "{}: there is no run store{}", arguments.out,
          ids.empty() ? "" : fmt::format(" of {}", fmt::join(ids, ", ")));
}

}  // namespace

void add_status_command(Command app) {
  const Command command = app.command("status", "say what is finished, running and left, also while a run goes on");
  const auto arguments = std::make_shared<StatusArguments>();
  command.option("STUDY", arguments->studies, "ids or files of studies (default: all)");
  command.option("--out", arguments->out, "folder of stores and reports").show_default();
  command.flag("--json", arguments->is_json, "one JSON object per store");
  command.action([arguments] { show(*arguments); });
}

}  // namespace headroom::experiments
