#include "tasks/compression/head_budget.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/error.h"

namespace headroom::tasks {
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
