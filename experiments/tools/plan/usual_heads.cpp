#include "experiments/tools/plan/answer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "experiments/output/number.h"
#include "experiments/studies/analysis/head_advice.h"

namespace headroom::experiments {
namespace {

std::string usual_reason() {
  return fmt::format(
      "most published decoders have heads of width {} (GPT-2, SmolLM2 and Llama 3.2 1B have 64, Llama 3 8B and Mistral "
      "7B 128)",
      usual_head_dims_text());
}

bool is_text(const HeadChoice& one) {
  return one.kind == "masked" || one.kind == "next-token" || one.kind == "instructions";
}

/// "64", "32, 64 and 256".
std::string list_text(const std::set<int64_t>& numbers) {
  const auto last = std::prev(numbers.end());
  return numbers.size() == 1 ? std::to_string(*last)
                             : fmt::format("{} and {}", fmt::join(numbers.begin(), last, ", "), *last);
}

/// The widest model whose number of heads was swept.
int64_t widest_measured() {
  int64_t widest = 0;
  for (const HeadChoice& one : shipped_choices()) widest = std::max(widest, one.width);
  return widest;
}

}  // namespace

PlanAnswer unmeasured_answer(int64_t width, const std::string& task, const std::vector<HeadChoice>& found) {
  constexpr double alike = 2;
  std::set<int64_t> widths;
  int64_t nearest = found[0].width;
  for (const HeadChoice& one : found) {
    widths.insert(one.width);
    if (factor_between(one.width, width) < factor_between(nearest, width)) nearest = one.width;
  }
  const HeadAdvice advice = head_advice(curves_of(found), nearest);
  const int64_t heads = advice.heads;
  PlanAnswer answer;
  answer.sure = fmt::format("a guess: models for {} were trained only at width {}.", task, list_text(widths));
  if (factor_between(nearest, width) <= alike && width % heads == 0) {
    answer.basis = "guess";
    answer.heads = heads;
    answer.head_dim = width / heads;
    answer.advice = fmt::format("start with {}: as many as at width {}", heads_text(heads, answer.head_dim), nearest);
    answer.because = fmt::format("width {} is the nearest that was measured, and {} are the answer there", nearest,
                                 heads_text(heads, advice.head_dim));
  } else if (is_text(found[0])) {
    const int64_t dim = usual_head_dim(width);
    answer.basis = "convention";
    answer.heads = width / dim;
    answer.head_dim = dim;
    answer.advice = fmt::format("start with {}: the usual width of heads", heads_text(width / dim, dim));
    answer.because = usual_reason();
  } else {
    answer.basis = "none";
    answer.advice = fmt::format("no advice: nothing was measured for {} near width {}", task, width);
    answer.because = fmt::format(
        "the best number depends on the width of a token and on how far back the target looks; plan --width {} "
        "--token-dim d --decay r1,r2,… gives what the paper's bound says",
        width);
  }
  return answer;
}

PlanAnswer usual_answer(const CostPlan& plan) {
  const models::TransformerConfig& config = plan.request.model.config;
  const models::HeadGroup group = models::first_layer(config).groups.front();
  const int64_t usual = usual_head_dim(config.width);
  const std::string own = heads_text(group.heads, group.v_dim);
  if (config.width <= widest_measured())
    return {.advice = fmt::format("keep {}, and try other numbers", own),
            .basis = "none",
            .because = fmt::format("a model of width {} is narrow enough to train with each number of heads "
                                   "(docs/studies.md), and sizes alone do not say which is best",
                                   config.width),
            .sure = fmt::format("no advice: headroom plan --for TASK --width {} says what such models did best with on "
                                "a task",
                                config.width),
            .costs = cost_answer(plan)};
  const bool is_usual = factor_between(group.v_dim, usual) < 2;
  return {.advice = is_usual
                        ? fmt::format("keep {}: the usual width for a model as wide as {}", own, config.width)
                        : fmt::format("start with {}, the usual width for a model as wide as {}; as given it has {}",
                                      heads_text(config.width / usual, usual), config.width, own),
          .basis = "convention",
          .heads = is_usual ? group.heads : config.width / usual,
          .head_dim = is_usual ? group.v_dim : usual,
          .because = usual_reason(),
          .sure = fmt::format("a convention: sizes alone do not say how many heads are best, and the studies here "
                              "swept that number at widths up to {}. Where single earlier tokens must be fetched the "
                              "number matters far more: add --decay or --from-text.",
                              widest_measured()),
          .costs = cost_answer(plan)};
}

}  // namespace headroom::experiments
