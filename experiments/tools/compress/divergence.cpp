#include "experiments/tools/compress/divergence.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/studies/analysis/statistics.h"

namespace headroom::experiments {
namespace {

constexpr double significance = 0.05;

}  // namespace

PerplexityRatio perplexity_ratio(const tasks::Perplexity& measured) {
  const tasks::Divergence& apart = *measured.against;
  if (measured.windows < 2) return {std::exp(apart.nll_added), NAN, NAN};
  const double reach = apart.stderr_added * t_reach(static_cast<double>(measured.windows - 1), significance);
  return {std::exp(apart.nll_added), std::exp(apart.nll_added - reach), std::exp(apart.nll_added + reach)};
}

std::string divergence_text(const tasks::Perplexity& measured, const std::string& base) {
  const tasks::Divergence& apart = *measured.against;
  const PerplexityRatio ratio = perplexity_ratio(measured);
  const std::string interval = measured.windows < 2 ? ", one window: no interval"
                                                    : fmt::format(" [{:.4f}, {:.4f}] at 95 %, {} windows", ratio.low,
                                                                  ratio.high, measured.windows);
  return fmt::format(
      "perplexity over that of {}: {:.4f}{}\n"
      "KL from {}: {:.5f} nats in the mean, {:.4f} at the 99th percentile; same likeliest token: {:.2f} %\n",
      base, ratio.value, interval, base, apart.kl_mean, apart.kl_p99, 100 * apart.top1_agreement);
}

void add_divergence(const tasks::Perplexity& measured, nlohmann::ordered_json& out) {
  const PerplexityRatio ratio = perplexity_ratio(measured);
  out["ppl_ratio"] = ratio.value;
  if (measured.windows > 1) out["ppl_ratio_interval"] = {ratio.low, ratio.high};
  out["kl_mean"] = measured.against->kl_mean;
  out["kl_p99"] = measured.against->kl_p99;
  out["top1_agreement"] = measured.against->top1_agreement;
}

ChoiceDifference choice_difference(const tasks::ChoiceScores& model, const tasks::ChoiceScores& base,
                                   const std::vector<tasks::ChoiceItem>& items) {
  ChoiceDifference out;
  std::vector<double> right, loss;
  for (size_t i = 0; i < items.size(); ++i) {
    const bool is_right = model.picked[i] == items[i].answer, was_right = base.picked[i] == items[i].answer;
    out.gained += is_right && !was_right ? 1 : 0;
    out.lost += was_right && !is_right ? 1 : 0;
    right.push_back(static_cast<double>(is_right) - static_cast<double>(was_right));
    loss.push_back(model.losses[i] - base.losses[i]);
  }
  const auto interval = [](const std::vector<double>& values) {
    const double value = mean(values);
    if (values.size() < 2) return ChoiceDifference::Mean{value, -INFINITY, INFINITY};
    const double reach = standard_error(values) * t_reach(static_cast<double>(values.size() - 1), significance);
    return ChoiceDifference::Mean{value, value - reach, value + reach};
  };
  out.accuracy = interval(right);
  out.log_loss = interval(loss);
  return out;
}

void add_text_cut(const tasks::TextCut& cut, nlohmann::ordered_json& out) {
  out["splitter"] = cut.splitter;
  out["begins_with"] = cut.begin ? nlohmann::ordered_json(cut.begin_text) : nullptr;
  out["begin_token"] = cut.begin ? nlohmann::ordered_json(*cut.begin) : nullptr;
}

}  // namespace headroom::experiments
