#include "experiments/studies/run/run_state.h"
#include "engine/read_number.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace headroom::experiments {
namespace {

/// An incremental mean.
struct RunningMean {
  double sum = 0;
  int64_t count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
  std::optional<double> get() const {
    return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
  }
};

/// Seconds per step of each trial in training, from its live curve.
std::map<std::string, double> seconds_per_step(const std::vector<LivePoint>& points) {
  std::map<std::string, double> speeds;
  for (size_t first = 0, i = 0; i < points.size(); ++i) {
    if (points[i].trial != points[first].trial) first = i;
    // Uses only the latest points: a trial stopped for a night has a gap between two of them.
    const size_t from = std::max(first, i >= 5 ? i - 5 : 0);
    const double steps = static_cast<double>(points[i].step - points[from].step);
    if (steps > 0 && points[i].at > points[from].at) speeds[points[i].trial] = (points[i].at - points[from].at) / steps;
  }
  return speeds;
}

/// Estimates a trial's duration from the finished ones.
class Durations {
 public:
  void add(const TrialState& trial) {
    all_.add(trial.seconds);
    series_[trial.entry.series].add(trial.seconds);
    places_[{trial.entry.series, trial.entry.x}].add(trial.seconds);
  }
  std::optional<double> of(const TrialState& trial) const {
    const auto place = places_.find({trial.entry.series, trial.entry.x});
    if (place != places_.end()) return place->second.get();
    const auto series = series_.find(trial.entry.series);
    return series != series_.end() ? series->second.get() : all_.get();
  }

 private:
  RunningMean all_;
  std::map<std::string, RunningMean> series_;
  std::map<std::pair<std::string, double>, RunningMean> places_;
};

std::optional<double> estimate_left(const RunState& state, const std::vector<LivePoint>& points) {
  if (state.running == 0) return std::nullopt;
  const std::map<std::string, double> speeds = seconds_per_step(points);
  Durations durations;
  RunningMean running;  // whole durations of those that run, where none is finished
  for (const TrialState& trial : state.trials)
    if (trial.phase == TrialPhase::finished) durations.add(trial);
  double sum = 0;
  for (const TrialState& trial : state.trials) {
    if (trial.phase != TrialPhase::running) continue;
    const auto speed = speeds.find(trial.entry.id);
    const double left = static_cast<double>(trial.steps - trial.step);
    if (speed != speeds.end()) {
      sum += left * speed->second;
      running.add(static_cast<double>(trial.steps) * speed->second);
    } else {
      const double share = trial.steps > 0 ? left / static_cast<double>(trial.steps) : 1;
      if (const auto whole = durations.of(trial)) sum += *whole * share;
      else return std::nullopt;
    }
  }
  for (const TrialState& trial : state.trials) {
    if (trial.phase != TrialPhase::to_do) continue;
    const auto whole = durations.of(trial), other = running.get();
    if (!whole && !other) return std::nullopt;
    sum += whole ? *whole : *other;
  }
  return sum / static_cast<double>(state.running);
}

}  // namespace

const char* name_of(TrialPhase phase) {
  constexpr const char* names[] = {"to do", "running", "finished", "failed"};
  return names[static_cast<int>(phase)];
}

RunState read_run_state(const RunStore& store) {
  RunState state;
  RunFacts known = store.facts();
  state.title = known.facts["title"];
  // Stores of earlier versions have no round, or not how many there may be.
  const auto number = [&](const char* fact) { return read_number<int64_t>(known.facts[fact], 0).value_or(0); };
  state.round = std::max<int64_t>(1, number("round"));
  state.most_rounds = number("most_rounds");
  state.tags = std::move(known.tags);
  state.notes = std::move(known.notes);
  // Leases before outcomes: a trial that ends in between then counts as finished, never as neither.
  const std::vector<Lease> leases = store.leases();
  const std::vector<LivePoint> points = store.live_points();
  std::unordered_map<std::string, size_t> places;
  for (PlanEntry& entry : known.plan)
    if (places.emplace(entry.id, state.trials.size()).second) state.trials.push_back({.entry = std::move(entry)});
  const auto trial_of = [&](const std::string& id) {
    const auto place = places.find(id);
    return place == places.end() ? nullptr : &state.trials[place->second];
  };
  store.each_outcome([&](TrialRecord&& record) {
    TrialState* const found = trial_of(record.id);
    if (!found) return;
    TrialState& trial = *found;
    trial.phase = record.status == TrialStatus::finished ? TrialPhase::finished : TrialPhase::failed;
    trial.attempts = record.attempts;
    trial.step = record.steps;
    trial.seconds = record.seconds;
    trial.message = std::move(record.message);
  });
  for (const Lease& lease : leases) {
    TrialState* const found = trial_of(lease.trial);
    if (!found || found->phase == TrialPhase::finished) continue;
    TrialState& trial = *found;
    const bool alive = is_alive(lease);
    if (alive) trial.phase = TrialPhase::running;
    trial.is_orphaned = !alive;
    trial.step = lease.step;
    trial.steps = lease.steps;
    trial.loss = lease.loss;
    trial.process = lease.owner.pid;
    trial.silence = std::max(0.0, wall_clock() - lease.heartbeat);
  }
  for (const TrialState& trial : state.trials) {
    state.finished += trial.phase == TrialPhase::finished;
    state.failed += trial.phase == TrialPhase::failed;
    state.running += trial.phase == TrialPhase::running;
  }
  state.most_trials = std::max<int64_t>(state.planned(), number("most_trials"));
  state.seconds_left = estimate_left(state, points);
  if (state.seconds_left) {
    const double at_once = static_cast<double>(state.running);
    double seconds = *state.seconds_left * at_once;  // of the planned trials, one after the other
    for (const TrialState& trial : state.trials) seconds += trial.seconds;
    state.most_seconds_left = *state.seconds_left + static_cast<double>(state.most_trials - state.planned()) * seconds /
                                                        static_cast<double>(state.planned()) / at_once;
  }
  return state;
}

void keep_lines(std::vector<Lease>& leases, std::vector<std::string>& lines) {
  const auto lease_of = [&](const std::string& trial) {
    return std::find_if(leases.begin(), leases.end(), [&](const Lease& lease) { return lease.trial == trial; });
  };
  for (const Lease& lease : leases) {
    if (std::count(lines.begin(), lines.end(), lease.trial) > 0) continue;
    const auto free = std::find_if(lines.begin(), lines.end(),
                                   [&](const std::string& trial) { return lease_of(trial) == leases.end(); });
    *(free == lines.end() ? lines.insert(free, "") : free) = lease.trial;
  }
  std::erase_if(lines, [&](const std::string& trial) { return lease_of(trial) == leases.end(); });
  const auto line_of = [&](const Lease& lease) { return std::find(lines.begin(), lines.end(), lease.trial); };
  std::sort(leases.begin(), leases.end(), [&](const Lease& a, const Lease& b) { return line_of(a) < line_of(b); });
}

}  // namespace headroom::experiments
