#include "experiments/tools/compress/loss_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "experiments/output/whisker.h"
#include "experiments/output/wrap.h"
#include "models/write/write_compact.h"
#include "tasks/compression/perplexity_base.h"

namespace headroom::experiments {
namespace {

Whisker whisker_of(const PerplexityRatio& ratio, double most) {
  return {.value = ratio.value, .low = ratio.low, .high = ratio.high, .most = most, .is_ratio = true};
}

}  // namespace

models::ModelEdit as_written(const CompressArguments& arguments, const models::ModelEdit& edit) {
  return models::rounded(edit, models::weight_type_named(arguments.dtype));
}

void search_by_loss(const CompressArguments& arguments, CompressJob& job, engine::Device device,
                    std::vector<TriedCache>& tried) {
  tasks::CompressionRequest& request = job.request;
  request.accepts = [&, device](const tasks::MeasuredPlan& plan, const models::ModelEdit& edit, int64_t bytes) {
    const TextRange& text = *job.evaluation;
    const auto base = tasks::perplexity_base(*job.base, "evaluation", text.tokens, arguments.context, device);
    std::optional<tasks::Perplexity> measured;
    const auto of_measured = [&](const char* what, double tasks::Divergence::*number) {
      const std::string name = fmt::format("try/{}/{}/{}:{}/{}/{}/{}", arguments.dtype, text.sha256, text.begin,
                                           text.end, bytes, plan.kl, what);
      return tasks::kept_loss(request.kept.get(), name, [&] {
        if (!measured) measured = base->measure(*job.base->edited(as_written(arguments, edit), device), 0);
        return (*measured->against).*number;
      });
    };
    const tasks::Divergence against{.nll_added = of_measured("added", &tasks::Divergence::nll_added),
                                    .stderr_added = of_measured("error", &tasks::Divergence::stderr_added)};
    const PerplexityRatio ratio = perplexity_ratio({.windows = base->uncompressed().windows, .against = against});
    tried.push_back({bytes, ratio, ratio.high <= 1 + request.allowance.value});
    return tried.back().is_good;
  };
}

void require_good(const std::vector<TriedCache>& tried, const CompressArguments& arguments, const CompressJob& job) {
  const auto by_end = [](const TriedCache& a, const TriedCache& b) { return a.ratio.high < b.ratio.high; };
  const TriedCache& least = *std::min_element(tried.begin(), tried.end(), by_end);
  const Whisker whisker = whisker_of(least.ratio, 1 + job.request.allowance.value);
  require(least.is_good,
          "--budget {}: the best of {} smaller caches tried, of {} bytes a token, has a perplexity of {}, needs {}; "
          "allow more loss, or measure on a longer text (--eval), which narrows the interval",
          arguments.budget, tried.size(), least.bytes, interval_words(whisker), bound_words(whisker));
}

std::string text_of(const std::vector<TriedCache>& tried, const CompressJob& job, const tasks::Compressed& made,
                    int64_t windows) {
  const double most = 1 + job.request.allowance.value;
  std::vector<TriedCache> all = tried;
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  std::string out = "tried    bytes a token   of f16   perplexity on --eval\n", kept;
  for (const TriedCache& one : all) {
    const std::string number = interval_words(whisker_of(one.ratio, most));
    out += fmt::format("         {:>13}   {:>6.3f}   {}\n", one.bytes,
                       static_cast<double>(one.bytes) / static_cast<double>(made.cache->original), number);
    if (one.is_good && one.bytes == made.cache->bytes) kept = number;
  }
  const TextRange& text = *job.evaluation;
  return out +
         wrapped(
             fmt::format("kept     {} bytes a token: perplexity {}, needs {}. This rests on {} tokens of {}, in {} "
                         "windows; another text may lose more: --eval FILE measures yours.",
                         made.cache->bytes, kept, bound_words(whisker_of({}, most)), text.count(), text.file, windows),
             80, 9) +
         "\n";
}

nlohmann::ordered_json json_of(const std::vector<TriedCache>& tried) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const TriedCache& one : tried)
    out.push_back({{"bytes_per_token", one.bytes},
                   {"ppl_ratio", one.ratio.value},
                   {"ppl_ratio_interval", {one.ratio.low, one.ratio.high}},
                   {"is_within", one.is_good}});
  return out;
}

}  // namespace headroom::experiments
