#pragma once
#include <cmath>
#include <string>

#include "tests/experiments/synthetic.h"

namespace headroom::experiments::testing {

/// Learning curves, predictions and further metrics, as a language study has them.
inline void add_tracks(StudyResults& r) {
  for (TrialRecord& t : r.trials) {
    if (t.status != TrialStatus::finished) continue;
    const double error = t.test.at("mse");
    for (int step = 0; step <= 200; step += 20) {
      t.history.push_back({step, "train", "loss", error + std::exp(-step / 60.0)});
      t.history.push_back({step, "validation", "mse", error + 1.2 * std::exp(-step / 60.0)});
    }
    for (int i = 0; i < 40; ++i) {
      const double target = std::sin(1.7 * i);
      t.predictions.emplace_back(target, target * (1 - error / 3) + 0.1 * std::cos(5.1 * i));
    }
    t.test["accuracy"] = 1 / (1 + error);
    t.test["forward_ms"] = 3 + t.x / 4;
    t.steps = 200;
    t.seconds = 12.5;
    t.flops = 4.2e11;
    t.parameters = 12345;
  }
  r.report.also = {{{"accuracy", "share of right answers", Scale::linear}, {}}};
  r.report.heat_map = r.report.learning_curves = r.report.predictions = true;
}

/// One more series: u_curve()'s trials under that name.
inline void add_curve(StudyResults& r, const std::string& name) {
  r.series.push_back(name);
  const StudyResults curve = u_curve();
  for (const TrialRecord& t : curve.trials) r.trials.push_back(in_series(t, name));
  r.planned = std::ssize(r.trials);
}

/// Two series with everything a report can show: claims of every kind, an overlay, a failed trial, learning rates.
inline StudyResults rich() {
  StudyResults r = u_curve();
  r.series = {"D 256", "D 64"};
  for (TrialRecord& t : r.trials) t.series = "D 256";
  for (double x : {1, 2, 4})
    for (double lr : {0.01, 0.02, 0.04})
      for (int seed : {0, 1}) {
        TrialRecord t = trial(x, seed, (x == 2 ? 0.001 : 0.4) * (1 + lr + 0.1 * seed));
        t.series = "D 64";
        t.choice = {{"train.optimizer.lr", lr}};
        t.id += std::to_string(lr);
        r.trials.push_back(x == 4 && seed == 1 ? failed(t) : t);
      }
  r.planned = std::ssize(r.trials);
  r.report.x_scale = Scale::log2;
  r.report.y_scale = Scale::log10;
  r.report.overlays = {{"D 256", "bound", {{1, 4.0}, {2, 3.5}, {4, 2.5}, {8, 3}, {16, 3.9}, {32, 4}}}};
  r.claims = {claim("interior_optimum"), claim("optimum_at", {.among = {8}}),
              claim("within_factor", {.at = 8, .factor = 3})};
  for (ClaimConfig& c : r.claims) c.series = "D 256";
  r.resolved_config = "[study]\nid = \"synthetic\"\n";
  r.provenance = {{"compiler", "g++"}, {"version", "0.1.0"}};
  add_tracks(r);
  return r;
}

}  // namespace headroom::experiments::testing
