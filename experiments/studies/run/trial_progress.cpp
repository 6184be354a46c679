#include <bit>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/run/trial.h"
#include "models/files/json.h"

namespace headroom::experiments {
namespace {

using nlohmann::json;

/// JSON knows no infinity and no NaN: doubles stand as the integers of their bits.
uint64_t bits(double x) { return std::bit_cast<uint64_t>(x); }
double real(const json& value) { return std::bit_cast<double>(value.get<uint64_t>()); }

json bits(const std::vector<double>& list) {
  json out = json::array();
  for (const double x : list) out.push_back(bits(x));
  return out;
}
template <class T>
json bits(const std::map<std::string, T>& table) {
  json out = json::object();
  for (const auto& [name, value] : table) out[name] = bits(value);
  return out;
}

std::map<std::string, double> reals(const json& values) {
  std::map<std::string, double> out;
  for (const auto& [name, value] : values.items()) out[name] = real(value);
  return out;
}

TrialProgress from_json(const json& state) {
  TrialProgress at;
  TrialRecord& record = at.record;
  record.steps = models::whole_number(state.at("step"));
  record.seconds = real(state.at("seconds"));
  at.best = real(state.at("best"));
  at.stale = models::whole_number(state.at("stale"));
  at.last_loss = real(state.at("last_loss"));
  at.gradient_norm = real(state.at("gradient_norm"));
  record.validation = reals(state.at("validation"));
  record.test = reals(state.at("test"));
  const json parts = state.value("test_parts", json::object());  // none in what an older program kept
  for (const auto& [name, values] : parts.items())
    for (const json& value : values) record.test_parts[name].push_back(real(value));
  for (const json& pair : state.at("predictions")) record.predictions.emplace_back(real(pair.at(0)), real(pair.at(1)));
  for (const json& p : state.at("history"))
    record.history.push_back({models::whole_number(p.at(0), record.steps), p.at(1).get<std::string>(),
                              p.at(2).get<std::string>(), real(p.at(3))});
  return at;
}

}  // namespace

std::string to_json(const TrialProgress& at) {
  const TrialRecord& record = at.record;
  json history = json::array(), predictions = json::array();
  for (const HistoryPoint& p : record.history) history.push_back({p.step, p.split, p.metric, bits(p.value)});
  for (const auto& [target, output] : record.predictions) predictions.push_back({bits(target), bits(output)});
  const json state{{"step", record.steps},
                   {"seconds", bits(record.seconds)},
                   {"best", bits(at.best)},
                   {"stale", at.stale},
                   {"last_loss", bits(at.last_loss)},
                   {"gradient_norm", bits(at.gradient_norm)},
                   {"validation", bits(record.validation)},
                   {"test", bits(record.test)},
                   {"test_parts", bits(record.test_parts)},
                   {"predictions", predictions},
                   {"history", history}};
  return state.dump();
}

TrialProgress progress_from_json(const std::string& text) {
  try {
    return from_json(json::parse(text));
  } catch (const json::exception& error) {
    fail("a trial's progress: {}", plain_words(error.what()));
  }
}

}  // namespace headroom::experiments
