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

const char* words_for(BudgetOf of) { return of == BudgetOf::cache ? "key-value cache" : "weights that may change"; }

}  // namespace

HeadCosts::HeadCosts(const TransformerConfig& base, QkMethod qk, VoMethod vo, const std::set<int64_t>& layers)
    : base_(base), nothing_(empty_plan(base, qk, vo)) {
  require(qk != QkMethod::none || vo != VoMethod::none, "budget: no method to spend it on");
  for (const bool is_vo : {false, true}) {
    if (is_vo ? vo == VoMethod::none : qk == QkMethod::none) continue;
    for (const int64_t layer : layers)
      for (int64_t head = 0; head < std::ssize(nothing_.qk_ranks.at(static_cast<size_t>(layer))); ++head)
        places_.push_back({is_vo, layer, head});
  }
}

std::vector<int64_t> HeadCosts::ranks_of(const HeadPlace& place) const {
  const HeadGroup group = models::layers_of(base_).at(static_cast<size_t>(place.layer)).groups.at(0);
  return place.is_vo ? possible_ranks(nothing_.vo, group.v_dim) : possible_ranks(nothing_.qk, base_, group.qk_dim);
}

CompressionPlan HeadCosts::with(const HeadPlace& place, int64_t rank) const {
  CompressionPlan plan = nothing_;
  place.rank_in(plan) = rank;
  return plan;
}

double HeadCosts::full(BudgetOf of) const {
  if (of == BudgetOf::cache) return cache_numbers(base_);
  double sum = 0;
  const std::vector<LayerConfig> layers = models::layers_of(base_);
  for (const HeadPlace& place : places_)
    sum += share_of(of, place.is_vo, base_, layers.at(static_cast<size_t>(place.layer)).groups.at(0));
  return sum;
}

double HeadCosts::cost(BudgetOf of, const CompressionPlan& plan) const {
  return full(of) + counted(of, compressed_config(base_, plan)) - counted(of, base_);
}

std::vector<std::pair<int64_t, double>> HeadCosts::options(BudgetOf of, const HeadPlace& place) const {
  const LayerConfig layer = models::layers_of(base_).at(static_cast<size_t>(place.layer));
  const double whole = share_of(of, place.is_vo, base_, layer.groups.at(0)), base = counted(of, base_);
  std::vector<std::pair<int64_t, double>> out;
  for (const int64_t rank : ranks_of(place)) {
    const double cost = whole + counted(of, compressed_config(base_, with(place, rank))) - base;
    if (cost < whole && (out.empty() || cost > out.back().second)) out.emplace_back(rank, cost);
  }
  out.emplace_back(0, whole);
  return out;
}

double HeadCosts::least(BudgetOf of) const {
  double sum = full(of);
  for (const HeadPlace& place : places_) {
    const auto choices = options(of, place);
    sum += choices.front().second - choices.back().second;
  }
  return sum;
}

BudgetOf HeadCosts::saved() const {
  const bool saves_parameters = least(BudgetOf::parameters) < full(BudgetOf::parameters);
  return saves_parameters && !maps_after_turn(nothing_.qk) ? BudgetOf::parameters : BudgetOf::cache;
}

void HeadCosts::require_possible(BudgetOf of, double budget) const {
  const double all = full(of), smallest = least(of);
  require(smallest < all || budget >= all, "budget: {}{}{} does not make the {} smaller", name_of(nothing_.qk),
          nothing_.vo == VoMethod::none ? "" : " and ", nothing_.vo == VoMethod::none ? "" : name_of(nothing_.vo),
          words_for(of));
  require(budget >= smallest * (1 - 1e-9), "budget: a share of {:.3g} of the {} is below the least possible, {:.3g}",
          budget / all, words_for(of), smallest / all);
}

HeadBudget::HeadBudget(std::shared_ptr<const HeadDecompositions> heads, std::shared_ptr<const LayerProbe> probe,
                       const std::set<int64_t>& layers, const std::function<void(int64_t, int64_t, double)>& progress,
                       KeptLosses* kept)
    : heads_(std::move(heads)), probe_(std::move(probe)), costs_(heads_->base(), heads_->qk(), heads_->vo(), layers) {
  const auto runs = [&](const HeadPlace& place) { return static_cast<double>(heads_->base().layers - place.layer); };
  double all = 0, done = 0;
  for (const HeadPlace& place : costs_.places()) all += runs(place);
  for (const HeadPlace& place : costs_.places()) {
    const std::vector<int64_t> ranks = costs_.ranks_of(place);
    const auto at = static_cast<double>(ranks.back()) * measured_share;
    const int64_t rank = *std::min_element(ranks.begin(), ranks.end(), [&](int64_t a, int64_t b) {
      return std::abs(static_cast<double>(a) - at) < std::abs(static_cast<double>(b) - at);
    });
    const std::string name = fmt::format("head/{:d}/{}/{}/{}", place.is_vo, place.layer, place.kv_head, rank);
    const double kl = kept_loss(kept, name, [&] {
      if (progress) progress(std::ssize(measured_), std::ssize(costs_.places()), done / all);
      return std::max(0.0, probe_->kl(heads_->edit(costs_.with(place, rank)), place.layer));
    });
    const double lost = heads_->tail(place, rank);
    measured_.push_back(kl);
    per_tail_.push_back(lost > 0 ? kl / lost : 0);
    done += runs(place);
  }
}

std::vector<BudgetItem> HeadBudget::items(BudgetOf of, std::vector<std::vector<int64_t>>& ranks) const {
  std::vector<BudgetItem> items;
  const std::vector<HeadPlace>& places = costs_.places();
  for (size_t i = 0; i < places.size(); ++i) {
    BudgetItem item;
    item.name = fmt::format("{} of layer {}, key-value head {}", places[i].is_vo ? "values" : "queries and keys",
                            places[i].layer, places[i].kv_head);
    std::vector<int64_t>& own = ranks.emplace_back();
    for (const auto& [rank, cost] : costs_.options(of, places[i])) {
      own.push_back(rank);
      item.loss.push_back(rank == 0 ? 0 : per_tail_[i] * heads_->tail(places[i], rank)), item.cost.push_back(cost);
    }
    items.push_back(std::move(item));
  }
  return items;
}

CompressionPlan HeadBudget::spend(BudgetOf of, double budget) const {
  costs_.require_possible(of, budget);
  std::vector<std::vector<int64_t>> ranks;
  const std::vector<BudgetItem> choices = items(of, ranks);
  double fixed = costs_.full(of);
  for (const BudgetItem& item : choices) fixed -= item.cost.back();
  const std::vector<size_t> chosen = spend_budget(choices, budget - fixed);
  CompressionPlan plan = costs_.nothing();
  const std::vector<HeadPlace>& places = costs_.places();
  for (size_t i = 0; i < places.size(); ++i) places[i].rank_in(plan) = ranks[i][chosen[i]];
  return plan;
}

double HeadBudget::measured_kl(const CompressionPlan& plan) const {
  const std::set<int64_t> changed = changed_layers(plan);
  return changed.empty() ? 0 : probe_->kl(heads_->edit(plan), *changed.begin());
}

CompressionPlan HeadBudget::within(BudgetOf of, double kl) const {
  require(std::isfinite(kl) && kl > 0, "budget: a KL divergence of {} cannot be kept within", kl);
  double low = costs_.least(of), high = costs_.full(of);
  CompressionPlan best = costs_.nothing();
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
