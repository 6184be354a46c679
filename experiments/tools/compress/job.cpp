#include "experiments/tools/compress/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "engine/read_number.h"
#include "experiments/output/file.h"
#include "models/costs.h"
#include "tasks/compression/cache_budget.h"
#include "tasks/data/locate.h"
#include "tasks/layer_set.h"
#include "tasks/measure/text_tokens.h"

namespace headroom::experiments {
namespace {

using Of = tasks::Allowance::Of;

constexpr double usual_loss = 0.01;  ///< of perplexity, where nothing says how much may go

bool has_part(const CompressArguments& arguments, const char* part) {
  return arguments.part == part || arguments.part == "qk,vo";
}

int ways_to_choose(const CompressArguments& a) {
  return a.rank.has_value() + a.mean_rank.has_value() + !std::isnan(a.keep) + !std::isnan(a.cache) + !std::isnan(a.kl) +
         !a.budget.empty();
}

/// Throws Error unless exactly one way to choose ranks was given, and its value makes sense.
void check_ranks(const CompressArguments& a) {
  require(ways_to_choose(a) == 1, "expected one of --rank, --mean-rank, --keep, --cache, --kl and --budget");
  const auto check_rank = [](const char* option, std::optional<int64_t> rank) {
    require(!rank || *rank >= 1, "{} {}: expected 1 or more", option, rank.value_or(0));
  };
  const auto check_share = [](const char* option, double share) {
    require(std::isnan(share) || (share > 0 && share <= 1), "{} {}: expected a share above 0, at most 1", option,
            share);
  };
  check_rank("--rank", a.rank), check_rank("--mean-rank", a.mean_rank), check_rank("--vo-rank", a.vo_rank);
  check_share("--keep", a.keep), check_share("--cache", a.cache);
  require(std::isnan(a.kl) || (std::isfinite(a.kl) && a.kl > 0), "--kl {}: expected nats above 0", a.kl);
  require(!a.vo_rank || a.rank, "--vo-rank needs --rank");
}

/// --budget, "cache=0.5".
tasks::Allowance cache_allowance(const std::string& text) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::string name = text.substr(0, equals), number = text.substr(std::min(equals + 1, text.size()));
  const double most = name == "bytes" ? 1e15 : std::numeric_limits<double>::max();
  const double value = read_number(number, 0.0, most).value_or(0);
  const std::map<std::string, Of> all{
      {"cache", Of::cache_share}, {"bytes", Of::cache_bytes}, {"kl", Of::cache_kl}, {"loss", Of::cache_tried}};
  require(value > 0 && all.contains(name),
          "--budget {}: expected cache=S, a share of the original's cache in f16, bytes=N a token, at most 1e15, kl=X "
          "nats, or loss=S, a share of the perplexity",
          excerpt(text, 40));
  require((name != "cache" && name != "loss") || value <= 1, "--budget {}: expected a share of at most 1", text);
  return {all.at(name), value};
}

tasks::Allowance allowance_of(const CompressArguments& a) {
  if (!a.budget.empty()) return cache_allowance(a.budget);
  if (!std::isnan(a.keep)) return {Of::parameters, a.keep};
  if (!std::isnan(a.cache)) return {Of::cache, a.cache};
  if (!std::isnan(a.kl)) return {Of::kl, a.kl};
  return {a.mean_rank ? Of::same_cost : Of::given};
}

/// What --remove cannot go with.
void check_removal(const CompressArguments& a) {
  require(!a.refit || a.remove == "heads" || a.remove == "kv-heads",
          "--refit fits the output of the heads that stay: needs --remove heads or kv-heads, not {}", a.remove);
  require(a.part.empty() && a.method.empty() && a.vo_method.empty(),
          "--remove {} takes heads out whole: without --part, --method and --vo-method", a.remove);
  require(!std::isnan(a.keep) || !std::isnan(a.kl), "--remove {}: expected --keep S, the share that stays, or --kl X",
          a.remove);
  require(a.refine.empty() || a.format == "compact", "--remove {} --refine {}: needs --format compact", a.remove,
          a.refine);
}

bool asks_for_nothing(const CompressArguments& a) {
  return a.method.empty() && a.remove.empty() && ways_to_choose(a) == 0;
}

bool is_searched(const CompressArguments& a) { return a.budget.starts_with("loss="); }

/// The text on which a loss is measured where none is given: that of the ladders of recipes, or what can be fetched of
/// it.
std::string usual_text() {
  for (const char* name : {"wikitext-2/wiki.test.raw", "wikitext-2/wiki.test.tokens"})
    if (const std::string path = tasks::named_text(name); std::filesystem::exists(path)) return path;
  fail(
      "losses are measured on a text, and wikitext-2 is not here: give --calibrate FILE, or run headroom data fetch "
      "wikitext-2");
}

/// What --budget takes where nothing else is given, and what it cannot go with.
void settle_budget(CompressArguments& a) {
  if (asks_for_nothing(a)) a.budget = fmt::format("loss={}", usual_loss);
  const bool has_budget = !a.budget.empty();
  if (is_searched(a)) {
    if (a.calibrate.empty()) a.calibrate = a.eval.empty() ? usual_text() : a.eval;
    if (a.eval.empty()) a.eval = a.calibrate;
  }
  require(has_budget || a.curve.empty(), "--curve needs --budget");
  require(a.curve.empty() || !a.eval.empty(), "--curve is measured on a text: needs --eval FILE");
  require(!a.refit || !a.remove.empty(), "--refit needs --remove heads or kv-heads");
  if (!a.remove.empty()) return check_removal(a);
  if (a.part.empty()) a.part = has_budget ? "qk,vo" : "qk";
  if (!has_budget) return;
  if (a.vo_method.empty() && a.method.empty() && has_part(a, "vo")) a.vo_method = "whitened";
  if (a.method.empty()) a.method = has_part(a, "qk") ? "whitened-rotated-grouped" : a.vo_method;
  if (a.format.empty()) a.format = "compact";
  require(a.format == "compact", "--budget: a cache's types are held by --format compact alone, not by {}", a.format);
  require(a.layers == "all", "--budget is spent over all layers, not --layers {}", a.layers);
}

/// The middle one of the ranks that a method takes.
int64_t middle_of(const std::vector<int64_t>& ranks) { return ranks.empty() ? 1 : ranks[(ranks.size() - 1) / 2]; }

tasks::CompressionPlan plan_of(const CompressArguments& arguments, const models::TransformerConfig& config,
                               std::set<int64_t>& layers) {
  using tasks::QkMethod, tasks::VoMethod;
  check_ranks(arguments);
  layers = tasks::layers_named(arguments.layers, config.layers, static_cast<uint64_t>(arguments.seed));
  if (!arguments.remove.empty()) {
    if (arguments.format == "plain") layers.erase(0);  // other software reads the width of heads from it
    require(!layers.empty(), "--format plain keeps the first layer whole, and the model has no other");
    tasks::pieces_of(tasks::removed_part_named(arguments.remove), config, layers);
    return tasks::empty_plan(config, QkMethod::none, VoMethod::none);
  }
  const bool has_qk = has_part(arguments, "qk"), has_vo = has_part(arguments, "vo");
  const QkMethod qk = has_qk ? tasks::qk_method_named(arguments.method) : QkMethod::none;
  VoMethod vo = VoMethod::none;
  if (has_vo) vo = tasks::vo_method_named(arguments.vo_method.empty() ? arguments.method : arguments.vo_method);
  require(has_vo || (arguments.vo_method.empty() && !arguments.vo_rank), "--vo-method and --vo-rank need --part vo");
  require(has_qk || !arguments.vo_rank, "--part vo: its rank is --rank, not --vo-rank");
  tasks::require_suited(qk, config);
  const models::HeadGroup head = models::first_layer(config).groups.at(0);
  const std::optional<int64_t> rank = arguments.rank ? arguments.rank : arguments.mean_rank;
  const std::optional<int64_t> of_values = arguments.vo_rank ? arguments.vo_rank : rank;
  const int64_t qk_rank = rank ? *rank : middle_of(tasks::possible_ranks(qk, config, head.qk_dim));
  const int64_t vo_rank = of_values ? *of_values : middle_of(tasks::possible_ranks(vo, head.v_dim));
  const tasks::CompressionPlan plan = tasks::uniform_plan(config, qk, vo, qk_rank, vo_rank, layers);
  tasks::validate(plan, config);
  return plan;
}

TextRange text_of(const std::string& file, const std::string& range, const char* option,
                  const models::Tokenizer& tokenizer, int64_t usual = usual_tokens) {
  return text_range(file, tasks::tokens_of_file(file, tokenizer), range, usual, option);
}

/// One text for both: its beginning is measured, its second half calibrates.
void share_text(CompressArguments& a, const models::Tokenizer& tokenizer) {
  if (a.calibrate.empty() || a.calibrate != a.eval || !a.calibrate_tokens.empty() || !a.eval_tokens.empty()) return;
  const int64_t half = std::ssize(tasks::tokens_of_file(a.eval, tokenizer)) / 2;
  a.eval_tokens = fmt::format(":{}", std::min(half, usual_tokens));
  a.calibrate_tokens = fmt::format("{}:{}", half, half + std::min(half, usual_tokens));
}

void read_texts(CompressArguments& a, CompressJob& job) {
  tasks::CompressionRequest& request = job.request;
  const bool reads_activations = tasks::needs_of(request.plan.qk, request.plan.vo).any();
  const bool has_budget = request.allowance.is_measured();
  require(!reads_activations || !a.calibrate.empty(),
          "method {} is made from what the heads do on a text: needs --calibrate FILE", a.method);
  require(!has_budget || !a.calibrate.empty(), "{} is spent by what heads lose on a text: needs --calibrate FILE",
          rank_option(a));
  require(a.refine.empty() || !a.calibrate.empty() || !a.refine_text.empty(),
          "--refine {} trains on a text: needs --refine-text FILE", a.refine);
  const bool is_calibrated = reads_activations || has_budget;
  require(a.calibrate_tokens.empty() || is_calibrated || !a.refine.empty(),
          "--calibrate-tokens: nothing here is calibrated");
  require(a.eval_tokens.empty() || !a.eval.empty(), "--eval-tokens: needs --eval FILE");
  require((a.refine_text.empty() && a.refine_tokens.empty()) || !a.refine.empty(),
          "--refine-text and --refine-tokens: need --refine");
  if (!is_calibrated && a.refine.empty() && a.eval.empty()) return;
  const auto tokenizer = job.base->tokenizer();
  if (is_calibrated) share_text(a, *tokenizer);
  job.cut = tasks::text_cut(job.description(), *tokenizer);
  if (is_calibrated) job.calibration = text_of(a.calibrate, a.calibrate_tokens, "--calibrate-tokens", *tokenizer);
  if (!a.refine.empty()) {
    job.refinement = a.refine_text.empty()
                         ? text_of(a.calibrate, a.calibrate_tokens, "--calibrate-tokens", *tokenizer)
                         : text_of(a.refine_text, a.refine_tokens, "--refine-tokens", *tokenizer, 400000);
    require(job.refinement->count() > a.training.context, "{}: {} tokens are too few for windows of {}",
            job.refinement->file, job.refinement->count(), a.training.context);
  }
  if (!a.eval.empty()) {
    job.evaluation = text_of(a.eval, a.eval_tokens, "--eval-tokens", *tokenizer);
    require(job.evaluation->count() >= a.context, "{}: {} tokens are fewer than the context of {}", a.eval,
            job.evaluation->count(), a.context);
    require(
        !is_searched(a) || job.evaluation->count() >= 2 * a.context,
        "{}: {} tokens are fewer than two windows of {}, which an interval takes: give a longer text, or --context N",
        a.eval, job.evaluation->count(), a.context);
    if (job.calibration) require_disjoint("calibration", *job.calibration, *job.evaluation);
    if (job.refinement) require_disjoint("refinement", *job.refinement, *job.evaluation);
  }
  if (job.calibration) request.calibration = std::move(job.calibration->tokens);
  if (job.refinement) request.refinement_text = std::move(job.refinement->tokens);
}

/// A config like that of the model to be made.
models::TransformerConfig example_of(const CompressJob& job) {
  const models::TransformerConfig& base = job.description().config;
  const tasks::CompressionRequest& request = job.request;
  if (!request.removed) return tasks::compressed_config(base, request.plan);
  if (request.keeps_shapes) return base;
  return tasks::config_without(base, *request.removed,
                               {tasks::pieces_of(*request.removed, base, request.layers).back()});
}

}  // namespace

std::string calibration_note(const CompressJob& job) {
  constexpr int64_t enough = 4;
  const int64_t width = job.description().config.width;
  if (!job.calibration || job.request.removed || job.calibration->count() >= enough * width) return "";
  return fmt::format(
      "{} tokens of calibration are few for a model of width {}: directions that they do not show count as free; give "
      "{} or more",
      job.calibration->count(), width, std::max(enough * width, usual_tokens));
}

std::string rank_option(const CompressArguments& a) {
  if (a.mean_rank) return fmt::format("--mean-rank {}", *a.mean_rank);
  if (!std::isnan(a.keep)) return fmt::format("--keep {}", a.keep);
  if (!std::isnan(a.cache)) return fmt::format("--cache {}", a.cache);
  if (!std::isnan(a.kl)) return fmt::format("--kl {}", a.kl);
  if (!a.budget.empty()) return "--budget " + a.budget;
  return fmt::format("--rank {}{}", a.rank.value_or(0), a.vo_rank ? fmt::format(" --vo-rank {}", *a.vo_rank) : "");
}

const char* missing_option(const CompressArguments& a) {
  if (asks_for_nothing(a) || !a.budget.empty()) return nullptr;
  if (a.method.empty() && a.remove.empty()) return "--method";
  return a.format.empty() ? "--format" : nullptr;
}

CompressJob job_of(CompressArguments& arguments) {
  CompressJob job;
  tasks::CompressionRequest& request = job.request;
  settle_budget(arguments);
  request.allowance = allowance_of(arguments);
  job.base = std::make_shared<tasks::StudiedModel>(models::ModelFiles::open(arguments.model));
  const models::ModelDescription& description = job.description();
  require(description.not_run.empty(), "{}: is not run here: {}", arguments.model,
          fmt::join(description.not_run, "; "));
  if (is_searched(arguments) && arguments.dtype.empty()) {  // no more bits than the model has
    const double bits = 8 * static_cast<double>(models::model_bytes(arguments.model)) /
                        static_cast<double>(models::parameter_count(description.config));
    arguments.dtype = bits < 12 ? "q8_0" : bits < 24 ? "bf16" : "f32";
  }
  request.plan = plan_of(arguments, description.config, request.layers);
  if (!arguments.remove.empty()) request.removed = tasks::removed_part_named(arguments.remove);
  request.refits_output = arguments.refit;
  const tasks::Allowance& allowance = request.allowance;
  require(!allowance.is_measured() || request.plan.qk != tasks::QkMethod::pairs_even,
          "{}: pairs-even has one width for all heads: use --rank", rank_option(arguments));
  job.format = models::export_format_named(arguments.format);
  request.keeps_shapes = job.format == models::ExportFormat::compat;
  require(!allowance.is_measured() || request.removed || job.format != models::ExportFormat::plain,
          "--format plain has one width for all heads: use --rank, not {}", rank_option(arguments));
  if (!request.removed && (allowance.of == Of::parameters || allowance.of == Of::cache)) {
    // That no ranks reach it is said before a head is measured.
    const tasks::HeadCosts costs(description.config, request.plan.qk, request.plan.vo, request.layers);
    const auto of = allowance.of == Of::cache ? tasks::BudgetOf::cache : tasks::BudgetOf::parameters;
    costs.require_possible(of, allowance.value * costs.full(of));
  }
  if (allowance.of == Of::cache_share || allowance.of == Of::cache_bytes) {
    const int64_t full = models::cache_bytes(description.config, engine::BlockFormat::f16);
    tasks::require_cache_bytes(allowance.bytes(full), description.config, request.plan.qk, request.plan.vo);
  }
  const std::string refusal = models::refusal_of(job.format, job.base->files(), example_of(job), arguments.out);
  require(refusal.empty(), "{}: {}", arguments.out, refusal);
  if (job.format != models::ExportFormat::compact && !arguments.dtype.empty())
    models::check_type(arguments.out, models::weight_type_named(arguments.dtype));
  models::check_target(arguments.model, arguments.out, arguments.force);
  models::check_card(arguments.out, arguments.force);
  for (const std::string& file : {arguments.checkpoint, arguments.curve})
    if (!file.empty()) check_file(file);
  const int64_t longest = description.context;
  if (arguments.context == 0) arguments.context = std::min<int64_t>(512, longest);
  require(arguments.context >= 4 && arguments.context <= longest, "--context {}: expected 4 to the model's {}",
          arguments.context, longest);
  if (!arguments.refine.empty()) {
    arguments.training.target = tasks::refine_target_named(arguments.refine);
    arguments.training.context = std::min(arguments.training.context, longest);
    arguments.training.seed = static_cast<uint64_t>(arguments.seed);
    arguments.training.checkpoint = arguments.checkpoint;
    tasks::validate(arguments.training);
    request.refinement = arguments.training;
  }
  request.context = arguments.context, request.format_tokens = arguments.budget_tokens;
  read_texts(arguments, job);
  return job;
}

}  // namespace headroom::experiments
