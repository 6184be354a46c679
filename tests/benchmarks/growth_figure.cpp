// growth-figure FILE.json FILE.svg: draws what growth.py measured.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "experiments/output/file.h"
#include "experiments/output/plot/svg.h"

int main(int count, char** arguments) {
  using namespace headroom::experiments;
  if (count != 3) return std::cerr << "growth-figure FILE.json FILE.svg\n", 2;
  const nlohmann::json rows = nlohmann::json::parse(std::ifstream(arguments[1]));
  Plot figure;
  figure.id = "growth";
  figure.title = "Time and memory of a training step";
  figure.description = "Against the length of sequences, the width of heads, the width of the model and threads.";
  for (const auto& [panel, unit, title] : {std::tuple("length", "ms", "milliseconds a step, by tokens of a sequence"),
                                           {"head_dim", "ms", "milliseconds a step, by width of a head"},
                                           {"width", "ms", "milliseconds a step, by width of the model"},
                                           {"threads", "ms", "milliseconds a step, by threads"},
                                           {"length", "mib", "peak memory in MiB, by tokens of a sequence"}}) {
    Plot& part = figure.small.emplace_back();
    part.title = title;
    std::vector<double> xs, ys;
    for (const char* side : {"ours", "peer"}) {
      const bool is_ours = part.layers.empty();
      Layer& layer = part.layers.emplace_back();
      layer.legend = is_ours ? "headroom" : "PyTorch";
      layer.colour = category(is_ours ? 0 : 1);
      for (const auto& row : rows) {
        if (row.at("panel") != panel) continue;
        const double x = row.at("x"), y = row.at(std::string(side) + "_" + unit);
        layer.marks.push_back({x, y});
        xs.push_back(x);
        ys.push_back(y);
      }
    }
    part.x = fit_axis(Scale::log2, xs);
    part.y = fit_axis(Scale::log10, ys);
  }
  write_file(arguments[2], svg_of(figure, {.surface = Surface::file}));
}
