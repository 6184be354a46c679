#include "experiments/tools/compress/make.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tasks/compression/cache_budget.h"
#include "tasks/compression/head_budget.h"

namespace headroom::experiments {
namespace {

double share(int64_t done, int64_t all) { return static_cast<double>(done) / static_cast<double>(all); }

tasks::TokenBatch calibration_pieces(const CompressJob& job, int64_t context) {
  const std::vector<int32_t>& tokens = job.calibration->tokens;
  return tasks::pieces_of(tokens, 0, std::ssize(tokens), context, job.base->description().text_begin());
}

tasks::Calibration calibration_of(const CompressArguments& arguments, const CompressJob& job,
                                  const models::Transformer& base, const CompressProgress& progress) {
  const tasks::CalibrationNeeds needs = job.limit ? tasks::cache_budget_needs(job.plan.qk, job.plan.vo, base.config())
                                                  : tasks::needs_of(job.plan.qk) | tasks::needs_of(job.plan.vo);
  if (!needs.any()) return {};
  return tasks::calibrate(base, calibration_pieces(job, arguments.context),
                          {.needs = needs, .layers = job.layers, .progress = [&](int64_t done, int64_t all) {
                             progress(fmt::format("calibration: layer {} of {}", done, all), share(done, all));
                           }});
}

/// The share of the time that measuring the first `done` of `all` heads takes, layer after layer, as often as there are
/// parts: what changes in a layer is run from there on, so that the first ones take longest.
double measured_share(const CompressJob& job, int64_t layers, int64_t done, int64_t all) {
  const std::vector<int64_t> order(job.layers.begin(), job.layers.end());
  const int64_t parts = (job.plan.qk != tasks::QkMethod::none) + (job.plan.vo != tasks::VoMethod::none);
  const int64_t heads = all / (parts * std::ssize(order));
  double sum = 0, whole = 0;
  for (int64_t at = 0; at < parts * std::ssize(order) * heads; ++at) {
    const auto runs = static_cast<double>(layers - order[static_cast<size_t>(at / heads) % order.size()]);
    whole += runs;
    if (at < done) sum += runs;
  }
  return sum / whole;
}

/// The plan that the budget buys.
tasks::CompressionPlan spent(const CompressArguments& arguments, const CompressJob& job,
                             const models::Transformer& base, const tasks::HeadDecompositions& heads,
                             const CompressProgress& progress) {
  const tasks::LayerProbe probe(base,
                                tasks::probed_texts(calibration_pieces(job, arguments.context), arguments.context));
  const tasks::HeadBudget budget(heads, probe, job.plan.qk, job.plan.vo, job.layers, [&](int64_t done, int64_t all) {
    progress(fmt::format("budget: head {} of {} measured", done, all),
             measured_share(job, base.config().layers, done, all));
  });
  if (const auto share = budget_share(arguments))
    return budget.spend(share->first, share->second * budget.costs().full(share->first));
  if (!std::isnan(arguments.kl)) return budget.within(budget.costs().saved(), arguments.kl);
  const tasks::BudgetOf of = budget.costs().saved();
  return budget.spend(of, budget.costs().cost(of, job.plan));
}

/// Spends --budget and draws its curve.
SpentBudget spent_on_cache(const CompressArguments& arguments, const CompressJob& job, const models::Transformer& base,
                           const tasks::HeadDecompositions& heads, const CompressProgress& progress) {
  constexpr double late = 0.25;  // of each text: what the readout costs would otherwise be most of the time
  const int64_t length = std::min(arguments.context, arguments.budget_tokens);
  tasks::TokenBatch texts = calibration_pieces(job, length);
  const int64_t wanted = arguments.budget_tokens / length;
  texts.resize(std::min(texts.size(), static_cast<size_t>(wanted)));
  const tasks::LayerProbe probe(base, texts, late);
  const tasks::CacheBudget budget(heads, probe, job.plan.qk, job.plan.vo, [&](int64_t done, int64_t all) {
    progress(fmt::format("budget: loss {} of {} measured", done, all), share(done, all));
  });
  return spend(arguments, job, base, heads, budget, progress);
}

/// Takes out the pieces that --remove names, as many as --keep or --kl allows.
void remove_pieces(const CompressArguments& arguments, const CompressJob& job, const models::Transformer& base,
                   const CompressProgress& progress, CompressedModel& made) {
  const auto weights = job.base->weights({.keep = models::Keep::computed});
  const tasks::HeadRemoval removal(base.config(), *weights, *job.removed, job.layers);
  made.pieces = std::ssize(removal.pieces());
  const int64_t all = std::isnan(arguments.keep) ? made.pieces : removal.count_beside(arguments.keep);
  const tasks::LayerProbe probe(
      base, tasks::probed_texts(calibration_pieces(job, arguments.context), arguments.context, tasks::removal_tokens));
  tasks::RemovalOrder order(removal, probe, [&](int64_t gone, int64_t measured) {
    progress(fmt::format("removal: {} of {} {} gone, {} measured since", gone, made.pieces, arguments.remove, measured),
             share(gone, std::max<int64_t>(1, all)));
  });
  made.removed = std::isnan(arguments.keep) ? order.within(arguments.kl) : order.first(all);
  std::sort(made.removed.begin(), made.removed.end());
  made.edit = job.format == models::ExportFormat::compat ? removal.silenced(made.removed) : removal.edit(made.removed);
}

void refine(const CompressArguments& arguments, const CompressJob& job, const models::Transformer& base,
            const CompressProgress& progress, CompressedModel& made) {
  tasks::RefineConfig training = arguments.training;
  training.bos = job.base->description().text_begin();
  tasks::Refined refined =
      tasks::refine(base, made.edit, job.refinement->tokens, training, [&](int64_t step, double loss) {
        progress(fmt::format("refinement: step {} of {}, loss {:.4g}", step, training.steps, loss),
                 share(step, training.steps));
      });
  made.edit = std::move(refined.edit);
  made.refinement = {refined.first_loss, refined.last_loss, refined.trained};
}

/// Gives the heads the ranks of the plan, or those that a budget buys.
void narrow_heads(const CompressArguments& arguments, const CompressJob& job, const models::Transformer& base,
                  const CompressProgress& progress, CompressedModel& made) {
  const tasks::Calibration calibration = calibration_of(arguments, job, base, progress);
  const models::HeadGroup head = models::first_layer(base.config()).groups.at(0);
  if (calibration.has.any()) made.shortage = calibration.shortage(std::max(head.qk_dim, head.v_dim));
  const tasks::HeadDecompositions heads(*job.base, job.plan.qk, job.plan.vo, calibration, job.layers);
  if (job.limit) {
    made.budget = spent_on_cache(arguments, job, base, heads, progress);
    made.plan = made.budget->plan;
  } else if (job.has_budget) {
    made.plan = spent(arguments, job, base, heads, progress);
  }
  made.edit = heads.edit(made.plan);
}

}  // namespace

CompressedModel make_compressed(const CompressArguments& arguments, const CompressJob& job,
                                const models::Transformer& base, const CompressProgress& progress) {
  CompressedModel made{.plan = job.plan};
  (job.removed ? remove_pieces : narrow_heads)(arguments, job, base, progress, made);
  if (job.refinement) refine(arguments, job, base, progress, made);
  return made;
}

}  // namespace headroom::experiments
