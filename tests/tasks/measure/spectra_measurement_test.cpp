// The spectra of a layer's heads as a study tells them.
#include "tasks/measure/spectra_measurement.h"

#include <algorithm>

#include "tests/support/catch.h"

namespace headroom::tasks {

using testing::contains;

TEST_CASE("a layer's ranks, norms and energies are those of its heads' spectra", "[probe]") {
  const std::string model = testing::source_root() + "/tests/models/pretrained/checkpoints/llama3.1";
  SpectraConfig config{.model = {.model = model}, .text = {.text = "random"}, .length = 20, .spans = 3};
  config.layer = 1;
  config.energy = 0.8;
  config.rank = 3;
  const SpectraMeasurement study(config, {});
  const Metrics metrics = study.compute(1);
  StudiedModel own(config.model, {});
  TokenBatch texts;
  for (int64_t i = 3; i < 6; ++i) texts.push_back(own.span(config.text, 20, i));  // those of seed 1
  double ranks = 0, norms = 0, energies = 0, narrower = 0, least = 99, most = 0;
  for (const HeadSpectra& head : head_spectra(own.transformer(), texts)) {
    if (head.layer != 1) continue;
    const auto rank = static_cast<double>(effective_rank(head.weighted, 0.8));
    ranks += rank / 4;
    norms += head.product[0] / 4;
    double held = 0, all = 0;
    for (size_t i = 0; i < head.key.size(); ++i)
      all += head.key[i] * head.key[i], held += i < 3 ? head.key[i] * head.key[i] : 0;
    energies += held / all / 4;
    narrower += rank < static_cast<double>(effective_rank(head.product, 0.8)) ? 1 : 0;
    least = std::min(least, rank), most = std::max(most, rank);
  }
  CHECK(metrics.at("weighted_rank") == Approx(ranks));
  CHECK(metrics.at("least_weighted_rank") == least);
  CHECK(metrics.at("most_weighted_rank") == most);
  CHECK(metrics.at("product_norm") == Approx(norms));
  CHECK(metrics.at("key_energy") == Approx(energies));
  CHECK(metrics.at("narrower_heads") == narrower);
  const std::vector<std::string> names = spectra_metrics();
  CHECK(metrics.size() == names.size());
  for (const std::string& name : names) CHECK(metrics.contains(name));
  CHECK(study.compute(0).at("weighted_norm") != metrics.at("weighted_norm"));
  CHECK(study.compute(0).at("product_norm") == metrics.at("product_norm"));

  config.layer = 2;
  CHECK_THROWS_WITH(SpectraMeasurement(config, {}).check(), contains("there is no layer 2, it has 2"));
  config.energy = 0;
  CHECK_THROWS_WITH(SpectraMeasurement(config, {}), contains("energy: expected (0, 1], got 0"));
}

}  // namespace headroom::tasks
