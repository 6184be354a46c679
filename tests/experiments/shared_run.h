#pragma once
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "experiments/studies/config/trial_config.h"
#include "experiments/studies/run/examine.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/store/shared_folder.h"
#include "tests/experiments/support.h"

namespace headroom::testing {

inline std::string config_of(const std::string& name, bool is_timed = false) {
  return fmt::format(R"({{"name":"{}","seed":1,"train":{{"timed":{}}}}})", name, is_timed);
}

/// The id of the trial of that name.
inline std::string id(const std::string& name) { return experiments::trial_id_of(config_of(name)); }

/// One that has finished, with all that a store keeps but weights.
inline experiments::TrialRecord finished(const std::string& id, double mse) {
  experiments::TrialRecord trial;
  trial.id = id;
  trial.validation = {{"mse", mse}, {"relative_mse", mse / 3}};
  trial.test = {{"mse", mse * 1.1}};
  trial.test_parts = {{"mse", {mse, mse * 1.2, mse * 1.1}}, {"relative_mse", {0.1 + mse}}};
  trial.history = {{3, "train", "loss", mse}, {6, "train", "loss", mse / 2}, {6, "validation", "mse", mse / 3}};
  trial.predictions = {{0.5, mse}, {-0.5, -mse}};
  trial.steps = 7;
  trial.parameters = 12;
  trial.flops = 1e9;
  trial.seconds = 0.25;
  trial.config = R"({"seed":1})";
  trial.code = "0.1";
  trial.data = {{"corpus.txt", "ab12"}};
  return trial;
}

/// No two are alike, as of trials that take their time: a line that stands twice counts once.
inline experiments::TrialRecord ended(const std::string& name, double mse) {
  static double seconds = 0;
  experiments::TrialRecord trial = finished(id(name), mse);
  trial.validation["none"] = NAN;
  trial.seconds = seconds += 0.25;
  trial.config = config_of(name);
  trial.weights = "1234";
  return trial;
}

inline experiments::TrialRecord failed(const std::string& name, const std::string& message) {
  experiments::TrialRecord trial = ended(name, 1);
  trial.validation.clear();
  trial.test.clear();
  trial.status = experiments::TrialStatus::failed;
  trial.message = message;
  return trial;
}

/// All that a store keeps of a trial, to the bit.
inline std::string text_of(const experiments::TrialRecord& t) {
  std::string text =
      fmt::format("{} {} {} {} {} {} {:a} {:a} {:a} {} {} {}", t.id, name_of(t.status), t.message, t.attempts, t.steps,
                  t.parameters, t.flops, t.seconds, t.ended, t.config, t.code, t.weights);
  for (const auto* metrics : {&t.validation, &t.test})
    for (const auto& [name, value] : *metrics) text += fmt::format(" {} {:a}", name, value);
  for (const auto& [name, values] : t.test_parts)
    for (const double value : values) text += fmt::format(" {} {:a}", name, value);
  for (const experiments::HistoryPoint& p : t.history)
    text += fmt::format(" {} {} {} {:a}", p.step, p.split, p.metric, p.value);
  for (const auto& [target, output] : t.predictions) text += fmt::format(" {:a} {:a}", target, output);
  for (const auto& [file, hash] : t.data) text += file + hash;
  return text + "\n";
}

/// All that a store has of trials, but for the times: what equal runs have in common.
inline std::string trials_in(const std::filesystem::path& store) {
  std::string text;
  using Store = experiments::RunStore;
  Store(store, Store::Access::read).each([&](experiments::TrialRecord&& trial) {
    trial.seconds = trial.ended = 0;
    text += text_of(trial);
  });
  return text;
}

/// A store that one process has put these into.
inline void put(const std::filesystem::path& path, const std::vector<experiments::TrialRecord>& trials) {
  experiments::RunStore store(path);
  for (const experiments::TrialRecord& trial : trials) store.put(trial);
}

/// A run whose folder is shared, and its stores as several processes would open them.
struct SharedRun {
  TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path() / "study" / "quick", store = folder / "store.sqlite";
  SharedRun() { experiments::share_run(folder); }

  /// The only shard, or that of so many trials' lines.
  std::filesystem::path shard(size_t lines = 0) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder / "shards")) {
      if (entry.path().extension() != ".jsonl") continue;
      const std::string text = read_bytes(entry.path());
      if (lines == 0 || std::count(text.begin(), text.end(), '\n') == std::ptrdiff_t(lines)) return entry.path();
    }
    throw std::runtime_error("there is no such shard");
  }
  /// Sets a file's time of change to so many seconds ago.
  static void age(const std::filesystem::path& file, double seconds) {
    std::filesystem::last_write_time(
        file, std::filesystem::file_time_type::clock::now() - std::chrono::milliseconds(int64_t(seconds * 1000)));
  }
};

/// A process of another host: only its heartbeat tells whether it lives.
inline experiments::Owner on_other_host(const std::string& name) { return {name, "node7 0000 pid:[1]", 4711, "1"}; }

/// A process of this host that has ended, whose time of start is not known.
inline experiments::Owner dead_process() {
  experiments::Owner owner = experiments::this_process();
  owner.started.clear();
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  owner.pid = child;
  return owner;
}

inline std::vector<std::string> faults_of(const std::filesystem::path& store) {
  std::vector<std::string> texts;
  using Store = experiments::RunStore;
  for (const experiments::Fault& fault : Store(store, Store::Access::read).faults()) texts.push_back(fault.text());
  return texts;
}

/// What doctor finds, but for weights, which these trials have in name only.
inline std::vector<std::string> damage_of(const std::filesystem::path& store) {
  std::vector<std::string> damage = experiments::examine_store(store).damage;
  std::erase_if(damage, [](const std::string& line) { return line.ends_with(".safetensors: is gone"); });
  return damage;
}

/// A line of a shard whose words were changed, with a checksum that fits.
inline std::string resealed(const std::string& line) {
  const size_t seal = line.rfind(",\"sha256\":\"");
  return experiments::sealed_line(
      (seal == std::string::npos ? line.substr(0, line.rfind('}')) : line.substr(0, seal)) + "}\n", "");
}

}  // namespace headroom::testing
