#include "tasks/language/token_meter.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "engine/error.h"

namespace headroom::tasks {

double TokenMeter::Sums::mean() const {
  return count > 0 ? nats / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
}

void TokenMeter::add(const Tensor& output, const Batch& batch) {
  const std::vector<ClassScore> scores = score_classes(output, batch.target);
  const std::vector<int64_t> targets = batch.target.to_vector<int64_t>();
  std::vector<uint8_t> is_response;
  if (config_.by_response) {
    require(batch.response.defined(), "token meter: the batch does not tell responses apart");
    is_response = batch.response.to_vector<uint8_t>();
  }
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!scores[i].is_scored) continue;
    const int64_t characters = config_.characters.empty() ? 0 : config_.characters.at(static_cast<size_t>(targets[i]));
    const auto count = [&](Sums& sums) {
      sums.nats += scores[i].nats;
      sums.count += 1;
      sums.correct += scores[i].is_correct ? 1 : 0;
      sums.characters += characters;
    };
    count(all_);
    if (config_.by_response && is_response[i]) count(response_);
  }
}

Metrics TokenMeter::result() const {
  const Sums& judged = config_.by_response && config_.judges_response ? response_ : all_;
  const double nats = judged.mean();
  Metrics metrics{{"cross_entropy", nats}, {"perplexity", std::exp(nats)}};
  metrics[config_.accuracy] =
      judged.count > 0 ? static_cast<double>(judged.correct) / static_cast<double>(judged.count) : nats;
  if (judged.characters > 0)
    metrics["bits_per_char"] = judged.nats / std::numbers::ln2 / static_cast<double>(judged.characters);
  if (config_.entropy_rate) metrics["excess"] = nats / *config_.entropy_rate - 1;
  if (config_.by_response) {
    metrics["cross_entropy_all"] = all_.mean();
    metrics["cross_entropy_response"] = response_.mean();
  }
  return metrics;
}

}  // namespace headroom::tasks
