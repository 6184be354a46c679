#include "experiments/program/serve/streams.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <unordered_map>

#include "experiments/program/serve/guard.h"
#include "experiments/program/serve/run_files.h"
#include "experiments/studies/pages/index_page.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// The limit on streams: each one polls for its next event, and remembers what it has sent.
constexpr int most_streams = 32;
std::atomic<int> open_streams{0};

/// The load of the machine, refreshed every few seconds.
class CalmMachine {
 public:
  const Json& get() {
    if (const auto now = Clock::now(); now >= next_) {
      json_ = machine_json();
      next_ = now + std::chrono::seconds(3);
    }
    return json_;
  }

 private:
  Json json_;
  Clock::time_point next_{};
};

/// Streams the non-empty results of `state`; otherwise, now and then, a comment, which lets the server notice that the
/// page has gone.
HttpAnswer stream(const std::function<std::string()>& state) {
  const auto place = place_among(open_streams, most_streams);
  if (!place) return plain_answer(503, "too many pages are open");
  HttpAnswer answer;
  answer.next_event = [place, state, last = Clock::now()]() mutable -> std::optional<std::string> {
    const std::string data = state();
    const auto now = Clock::now();
    if (data.empty() && now - last < std::chrono::seconds(5)) return "";
    last = now;
    return data.empty() ? ": still here\n\n" : "event: state\ndata: " + data + "\n\n";
  };
  return answer;
}

std::string index_text(RunReaders& readers, const Json& machine) {
  std::vector<std::string> unread;
  std::map<std::pair<std::string, std::string>, StudySummary> summaries;
  for (const StudySummary& summary : read_summaries(readers.out(), unread))
    summaries.emplace(std::pair(summary.id, summary.profile), summary);
  Json state = {{"out", readers.out().string()}, {"runs", Json::array()}, {"pages", Json::array()}};
  for (const auto& snapshot : readers.all()) {
    Json run = run_json(*snapshot);
    const StudySummary& summary = summaries[{snapshot->run.study, snapshot->run.profile}];  // empty if there is none
    run["paper_claims"] = summary.paper_tally;
    run["theorem_claims"] = summary.theorem_tally;
    run["finding"] = summary.finding;
    run["our_claims"] = summary.ours_tally;
    state["runs"].push_back(std::move(run));
  }
  for (const std::string& page : pages_in(readers.out()))
    state["pages"].push_back({{"file", page}, {"title", page.substr(0, page.size() - 5)}});
  state["machine"] = machine;
  return json_text(state);
}

/// Tracks what one page was sent about a run.
class RunChanges {
 public:
  RunChanges(std::shared_ptr<RunReaders> readers, std::string study, std::string profile)
      : readers_(std::move(readers)), study_(std::move(study)), profile_(std::move(profile)) {}

  std::string next() {
    const auto snapshot = readers_->find(study_, profile_);
    if (!snapshot) {
      const std::string text = json_text({{"problem", "this run is not there any more"}, {"machine", machine_.get()}});
      if (text == frame_) return "";
      return frame_ = text;
    }
    Json state = run_json(*snapshot);
    state["metric"] = snapshot->metric;
    state["machine"] = machine_.get();
    Json order = Json::array();
    for (const TrialState& trial : snapshot->state.trials) order.push_back(trial.entry.id);
    const std::string frame = json_text(state) + json_text(order);
    state["order"] = std::move(order);
    state["trials"] = Json::array();
    for (const TrialState& trial : snapshot->state.trials) add_trial(*snapshot, trial, state["trials"]);
    state["live"] = Json::object();
    for (const auto& [trial, points] : snapshot->live) {
      size_t& sent = live_[trial];
      if (sent == points.size()) continue;
      sent = points.size();
      state["live"][trial] = sent;
    }
    if (frame == frame_ && state["trials"].empty() && state["live"].empty()) return "";
    frame_ = frame;
    return json_text(state);
  }

 private:
  void add_trial(const RunSnapshot& snapshot, const TrialState& trial, Json& list) {
    Json json = trial_json(snapshot, trial);
    std::string text = json_text(json);
    std::string& sent = trials_[trial.entry.id];
    if (sent == text) return;
    sent = std::move(text);
    list.push_back(std::move(json));
  }

  std::shared_ptr<RunReaders> readers_;
  const std::string study_, profile_;
  CalmMachine machine_;
  std::string frame_;
  std::unordered_map<std::string, std::string> trials_;  ///< id → last text sent
  std::unordered_map<std::string, size_t> live_;         ///< id → number of points sent
};

}  // namespace

std::string index_state(RunReaders& readers) { return index_text(readers, machine_json()); }

HttpAnswer index_stream(const std::shared_ptr<RunReaders>& readers) {
  return stream([readers, machine = std::make_shared<CalmMachine>(), sent = std::make_shared<std::string>()] {
    std::string text = index_text(*readers, machine->get());
    if (text == *sent) return std::string();
    return *sent = std::move(text);
  });
}

HttpAnswer run_stream(const std::shared_ptr<RunReaders>& readers, const std::string& study,
                      const std::string& profile) {
  return stream([changes = std::make_shared<RunChanges>(readers, study, profile)] { return changes->next(); });
}

}  // namespace headroom::experiments
