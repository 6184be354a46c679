#include "tasks/compression/cache_budget.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/error.h"
#include "engine/ops/packed_rows/packed_rows.h"
#include "models/costs.h"

namespace headroom::tasks {
namespace {

using engine::BlockFormat;

/// What is measured of each place.
enum LossKind : size_t { rows_rounded, directions_rounded, directions_dropped };
constexpr size_t loss_kinds = 3;

bool is_filled(BlockFormat format, int64_t dim) { return dim % engine::traits_of(format).elements == 0; }

/// The mean square of a format's rounding over that of q4_0: a block's largest number is 8 of q4_0's steps, and 127 of
/// q8_0's. What f16 rounds counts as nothing.
double rounding_of(BlockFormat format) {
  if (format == BlockFormat::q4_0) return 1;
  return format == BlockFormat::q8_0 ? (8.0 / 127) * (8.0 / 127) : 0;
}

int64_t bytes_of(const CacheChoice& choice, int64_t dim) {
  return engine::packed_bytes(choice.format, choice.rank == 0 ? dim : choice.rank);
}

/// Every way to hold rows of `dim` numbers: as they are unless they are joined, and if there is a method, eighths of
/// its directions.
std::vector<CacheChoice> all_choices(int64_t dim, bool has_method, bool is_joined = false) {
  std::vector<CacheChoice> all;
  const int64_t step = std::max<int64_t>(2, dim / 8);
  for (const BlockFormat format : cache_formats) {
    if (!is_joined && is_filled(format, dim)) all.push_back({0, format});
    for (int64_t rank = step; has_method && rank <= dim; rank += step)
      if (is_filled(format, rank)) all.push_back({rank, format});
  }
  return all;
}

int64_t least_bytes(int64_t dim, bool has_method) {
  int64_t least = bytes_of({}, dim);
  for (const CacheChoice& choice : all_choices(dim, has_method)) least = std::min(least, bytes_of(choice, dim));
  return least;
}

void require_narrower_keys(QkMethod qk) {
  require(qk == QkMethod::none || qk == QkMethod::whitened_rotated_grouped || qk == QkMethod::pairs_grouped,
          "cache budget: {} does not make the keys in a cache narrower; use whitened-rotated-grouped or pairs-grouped",
          name_of(qk));
}

int64_t least_of(const models::TransformerConfig& base, QkMethod qk, VoMethod vo, bool joins) {
  int64_t sum = 0;
  for (const models::LayerConfig& layer : models::layers_of(base)) {
    const models::HeadGroup& group = layer.groups.at(0);
    const int64_t heads = group.key_value_heads(), pairs = joins ? heads / 2 : 0;
    const int64_t alone =
        least_bytes(group.qk_dim, qk != QkMethod::none) + least_bytes(group.v_dim, vo != VoMethod::none);
    const int64_t joined = least_bytes(2 * group.qk_dim, true) + least_bytes(2 * group.v_dim, true);
    sum += (heads - 2 * pairs) * alone + pairs * std::min(2 * alone, joined);
  }
  return sum;
}

}  // namespace

CalibrationNeeds cache_budget_needs(QkMethod qk, VoMethod vo, const models::TransformerConfig& base) {
  CalibrationNeeds needs = needs_of(qk, vo);
  needs.joined = can_join(qk, vo, base);
  return needs;
}

int64_t least_cache_bytes(const models::TransformerConfig& base, QkMethod qk, VoMethod vo) {
  require_narrower_keys(qk);
  return least_of(base, qk, vo, can_join(qk, vo, base));
}

void require_cache_bytes(int64_t bytes, const models::TransformerConfig& base, QkMethod qk, VoMethod vo) {
  const int64_t least = least_cache_bytes(base, qk, vo), full = models::cache_bytes(base, BlockFormat::f16);
  require(bytes >= least, "cache budget: {} bytes a token are below the least possible, {}: a share of {:.3g} of f16",
          bytes, least, static_cast<double>(least) / static_cast<double>(full));
}

CacheBudget::CacheBudget(std::shared_ptr<const HeadDecompositions> heads, std::shared_ptr<const LayerProbe> probe,
                         const std::function<void(int64_t, int64_t, double)>& progress, KeptLosses* kept)
    : heads_(std::move(heads)),
      probe_(std::move(probe)),
      nothing_(empty_plan(heads_->base(), heads_->qk(), heads_->vo())) {
  require_narrower_keys(nothing_.qk);
  const bool joins = tasks::can_join(nothing_.qk, nothing_.vo, heads_->base());
  require(heads_->can_join() == joins, "cache budget: the calibration did not look at neighbouring heads together");
  const std::vector<models::LayerConfig> layers = models::layers_of(heads_->base());
  for (const models::LayerConfig& layer : layers) {
    const auto kv_heads = static_cast<size_t>(layer.groups.at(0).key_value_heads());
    nothing_.cache.emplace_back(kv_heads);
    nothing_.joined.emplace_back(kv_heads, false);
  }
  for (int64_t layer = 0; layer < std::ssize(layers); ++layer) {
    const models::HeadGroup& group = layers[static_cast<size_t>(layer)].groups[0];
    for (int64_t head = 0; head < group.key_value_heads(); ++head)
      for (const bool is_vo : {false, true})
        places_.push_back({.at = {is_vo, layer, head}, .dim = is_vo ? group.v_dim : group.qk_dim});
    for (int64_t head = 0; joins && head + 1 < group.key_value_heads(); ++head)
      for (const bool is_vo : {false, true})
        places_.push_back({.at = {is_vo, layer, head, true}, .dim = 2 * (is_vo ? group.v_dim : group.qk_dim)});
  }
  measure(progress, kept);
  for (Place& place : places_) list_choices(place);
}

bool CacheBudget::is_in(const Joined& joined, const HeadPlace& at) {
  const auto head = static_cast<size_t>(at.kv_head);
  const std::vector<bool>& own = joined[static_cast<size_t>(at.layer)];
  return own[head] == at.is_joined && (head == 0 || !own[head - 1]);
}

bool CacheBudget::has_method(const Place& place) const {
  return place.at.is_vo ? nothing_.vo != VoMethod::none : nothing_.qk != QkMethod::none;
}

int64_t CacheBudget::middle_rank(const Place& place) const { return std::max<int64_t>(2, place.dim / 4 * 2); }

std::optional<CacheChoice> CacheBudget::measured_choice(const Place& place, size_t kind) const {
  const bool is_rounded = kind != directions_dropped;
  if ((kind == rows_rounded && place.at.is_joined) || (kind != rows_rounded && !has_method(place)) ||
      (is_rounded && !is_filled(BlockFormat::q4_0, place.dim)))
    return std::nullopt;
  if (kind == rows_rounded) return CacheChoice{0, BlockFormat::q4_0};
  return is_rounded ? CacheChoice{place.dim, BlockFormat::q4_0} : CacheChoice{middle_rank(place), BlockFormat::f16};
}

void CacheBudget::put(CompressionPlan& plan, const Place& place, const CacheChoice& choice) const {
  if (place.at.is_joined && !place.at.of(plan.joined)) {  // the other part: all directions in f16
    const models::HeadGroup group = models::layers_of(heads_->base())[static_cast<size_t>(place.at.layer)].groups[0];
    place.at.of(plan.joined) = true;
    place.at.of(plan.qk_ranks) = 2 * group.qk_dim, place.at.of(plan.vo_ranks) = 2 * group.v_dim;
  }
  place.at.rank_in(plan) = choice.rank;
  HeadCache& cache = place.at.of(plan.cache);
  (place.at.is_vo ? cache.values : cache.keys) = choice.format;
}

CacheChoice CacheBudget::chosen(const CompressionPlan& plan, const Place& place) const {
  const HeadCache& cache = place.at.of(plan.cache);
  return {place.at.rank_in(plan), place.at.is_vo ? cache.values : cache.keys};
}

void CacheBudget::measure(const std::function<void(int64_t, int64_t, double)>& progress, KeptLosses* kept) {
  const int64_t all = std::ssize(places_) * static_cast<int64_t>(loss_kinds);
  const auto layers = [&](const Place& place) { return static_cast<double>(heads_->base().layers - place.at.layer); };
  double runs = 0, run = 0;
  for (const Place& place : places_) runs += layers(place);
  int64_t done = 0;
  for (Place& place : places_) {
    for (size_t kind = 0; kind < loss_kinds; ++kind, ++done) {
      const std::optional<CacheChoice> choice = measured_choice(place, kind);
      if (!choice) continue;
      const HeadPlace& at = place.at;
      const std::string name =
          fmt::format("cache/{:d}/{}/{}/{:d}/{}", at.is_vo, at.layer, at.kv_head, at.is_joined, kind);
      place.loss[kind] = kept_loss(kept, name, [&] {
        if (progress) progress(done, all, run / runs);
        CompressionPlan plan = nothing_;
        put(plan, place, *choice);
        return std::max(0.0, probe_->kl(heads_->edit(plan), at.layer));
      });
    }
    run += layers(place);
  }
  for (const bool is_joined : {false, true})
    for (const bool is_vo : {false, true})
      for (size_t kind = 0; kind < loss_kinds; ++kind) scale(is_vo, is_joined, kind, kept);
}

void CacheBudget::scale(bool is_vo, bool is_joined, size_t kind, KeptLosses* kept) {
  CompressionPlan plan = nothing_;
  double sum = 0;
  for (const Place& place : places_) {
    const std::optional<CacheChoice> choice = measured_choice(place, kind);
    const bool is_counted =
        place.at.is_vo == is_vo && place.at.is_joined == is_joined && (!is_joined || place.at.kv_head % 2 == 0);
    if (is_counted && choice) put(plan, place, *choice), sum += place.loss[kind];
  }
  if (sum == 0) return;
  const double factor = kept_loss(kept, fmt::format("cache/all/{:d}/{:d}/{}", is_vo, is_joined, kind),
                                  [&] { return measured(std::move(plan)).kl; }) /
                        sum;
  for (Place& place : places_)
    if (place.at.is_vo == is_vo && place.at.is_joined == is_joined) place.loss[kind] *= factor;
}

double CacheBudget::loss_of(const Place& place, const CacheChoice& choice) const {
  if (choice.rank == 0) return place.loss[rows_rounded] * rounding_of(choice.format);
  const double middle = heads_->tail(place.at, middle_rank(place)), tail = heads_->tail(place.at, choice.rank);
  const double dropped = middle > 0 ? place.loss[directions_dropped] * std::max(0.0, tail) / middle : 0;
  return dropped + place.loss[directions_rounded] * rounding_of(choice.format);
}

void CacheBudget::list_choices(Place& place) const {
  std::vector<CacheChoice> all = all_choices(place.dim, has_method(place), place.at.is_joined);
  std::stable_sort(all.begin(), all.end(), [&](const CacheChoice& a, const CacheChoice& b) {
    return std::pair(bytes_of(a, place.dim), loss_of(place, a)) < std::pair(bytes_of(b, place.dim), loss_of(place, b));
  });
  for (const CacheChoice& choice : all) {
    const bool is_first = place.choices.empty();
    if (is_first || (bytes_of(choice, place.dim) > bytes_of(place.choices.back(), place.dim) &&
                     loss_of(place, choice) < loss_of(place, place.choices.back())))
      place.choices.push_back(choice);
  }
}

int64_t CacheBudget::bytes(const CompressionPlan& plan) const {
  int64_t sum = 0;
  for (const Place& place : places_)
    if (is_in(plan.joined, place.at)) sum += bytes_of(chosen(plan, place), place.dim);
  return sum;
}

double CacheBudget::expected_kl(const CompressionPlan& plan) const {
  double sum = 0;
  for (const Place& place : places_)
    if (is_in(plan.joined, place.at)) sum += loss_of(place, chosen(plan, place));
  return sum;
}

MeasuredPlan CacheBudget::measured(CompressionPlan plan) const {
  const double kl = probe_->kl(heads_->edit(plan), 0);
  return {std::move(plan), kl};
}

std::optional<CompressionPlan> CacheBudget::plain(BlockFormat format) const {
  CompressionPlan plan = nothing_;
  for (const Place& place : places_) {
    if (!is_in(plan.joined, place.at)) continue;
    if (!is_filled(format, place.dim)) return std::nullopt;
    put(plan, place, {0, format});
  }
  return plan;
}

std::pair<CacheBudget::Joined, int64_t> CacheBudget::joined_at(double price) const {
  // Of each layer's heads, alone and with the next: Σ loss + price · bytes of its keys and values, and the bytes.
  struct Costs {
    std::vector<double> alone, joined;
    std::vector<int64_t> bytes_alone, bytes_joined;
  };
  std::vector<Costs> layers;
  for (const std::vector<bool>& heads : nothing_.joined) {
    const size_t pairs = heads_->can_join() ? heads.size() - 1 : 0;
    layers.push_back({std::vector<double>(heads.size(), 0.0), std::vector<double>(pairs, 0.0),
                      std::vector<int64_t>(heads.size(), 0), std::vector<int64_t>(pairs, 0)});
  }
  for (const Place& place : places_) {
    const auto cost = [&](const CacheChoice& choice) {
      return loss_of(place, choice) + price * static_cast<double>(bytes_of(choice, place.dim));
    };
    const CacheChoice& best = *std::min_element(place.choices.begin(), place.choices.end(),
                                                [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
    Costs& layer = layers[static_cast<size_t>(place.at.layer)];
    const auto head = static_cast<size_t>(place.at.kv_head);
    (place.at.is_joined ? layer.joined : layer.alone)[head] += cost(best);
    (place.at.is_joined ? layer.bytes_joined : layer.bytes_alone)[head] += bytes_of(best, place.dim);
  }
  std::pair<Joined, int64_t> out;
  for (const Costs& layer : layers) {
    const std::vector<bool>& joined = out.first.emplace_back(cheapest_joins(layer.alone, layer.joined));
    for (size_t head = 0; head < joined.size(); head += joined[head] ? 2 : 1)
      out.second += joined[head] ? layer.bytes_joined[head] : layer.bytes_alone[head];
  }
  return out;
}

CacheBudget::Joined CacheBudget::joined_within(int64_t bytes) const {
  double low = 1e-15, high = 1e3;  // nats a byte
  for (int step = 0; step < 60; ++step) {
    const double middle = std::sqrt(low * high);
    (joined_at(middle).second <= bytes ? high : low) = middle;
  }
  return joined_at(high).first;
}

CompressionPlan CacheBudget::mixed(int64_t bytes, bool joins) const {
  require_cache_bytes(bytes, heads_->base(), nothing_.qk, nothing_.vo);
  const Joined joined = joins ? joined_within(bytes) : nothing_.joined;
  std::vector<BudgetItem> items;
  std::vector<const Place*> places;
  for (const Place& place : places_) {
    if (!is_in(joined, place.at)) continue;
    places.push_back(&place);
    BudgetItem& item = items.emplace_back();
    item.name = fmt::format("{} of layer {}, key-value head {}", place.at.is_vo ? "values" : "keys", place.at.layer,
                            place.at.kv_head);
    for (const CacheChoice& choice : place.choices) {
      item.loss.push_back(loss_of(place, choice));
      item.cost.push_back(static_cast<double>(bytes_of(choice, place.dim)));
    }
  }
  const std::vector<size_t> best = spend_budget(items, static_cast<double>(bytes));
  CompressionPlan plan = nothing_;
  for (size_t i = 0; i < places.size(); ++i) put(plan, *places[i], places[i]->choices[best[i]]);
  return plan;
}

MeasuredPlan CacheBudget::spend(int64_t allowed) const {
  MeasuredPlan mix = measured(mixed(allowed));
  if (mix.plan.joined != nothing_.joined && allowed >= least_of(heads_->base(), nothing_.qk, nothing_.vo, false))
    if (MeasuredPlan alone = measured(mixed(allowed, false)); alone.kl < mix.kl) mix = std::move(alone);
  for (const BlockFormat format : cache_formats) {  // the finest that fits
    std::optional<CompressionPlan> plan = plain(format);
    if (!plan || bytes(*plan) > allowed) continue;
    MeasuredPlan finest = measured(*std::move(plan));
    return finest.kl < mix.kl ? finest : mix;
  }
  return mix;
}

MeasuredPlan CacheBudget::within(double kl) const {
  require(std::isfinite(kl) && kl > 0, "cache budget: a KL divergence of {} cannot be kept within", kl);
  MeasuredPlan whole = measured(nothing_);
  require(whole.kl <= kl, "cache budget: a KL divergence of {:.3g} cannot be kept within: the cache in f16 has {:.3g}",
          kl, whole.kl);
  // A 256th of what there is to spend.
  return smallest([&](const MeasuredPlan& plan) { return plan.kl <= kl; }, 8).value_or(std::move(whole));
}

std::optional<MeasuredPlan> CacheBudget::smallest(const std::function<bool(const MeasuredPlan&)>& is_kept,
                                                  int steps) const {
  std::optional<MeasuredPlan> best;
  int64_t low = least() - 1, high = full();
  for (int step = 0; step < steps && high - low > 1; ++step) {
    const int64_t middle = step == 0 ? low + 1 : (low + high) / 2;
    MeasuredPlan plan = spend(middle);
    if (is_kept(plan)) high = middle, best = std::move(plan);
    else low = middle;
  }
  return best;
}

}  // namespace headroom::tasks
