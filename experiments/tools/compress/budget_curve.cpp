#include "experiments/tools/compress/budget_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/error.h"
#include "experiments/output/wrap.h"
#include "experiments/tools/compress/divergence.h"
#include "tasks/compression/perplexity_base.h"

namespace headroom::experiments {
namespace {

const char* format_name(engine::BlockFormat format) { return engine::traits_of(format).name; }

/// Budgets of the curve from the largest: the plain formats' bytes, half of q8_0's, shares of f16's and what was
/// bought.
std::set<int64_t, std::greater<>> curve_budgets(const tasks::CacheBudget& budget, int64_t bought) {
  std::set<int64_t, std::greater<>> all{bought};
  for (const double share : {0.75, 0.4, 0.2})
    all.insert(static_cast<int64_t>(share * static_cast<double>(budget.full())));
  for (const engine::BlockFormat format : tasks::cache_formats)
    if (const auto plan = budget.plain(format); plan && format != engine::BlockFormat::f16) {
      all.insert(budget.bytes(*plan));
      if (format == engine::BlockFormat::q8_0) all.insert(budget.bytes(*plan) / 2);
    }
  std::erase_if(all, [&](int64_t bytes) { return bytes < budget.least(); });
  return all;
}

double ratio(const CurvePoint& point) { return std::exp(point.measured.against->nll_added); }
double kl(const CurvePoint& point) { return point.measured.against->kl_mean; }

/// "34 q8_0, 20 q4_0 of 64 directions": how many heads' keys or values, or those of two heads, are held in what way.
std::string choices_text(const tasks::CompressionPlan& plan, bool are_values) {
  std::map<std::string, int64_t> counts;
  for (size_t layer = 0; layer < plan.cache.size(); ++layer)
    for (size_t head = 0; head < plan.cache[layer].size(); ++head) {
      if (head > 0 && plan.is_joined(layer, head - 1)) continue;
      const tasks::HeadCache& cache = plan.cache[layer][head];
      const int64_t rank = (are_values ? plan.vo_ranks : plan.qk_ranks)[layer][head];
      ++counts[fmt::format("{}{}{}", format_name(are_values ? cache.values : cache.keys),
                           rank == 0 ? "" : fmt::format(" of {} directions", rank),
                           plan.is_joined(layer, head) ? " shared by two heads" : "")];
    }
  std::string text;
  for (const auto& [way, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, way);
  return text;
}

std::string point_name(const CurvePoint& point) {
  return point.plain.empty() ? fmt::format("mix within {}", point.allowed) : "plain " + point.plain;
}

}  // namespace

std::vector<CurvePoint> budget_curve(const CompressArguments& arguments, const CompressJob& job,
                                     const tasks::Compressed& made, engine::Device device,
                                     const tasks::CompressionProgress& progress) {
  const auto measured = tasks::cache_budget(*job.base, job.request, device);
  const tasks::CacheBudget& budget = *measured;
  const auto text = tasks::perplexity_base(*job.base, "evaluation", job.evaluation->tokens, arguments.context, device);
  const auto budgets = curve_budgets(budget, made.cache->bytes);
  const auto all = static_cast<double>(tasks::cache_formats.size() + budgets.size());
  std::vector<CurvePoint> curve;
  const auto add = [&](const std::string& plain, int64_t allowed, const tasks::CompressionPlan& plan) {
    progress(fmt::format("curve: {} bytes a token", allowed), static_cast<double>(curve.size()) / all);
    const auto model = job.base->edited(budget.heads().edit(plan), device);
    curve.push_back({plain, allowed, budget.bytes(plan), text->measure(*model, 0)});
  };
  for (const engine::BlockFormat format : tasks::cache_formats)
    if (const auto plan = budget.plain(format)) add(format_name(format), budget.bytes(*plan), *plan);
  int64_t last = 0;
  for (const int64_t allowed : budgets) {
    const tasks::CompressionPlan plan = budget.spend(allowed).plan;
    if (budget.bytes(plan) != last) add("", allowed, plan);  // a little more may buy the same
    last = budget.bytes(plan);
  }
  return curve;
}

std::string sentence_of(const std::vector<CurvePoint>& curve) {
  constexpr double clearly = 0.95;
  std::string wins, losses;
  for (const CurvePoint& plain : curve) {
    if (plain.plain.empty() || plain.plain == "f16") continue;
    const CurvePoint* best = nullptr;
    for (const CurvePoint& mix : curve)
      if (mix.plain.empty() && mix.bytes <= plain.bytes && (!best || kl(mix) < kl(*best))) best = &mix;
    if (!best) continue;
    const bool wins_here = kl(*best) < clearly * kl(plain);
    std::string& text = wins_here ? wins : losses;
    text += fmt::format(
        "{}{}'s {} bytes a token ({:.4f} times the original's perplexity against {:.4f}, KL {:.2g} "
        "against {:.2g})",
        text.empty() ? "" : " and at ", plain.plain, plain.bytes, ratio(*best), ratio(plain), kl(*best), kl(plain));
  }
  std::string text;
  if (!wins.empty()) text = fmt::format("A mix beats the plain cache type at {}. ", wins);
  if (!losses.empty()) text += fmt::format("No mix beats the plain cache type at {}. ", losses);
  if (!text.empty()) text.pop_back();
  return text;
}

Plot curve_plot(const std::vector<CurvePoint>& curve) {
  Plot plot;
  plot.id = "cache-budget";
  plot.title = "Loss against bytes of the key-value cache";
  plot.x_label = "bytes of the cache a token";
  plot.y_label = "perplexity over the original's";
  std::vector<double> xs, ys;
  for (const bool is_plain : {true, false}) {
    Layer layer{.legend = is_plain ? "plain f16, q8_0, q4_0" : "mixed by budget",
                .colour = category(is_plain ? 0 : 1),
                .style = is_plain ? 1 : 0,
                .marks = {}};
    for (const CurvePoint& point : curve) {
      if (point.plain.empty() == is_plain) continue;
      const PerplexityRatio value = perplexity_ratio(point.measured);
      Mark mark{.x = static_cast<double>(point.bytes), .y = value.value, .low = value.low, .high = value.high};
      if (std::isnan(value.low)) mark.low = mark.high = value.value;
      mark.hover = fmt::format("{}: {} bytes, {:.4f}", point_name(point), point.bytes, value.value);
      plot.description += fmt::format("{}. ", mark.hover);
      xs.push_back(mark.x), ys.insert(ys.end(), {mark.y, mark.low, mark.high});
      layer.marks.push_back(std::move(mark));
    }
    plot.layers.push_back(std::move(layer));
  }
  plot.x = fit_axis(Scale::log2, xs);
  plot.y = fit_axis(Scale::log10, ys);
  return plot;
}

std::string text_of(const CompressArguments& arguments, const tasks::Compressed& made,
                    const std::vector<CurvePoint>& curve) {
  const auto of_original = [&](int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(made.cache->original);
  };
  std::string out;
  if (const std::string sentence = sentence_of(curve); !sentence.empty()) out += wrapped(sentence, 80) + "\n";
  out += fmt::format("budget   {}: {} bytes a token, {:.3f} of {} in f16; KL on --calibrate {:.3g}, {:.3g} expected\n",
                     arguments.budget, made.cache->bytes, of_original(made.cache->bytes), made.cache->original,
                     made.cache->measured_kl, made.cache->expected_kl);
  out += fmt::format("keys     {}\nvalues   {}\n", choices_text(made.plan, false), choices_text(made.plan, true));
  if (curve.empty()) return out;
  out += fmt::format("{:<20}{:>14}{:>10}{:>14}{:>12}\n", "", "bytes a token", "of f16", "perplexity x", "KL");
  for (const CurvePoint& point : curve)
    out += fmt::format("{:<20}{:>14}{:>10.3f}{:>14.4f}{:>12.5f}\n", point_name(point), point.bytes,
                       of_original(point.bytes), ratio(point), kl(point));
  return out + fmt::format("figure   {}\n", arguments.curve);
}

nlohmann::ordered_json json_of(const CompressArguments& arguments, const tasks::Compressed& made,
                               const std::vector<CurvePoint>& curve) {
  nlohmann::ordered_json cache = nlohmann::ordered_json::array();
  for (const std::vector<tasks::HeadCache>& layer : made.plan.cache) {
    nlohmann::ordered_json& heads = cache.emplace_back(nlohmann::ordered_json::array());
    for (const tasks::HeadCache& head : layer)
      heads.push_back({{"keys", format_name(head.keys)}, {"values", format_name(head.values)}});
  }
  nlohmann::ordered_json out{{"asked", arguments.budget},
                             {"bytes_per_token", made.cache->bytes},
                             {"f16_bytes_per_token", made.cache->original},
                             {"expected_kl", made.cache->expected_kl},
                             {"measured_kl", made.cache->measured_kl},
                             {"cache", std::move(cache)},
                             {"joined", made.plan.joined}};
  if (curve.empty()) return out;
  out["finding"] = sentence_of(curve);
  for (const CurvePoint& point : curve) {
    nlohmann::ordered_json own{
        {"plain", point.plain}, {"allowed_bytes", point.allowed}, {"bytes_per_token", point.bytes}};
    add_divergence(point.measured, own);
    out["curve"].push_back(std::move(own));
  }
  return out;
}

}  // namespace headroom::experiments
