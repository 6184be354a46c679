#include "experiments/output/plot/plot.h"

#include <fmt/format.h>

#include <cmath>

#include "experiments/output/text.h"

namespace headroom::experiments {

std::string plot_csv(const Plot& plot) {
  const auto number = [](double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; };
  std::string out;
  const auto add = [&](const Plot& part) {
    out += csv_row({"line", part.x_label, part.y_label, "low", "high", "seeds"});
    for (const Layer& layer : part.layers)
      for (const Mark& m : layer.marks) {
        std::vector<std::string> seeds;
        for (const double seed : m.seeds) seeds.push_back(number(seed));
        out += csv_row({layer.legend, number(m.x), number(m.y), m.has_interval() ? number(m.low) : "",
                        m.has_interval() ? number(m.high) : "", fmt::format("{}", fmt::join(seeds, " "))});
      }
  };
  add(plot);
  for (const auto* parts : {&plot.below, &plot.small})
    for (const Plot& part : *parts) add(part);
  return out;
}

}  // namespace headroom::experiments
