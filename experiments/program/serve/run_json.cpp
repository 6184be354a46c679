#include "experiments/program/serve/run_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <thread>

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

Json run_json(const RunSnapshot& snapshot) {
  const RunState& state = snapshot.state;
  Json run = {{"study", snapshot.run.study},
              {"profile", snapshot.run.profile},
              {"title", state.title},
              {"problem", snapshot.problem},
              {"is_read", snapshot.is_read},
              {"pages", snapshot.pages},
              {"folder", snapshot.run.folder.string()},
              {"size", snapshot.size}};
  run.update({{"planned", state.planned()},
              {"finished", state.finished},
              {"failed", state.failed},
              {"running", state.running},
              {"to_do", state.to_do()},
              {"round", state.round},
              {"most_rounds", state.most_rounds},
              {"most_trials", state.most_trials}});
  run["seconds_left"] = state.seconds_left ? number_or_null(*state.seconds_left) : Json(nullptr);
  run["most_seconds_left"] = state.most_seconds_left ? number_or_null(*state.most_seconds_left) : Json(nullptr);
  run["tags"] = state.tags;
  run["notes"] = Json::array();
  for (const Note& note : state.notes) run["notes"].push_back({{"id", note.id}, {"at", note.at}, {"text", note.text}});
  return run;
}

Json trial_json(const RunSnapshot& snapshot, const TrialState& trial) {
  constexpr double long_silence = 20;  // seconds; a process writes every five
  const bool is_running = trial.phase == TrialPhase::running;
  Json json = {{"id", trial.entry.id},
               {"series", trial.entry.series},
               {"label", trial.entry.label},
               {"x", number_or_null(trial.entry.x)},
               {"seed", trial.entry.seed},
               {"phase", name_of(trial.phase)},
               {"step", trial.step},
               {"steps", trial.steps},
               {"loss", is_running ? number_or_null(trial.loss) : Json(nullptr)}};
  const auto value = snapshot.values.find(trial.entry.id);
  json["value"] = value == snapshot.values.end() ? Json(nullptr) : Json(value->second);
  json["seconds"] = trial.seconds;
  json["message"] = trial.message;
  json["process"] = is_running ? trial.process : 0;
  json["orphaned"] = trial.is_orphaned;
  json["silent"] = is_running && trial.silence > long_silence;
  return json;
}

Json machine_json() {
  Json machine = {{"load", nullptr},
                  {"cores", std::max(1U, std::thread::hardware_concurrency())},
                  {"memory_total", 0},
                  {"memory_free", 0}};
  if (double minutes[1]; getloadavg(minutes, 1) == 1) machine["load"] = minutes[0];
  std::ifstream file("/proc/meminfo");
  uint64_t kilobytes = 0;
  for (std::string key, unit; file >> key >> kilobytes; std::getline(file, unit)) {
    if (key == "MemTotal:") machine["memory_total"] = kilobytes << 10;
    if (key == "MemAvailable:") machine["memory_free"] = kilobytes << 10;
  }
  return machine;
}

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace headroom::experiments
