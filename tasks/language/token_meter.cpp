#include "tasks/language/token_meter.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "engine/error.h"

namespace headroom::tasks {

double TokenMeter::Sums::mean() const { return count > 0 ? nats / count : std::numeric_limits<double>::quiet_NaN(); }

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
      sums.characters += static_cast<double>(characters);
    };
    count(all_);
    if (config_.by_response && is_response[i]) count(response_);
  }
}

std::vector<double> TokenMeter::sums() const {
  return {all_.nats,      all_.count,      all_.correct,      all_.characters,
          response_.nats, response_.count, response_.correct, response_.characters};
}

Metrics TokenMeter::metrics(const std::vector<double>& sums) const {
  const Sums all{sums[0], sums[1], sums[2], sums[3]}, response{sums[4], sums[5], sums[6], sums[7]};
  const Sums& judged = config_.by_response && config_.judges_response ? response : all;
  const double nats = judged.mean();
  Metrics metrics{{"cross_entropy", nats}, {"perplexity", std::exp(nats)}};
  metrics[config_.accuracy] = judged.count > 0 ? judged.correct / judged.count : nats;
  if (judged.characters > 0) metrics["bits_per_char"] = judged.nats / std::numbers::ln2 / judged.characters;
  if (config_.entropy_rate) metrics["excess"] = nats / *config_.entropy_rate - 1;
  if (config_.by_response) {
    metrics["cross_entropy_all"] = all.mean();
    metrics["cross_entropy_response"] = response.mean();
  }
  return metrics;
}

std::set<std::string> token_metrics(const char* accuracy, bool has_characters) {
  std::set<std::string> names{"cross_entropy", "perplexity", accuracy};
  if (has_characters) names.insert("bits_per_char");
  return names;
}

}  // namespace headroom::tasks
