#include "tasks/measure/spectra_measurement.h"

#include <algorithm>
#include <array>

#include "engine/error.h"

namespace headroom::tasks {
namespace {

struct Spectrum {
  const char* name;
  std::vector<double> TurnedSpectra::*values;
};

constexpr std::array<Spectrum, 5> spectra{{
    {"query", &TurnedSpectra::query},
    {"key", &TurnedSpectra::key},
    {"product", &TurnedSpectra::product},
    {"weighted", &TurnedSpectra::weighted},
    {"turned", &TurnedSpectra::turned},
}};

/// The share of all squares that the first `rank` hold; 1 where all are 0.
double energy_held(const std::vector<double>& values, int64_t rank) {
  double held = 0, all = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    all += values[i] * values[i];
    if (static_cast<int64_t>(i) < rank) held += values[i] * values[i];
  }
  return all > 0 ? held / all : 1;
}

}  // namespace

void validate(const SpectraConfig& config) {
  validate(config.model);
  validate(config.text);
  require(config.length >= 2, "length: expected >= 2, got {}", config.length);
  require(config.spans >= 1, "average: expected >= 1, got {}", config.spans);
  require(config.layer >= 0, "layer: expected >= 0, got {}", config.layer);
  require(config.energy > 0 && config.energy <= 1, "energy: expected (0, 1], got {}", config.energy);
  require(config.rank >= 1, "rank: expected >= 1, got {}", config.rank);
}

void SpectraMeasurement::check() const {
  const int64_t layers = model().description().config.layers;
  require(config_.layer < layers, "{}: there is no layer {}, it has {}", config_.model.model, config_.layer, layers);
  model().span(config_.text, config_.length, 0);
}

Metrics SpectraMeasurement::compute(uint64_t seed) const {
  check();
  const int64_t first = static_cast<int64_t>(seed) * config_.spans;
  const auto all = model().spectra(config_.text, config_.length, first, config_.spans);
  Metrics metrics{{"narrower_heads", 0}};
  double heads = 0;
  for (const TurnedSpectra& head : *all) {
    if (head.layer != config_.layer) continue;
    heads += 1;
    const bool is_narrower =
        effective_rank(head.weighted, config_.energy) < effective_rank(head.product, config_.energy);
    metrics["narrower_heads"] += is_narrower ? 1 : 0;
    for (const Spectrum& spectrum : spectra) {
      const std::string name = spectrum.name;
      const std::vector<double>& values = head.*spectrum.values;
      const auto rank = static_cast<double>(effective_rank(values, config_.energy));
      metrics[name + "_rank"] += rank;
      metrics[name + "_norm"] += values.at(0);
      metrics[name + "_energy"] += energy_held(values, config_.rank);
      const auto least = metrics.try_emplace("least_" + name + "_rank", rank).first;
      const auto most = metrics.try_emplace("most_" + name + "_rank", rank).first;
      least->second = std::min(least->second, rank);
      most->second = std::max(most->second, rank);
    }
  }
  for (const Spectrum& spectrum : spectra)
    for (const char* what : {"_rank", "_norm", "_energy"}) metrics[spectrum.name + std::string(what)] /= heads;
  return metrics;
}

std::string SpectraMeasurement::describe() const {
  return fmt::format("spectra of the heads of layer {} of {}{}", config_.layer, config_.model.model,
                     config_.model.is_random ? " with random weights" : "");
}

std::vector<std::string> spectra_metrics() {
  std::vector<std::string> names{"narrower_heads"};
  for (const Spectrum& spectrum : spectra) {
    const std::string name = spectrum.name;
    names.insert(names.end(), {name + "_rank", "least_" + name + "_rank", "most_" + name + "_rank", name + "_norm",
                               name + "_energy"});
  }
  return names;
}

}  // namespace headroom::tasks
