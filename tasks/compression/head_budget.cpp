#include "tasks/compression/head_budget.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/error.h"
#include "models/costs.h"

namespace headroom::tasks {
namespace {

using models::HeadGroup;
using models::LayerConfig;
using models::TransformerConfig;

double cache_numbers(const TransformerConfig& config) {
  double numbers = 0;
  models::for_each_layer(config, [&](const LayerConfig& layer, int64_t times) {
    for (const HeadGroup& group : layer.groups)
      numbers += static_cast<double>(times * group.key_value_heads() * (group.key_dim() + group.v_dim));
  });
  return numbers;
}

double counted(BudgetOf of, const TransformerConfig& config) {
  return of == BudgetOf::cache ? cache_numbers(config) : static_cast<double>(models::parameter_count(config));
}

/// What one key-value head of the base and its query heads take of a budget, by part.
double share_of(BudgetOf of, bool is_vo, const TransformerConfig& base, const HeadGroup& group) {
  const int64_t dim = is_vo ? group.v_dim : group.qk_dim;
  if (of == BudgetOf::cache) return static_cast<double>(dim);
  const models::AttentionBiases biases = models::attention_biases(base);
  const int64_t queries = group.heads / group.key_value_heads();
  const int64_t matrices = (queries + 1) * dim * base.width;
  const int64_t bias = is_vo ? (biases.v ? dim : 0) : (biases.q ? queries * dim : 0) + (biases.k ? dim : 0);
  return static_cast<double>(matrices + bias);
}

const char* words_for(BudgetOf of) { return of == BudgetOf::cache ? "key-value cache" : "weights"; }

}  // namespace

HeadBudget::HeadBudget(const HeadDecompositions& heads, const LayerProbe& probe, QkMethod qk, VoMethod vo,
                       const std::set<int64_t>& layers, const std::function<void(int64_t, int64_t)>& progress)
    : heads_(heads), probe_(probe), nothing_(empty_plan(heads.base(), qk, vo)) {
  require(qk != QkMethod::none || vo != VoMethod::none, "budget: no method to spend it on");
  for (const bool is_vo : {false, true}) {
    if (is_vo ? vo == VoMethod::none : qk == QkMethod::none) continue;
    for (const int64_t layer : layers)
      for (int64_t head = 0; head < std::ssize(nothing_.qk_ranks.at(static_cast<size_t>(layer))); ++head)
        places_.push_back({is_vo, layer, head});
  }
  for (const Place& place : places_) {
    const std::vector<int64_t> ranks = ranks_of(place);
    const auto at = static_cast<double>(ranks.back()) * measured_share;
    const int64_t rank = *std::min_element(ranks.begin(), ranks.end(), [&](int64_t a, int64_t b) {
      return std::abs(static_cast<double>(a) - at) < std::abs(static_cast<double>(b) - at);
    });
    const double kl = std::max(0.0, probe.kl(heads.edit(with(place, rank)), place.layer)), lost = tail(place, rank);
    measured_.push_back(kl);
    per_tail_.push_back(lost > 0 ? kl / lost : 0);
    if (progress) progress(std::ssize(measured_), std::ssize(places_));
  }
}

std::vector<int64_t> HeadBudget::ranks_of(const Place& place) const {
  const HeadGroup group = models::layers_of(heads_.base()).at(static_cast<size_t>(place.layer)).groups.at(0);
  return place.is_vo ? possible_ranks(nothing_.vo, group.v_dim)
                     : possible_ranks(nothing_.qk, heads_.base(), group.qk_dim);
}

double HeadBudget::tail(const Place& place, int64_t rank) const {
  return place.is_vo ? heads_.vo_tail(place.layer, place.kv_head, rank)
                     : heads_.qk_tail(place.layer, place.kv_head, rank);
}

CompressionPlan HeadBudget::with(const Place& place, int64_t rank) const {
  CompressionPlan plan = nothing_;
  auto& ranks = place.is_vo ? plan.vo_ranks : plan.qk_ranks;
  ranks.at(static_cast<size_t>(place.layer)).at(static_cast<size_t>(place.kv_head)) = rank;
  return plan;
}

double HeadBudget::full(BudgetOf of) const {
  if (of == BudgetOf::cache) return cache_numbers(heads_.base());
  double sum = 0;
  const std::vector<LayerConfig> layers = models::layers_of(heads_.base());
  for (const Place& place : places_)
    sum += share_of(of, place.is_vo, heads_.base(), layers.at(static_cast<size_t>(place.layer)).groups.at(0));
  return sum;
}

double HeadBudget::cost(BudgetOf of, const CompressionPlan& plan) const {
  return full(of) + counted(of, compressed_config(heads_.base(), plan)) - counted(of, heads_.base());
}

std::vector<BudgetItem> HeadBudget::items(BudgetOf of, std::vector<std::vector<int64_t>>& ranks) const {
  const std::vector<LayerConfig> layers = models::layers_of(heads_.base());
  std::vector<BudgetItem> items;
  for (size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    const double whole =
        share_of(of, place.is_vo, heads_.base(), layers.at(static_cast<size_t>(place.layer)).groups[0]);
    BudgetItem item;
    item.name = fmt::format("{} of layer {}, key-value head {}", place.is_vo ? "values" : "queries and keys",
                            place.layer, place.kv_head);
    std::vector<int64_t>& own = ranks.emplace_back();
    for (const int64_t rank : ranks_of(place)) {
      const double cost = whole + this->cost(of, with(place, rank)) - full(of);
      if (cost >= whole || (!item.cost.empty() && cost <= item.cost.back())) continue;
      own.push_back(rank);
      item.loss.push_back(per_tail_[i] * tail(place, rank)), item.cost.push_back(cost);
    }
    own.push_back(0);
    item.loss.push_back(0), item.cost.push_back(whole);
    items.push_back(std::move(item));
  }
  return items;
}

double HeadBudget::least(BudgetOf of) const {
  std::vector<std::vector<int64_t>> ranks;
  double sum = full(of);
  for (const BudgetItem& item : items(of, ranks)) sum += item.cost.front() - item.cost.back();
  return sum;
}

BudgetOf HeadBudget::saved() const {
  return least(BudgetOf::parameters) < full(BudgetOf::parameters) ? BudgetOf::parameters : BudgetOf::cache;
}

CompressionPlan HeadBudget::spend(BudgetOf of, double budget) const {
  std::vector<std::vector<int64_t>> ranks;
  const std::vector<BudgetItem> choices = items(of, ranks);
  double fixed = full(of), smallest = full(of);
  for (const BudgetItem& item : choices) fixed -= item.cost.back(), smallest += item.cost.front() - item.cost.back();
  require(smallest < full(of) || budget >= full(of), "budget: {}{}{} does not make the {} smaller",
          name_of(nothing_.qk), nothing_.vo == VoMethod::none ? "" : " and ",
          nothing_.vo == VoMethod::none ? "" : name_of(nothing_.vo), words_for(of));
  require(budget >= smallest * (1 - 1e-9),
          "budget: {:.4g} of the {} of {:.4g} is below the least that ranks of 1 take, {:.4g}", budget, words_for(of),
          full(of), smallest);
  const std::vector<size_t> chosen = spend_budget(choices, budget - fixed);
  CompressionPlan plan = nothing_;
  for (size_t i = 0; i < places_.size(); ++i) {
    auto& part = places_[i].is_vo ? plan.vo_ranks : plan.qk_ranks;
    part[static_cast<size_t>(places_[i].layer)][static_cast<size_t>(places_[i].kv_head)] = ranks[i][chosen[i]];
  }
  return plan;
}

double HeadBudget::measured_kl(const CompressionPlan& plan) const {
  const std::set<int64_t> changed = changed_layers(plan);
  return changed.empty() ? 0 : probe_.kl(heads_.edit(plan), *changed.begin());
}

CompressionPlan HeadBudget::within(BudgetOf of, double kl) const {
  require(std::isfinite(kl) && kl > 0, "budget: a KL divergence of {} cannot be kept within", kl);
  double low = least(of), high = full(of);
  CompressionPlan best = nothing_;
  // Twelve halvings: a 4096th of what there is to spend.
  for (int step = 0; step < 12 && high > low; ++step) {
    const double middle = step == 0 ? low : 0.5 * (low + high);
    CompressionPlan plan = spend(of, middle);
    if (measured_kl(plan) <= kl) high = middle, best = std::move(plan);
    else low = middle;
  }
  return best;
}

}  // namespace headroom::tasks
