#include "experiments/tools/compress/compression.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/cpu/kernel_level.h"
#include "engine/transfer.h"
#include "experiments/output/file.h"
#include "experiments/output/plot/svg.h"
#include "experiments/output/text.h"
#include "experiments/tools/compress/divergence.h"
#include "experiments/tools/compress/size_note.h"
#include "experiments/version.h"
#include "models/files/file_size.h"
#include "tasks/compression/perplexity_base.h"
#include "tasks/data/sha256.h"

namespace headroom::experiments {
namespace {

/// Both models' perplexities, of matrices in f32: before --dtype rounds those that changed.
void measure(const CompressArguments& arguments, const CompressJob& job, engine::Device device, Compression& done) {
  if (!job.evaluation) return;
  const auto compressed =
      job.base->edited(done.tried.empty() ? done.made.edit : as_written(arguments, done.made.edit), device);
  const auto measured =
      tasks::perplexity_base(*job.base, "evaluation", job.evaluation->tokens, arguments.context, device);
  done.before.perplexity = measured->uncompressed();
  done.after.perplexity = measured->measure(*compressed, *job.request.layers.begin());
}

/// Where measured losses are kept, under everything that they depend on but how much may go.
void keep_losses(const CompressArguments& a, CompressJob& job) {
  const TextRange& text = *job.calibration;
  const std::string of =
      fmt::format("{} {} {} {} {} {} {}:{} {} {} {} {} {} {}", version(), engine::kernel_level(), a.device,
                  tasks::sha256_of_model(a.model), a.part, a.remove, text.begin, text.end, text.sha256, a.method,
                  a.vo_method, fmt::join(job.request.layers, ","), a.context, a.budget_tokens);
  job.request.kept = std::make_shared<tasks::KeptLosses>(
      (a.out.ends_with('/') ? a.out.substr(0, a.out.size() - 1) : a.out) + ".losses", of);
  if (const size_t found = job.request.kept->found())
    a.training.note(
        fmt::format("{} has {} measured losses: goes on from there", job.request.kept->file().string(), found));
}

/// "12 of 90 kv-heads: layer 3: 0, 2; layer 7: 1", "2 of 30 layers: 3, 7", "the attention of 2 of 30 layers: 3, 7".
std::string removed_text(const CompressArguments& arguments, const tasks::Compressed& made) {
  const tasks::RemovedPart part = tasks::removed_part_named(arguments.remove);
  const bool is_attention = part == tasks::RemovedPart::attention;
  std::string text = fmt::format("{}{} of {} {}", is_attention ? "the attention of " : "", made.removed.size(),
                                 made.pieces, is_attention ? "layers" : arguments.remove);
  if (arguments.refit) text += ", output refit";
  const bool has_index = part == tasks::RemovedPart::heads || part == tasks::RemovedPart::key_value_heads;
  int64_t layer = -1;
  for (const tasks::RemovedPiece& piece : made.removed) {
    const char* lead = layer < 0 ? ": " : has_index && piece.layer != layer ? "; " : ", ";
    text += has_index && piece.layer != layer ? fmt::format("{}layer {}: {}", lead, piece.layer, piece.index)
                                              : fmt::format("{}{}", lead, has_index ? piece.index : piece.layer);
    layer = piece.layer;
  }
  return text;
}

models::ModelCard card_of(const CompressArguments& arguments, const CompressJob& job, const tasks::Compressed& made,
                          const ModelAccount& before, const ModelAccount& after) {
  models::ModelCard card{.base = arguments.model};
  card.base_bytes = before.bytes;
  card.base_sha256 = tasks::sha256_of_model(arguments.model);
  card.made_by = arguments.command;
  card.program = fmt::format("headroom {}", version());
  const auto part = [&](const char* name, const char* method, const std::vector<std::vector<int64_t>>& ranks) {
    models::ModelCard::Part own{.name = name, .method = method, .ranks = {}};
    for (const int64_t layer : tasks::changed_layers(made.plan))
      own.ranks.emplace_back(fmt::format("layer {}", layer),
                             fmt::format("{}", fmt::join(ranks[static_cast<size_t>(layer)], ", ")));
    card.parts.push_back(std::move(own));
  };
  const auto& [qk, vo] = std::pair(made.plan.qk, made.plan.vo);
  if (qk != tasks::QkMethod::none) part("queries and keys", name_of(qk), made.plan.qk_ranks);
  if (vo != tasks::VoMethod::none) part("values and output", name_of(vo), made.plan.vo_ranks);
  if (job.request.removed)
    card.parts.push_back({.name = "removed", .method = removed_text(arguments, made), .ranks = {}});
  const auto text = [](const TextRange& range) {
    return models::ModelCard::Text{range.file, range.sha256, range.begin, range.end};
  };
  if (job.calibration) card.calibration = text(*job.calibration);
  if (job.evaluation) card.evaluation = text(*job.evaluation);
  if (job.refinement)
    card.refinement =
        fmt::format("{}, {} steps of {} x {} tokens of {} [{}, {}), SHA-256 {}", arguments.refine,
                    arguments.training.steps, arguments.training.batch, arguments.training.context,
                    job.refinement->file, job.refinement->begin, job.refinement->end, job.refinement->sha256);
  const auto measure_of = [&](const std::string& name, double old, double now) {
    card.measures.push_back({.name = name, .before = old, .after = now});
  };
  measure_of("parameters", static_cast<double>(before.parameters), static_cast<double>(after.parameters));
  measure_of(fmt::format("key-value cache, bytes per token{}", after.names_types ? "" : " (f16)"), before.cache_bytes,
             after.cache_bytes);
  if (made.cache)
    card.notes.push_back(
        fmt::format("Key-value cache as the config names it for each head: {} bytes per token; the "
                    "original's takes {} in f16.",
                    made.cache->bytes, made.cache->original));
  if (after.perplexity) {
    measure_of(fmt::format("perplexity (disjoint {})", arguments.context), before.perplexity->ppl,
               after.perplexity->ppl);
    const PerplexityRatio ratio = perplexity_ratio(*after.perplexity);
    if (after.perplexity->windows > 1)
      card.notes.push_back(fmt::format("Perplexity over the original's: {:.4f} [{:.4f}, {:.4f}] at 95 %, {} windows.",
                                       ratio.value, ratio.low, ratio.high, after.perplexity->windows));
    card.measures.push_back({.name = "KL from the original, nats", .after = after.perplexity->against->kl_mean});
  }
  return card;
}

nlohmann::ordered_json json_of(const std::optional<TextRange>& range) {
  if (!range) return {};
  return {{"file", range->file}, {"sha256", range->sha256}, {"tokens", {range->begin, range->end}}};
}

/// The speeds of both models as `generate` runs them: weights as the files hold them.
void measure_files(const CompressArguments& arguments, const CompressJob& job, engine::Device device,
                   ModelAccount& before, ModelAccount& after) {
  const int64_t prompt = std::min<int64_t>(arguments.context, job.description().context - 32);
  const engine::DeviceScope scope(device);
  const auto written = models::ModelFiles::open(arguments.out);
  const auto first = job.base->files().load({.keep = models::Keep::stored}),
             second = written->load({.keep = models::Keep::stored});
  std::tie(before.speed, after.speed) = measure_speeds(*first, *second, prompt, 32);
}

/// What to do about a perplexity that rose by more than a tenth, which is shown; "" where it did not.
std::string loss_note(const CompressArguments& arguments, const ModelAccount& after) {
  constexpr double much = 1.1;
  if (!after.perplexity || after.perplexity->windows < 2) return "";
  const PerplexityRatio ratio = perplexity_ratio(*after.perplexity);
  if (ratio.low <= much) return "";
  return fmt::format(
      "a perplexity {:.2f} times the original's is a poor trade; {}`headroom compress {} -o OUT` alone "
      "looks for what costs at most 1 %",
      ratio.value, arguments.refine.empty() ? "--refine logits wins part of it back, " : "",
      shell_word(arguments.model));
}

/// Which types of a cache the new widths of heads rule out; "" where none.
std::string cache_note(const models::TransformerConfig& before, const models::TransformerConfig& after) {
  const auto partial = models::partial_blocks(after, engine::BlockFormat::q8_0);
  if (!partial || models::partial_blocks(before, engine::BlockFormat::q8_0)) return "";
  return fmt::format("heads of {} cannot be cached in q8_0 or q4_0, whose blocks take {} numbers: f16 remains",
                     partial->dim, partial->block);
}

}  // namespace

PossibleSavings savings_of(const CompressArguments& arguments, const CompressJob& job) {
  return possible_savings(job.description().config, models::model_bytes(arguments.model));
}

std::vector<std::string> steps_of(const CompressArguments& arguments, const CompressJob& job) {
  std::vector<std::string> steps = tasks::steps_of(job.request, job.description().config);
  if (!arguments.curve.empty()) steps.emplace_back("curve");
  if (job.evaluation) steps.emplace_back("perplexity");
  steps.emplace_back("writing");
  if (!arguments.without_speed) steps.emplace_back("speed");
  return steps;
}

Compression compress(const CompressArguments& arguments, CompressJob& job, const tasks::CompressionProgress& progress) {
  const engine::Device device = engine::device_of(arguments.device);
  Compression done;
  if (job.request.allowance.is_measured()) keep_losses(arguments, job);
  if (job.request.allowance.of == tasks::Allowance::Of::cache_tried) search_by_loss(arguments, job, device, done.tried);
  done.made = tasks::compress(*job.base, job.request, device, progress);
  const tasks::Compressed& made = done.made;
  if (!done.tried.empty()) require_good(done.tried, arguments, job);
  if (!arguments.curve.empty()) {
    done.curve = budget_curve(arguments, job, made, device, progress);
    write_file(arguments.curve, svg_of(curve_plot(done.curve), {.surface = Surface::file}));
  }
  // Without a piece that may go the model is whole, as compat holds it for the same programs.
  const bool is_whole = job.request.removed && made.removed.empty();
  if (is_whole && job.format == models::ExportFormat::plain) job.format = models::ExportFormat::compat;
  done.before = counted(job.description().config, arguments.context);
  const models::TransformerConfig written =
      written_config(job.format, job.base->files(), made.edit.config, arguments.out);
  done.after = counted(written, arguments.context);
  if (!done.after.names_types) done.cache_note = cache_note(job.description().config, written);
  done.before.bytes = models::model_bytes(arguments.model);
  const auto begins = [&](const char* step) {
    if (progress) progress(step, 0);
  };
  if (job.evaluation) begins("perplexity: of both models");
  measure(arguments, job, device, done);
  // The files are all that is needed of it from here on.
  job.base = std::make_shared<tasks::StudiedModel>(models::ModelFiles::open(arguments.model));
  models::ExportOptions options{.force = arguments.force};
  if (!arguments.dtype.empty()) options.type = models::weight_type_named(arguments.dtype);
  options.card = card_of(arguments, job, made, done.before, done.after);
  done.calibration_note = calibration_note(job);
  for (const std::string& note : {made.shortage, done.calibration_note})
    if (!note.empty()) options.card->notes.push_back(note);
  begins("writing: reads it back");
  done.written = models::export_model(job.base->files(), made.edit, job.format, arguments.out, options);
  done.after.bytes = done.written.bytes;
  if (job.request.kept) job.request.kept->remove();
  if (!arguments.without_speed) begins("speed: of both models");
  if (!arguments.without_speed) measure_files(arguments, job, device, done.before, done.after);
  done.size_note = size_note(arguments, job, made.edit, done.before, done.after);
  return done;
}

nlohmann::ordered_json json_of(const CompressArguments& arguments, const CompressJob& job, const Compression& done) {
  nlohmann::ordered_json out{{"out", arguments.out},
                             {"format", arguments.format},
                             {"loads_in", models::loaded_by(job.format, arguments.out)},
                             {"qk_method", name_of(done.made.plan.qk)},
                             {"vo_method", name_of(done.made.plan.vo)},
                             {"ranks", rank_option(arguments)},
                             {"qk_ranks", done.made.plan.qk_ranks},
                             {"vo_ranks", done.made.plan.vo_ranks},
                             {"calibration", json_of(job.calibration)},
                             {"shortage", done.made.shortage},
                             {"evaluation", json_of(job.evaluation)},
                             {"context", arguments.context},
                             {"possible_savings", json_of(savings_of(arguments, job))}};
  if (!job.cut.splitter.empty()) add_text_cut(job.cut, out);
  if (job.request.removed) {
    out["remove"] = arguments.remove;
    out["removed"] = nlohmann::ordered_json::array();
    for (const tasks::RemovedPiece& piece : done.made.removed) out["removed"].push_back({piece.layer, piece.index});
  }
  if (done.made.refinement)
    out["refinement"] = {{"target", arguments.refine},
                         {"steps", arguments.training.steps},
                         {"text", json_of(job.refinement)},
                         {"trained", done.made.refinement->trained},
                         {"first_loss", done.made.refinement->first_loss},
                         {"last_loss", done.made.refinement->last_loss}};
  if (done.made.cache) out["budget"] = json_of(arguments, done.made, done.curve);
  if (!done.tried.empty()) out["tried"] = json_of(done.tried);
  out["before"] = json_of(done.before);
  out["after"] = json_of(done.after);
  out["logit_error"] = done.written.logit_error;
  if (!done.size_note.empty()) out["size_note"] = done.size_note;
  if (!done.cache_note.empty()) out["cache_note"] = done.cache_note;
  if (!done.calibration_note.empty()) out["calibration_note"] = done.calibration_note;
  return out;
}

std::string text_of(const CompressArguments& arguments, const CompressJob& job, const Compression& done) {
  std::string out = done.tried.empty() ? "" : text_of(done.tried, job, done.made, done.before.perplexity->windows);
  if (done.made.cache) out += text_of(arguments, done.made, done.curve);
  const auto add_note = [&](const std::string& note) {
    if (!note.empty()) out += fmt::format("note     {}\n", note);
  };
  if (!arguments.remove.empty()) out += fmt::format("removed  {}\n", removed_text(arguments, done.made));
  add_note(done.made.shortage);
  add_note(done.calibration_note);
  if (const auto& refinement = done.made.refinement)
    out += fmt::format("refined  {} numbers in {} steps: loss {:.4g}, then {:.4g}\n", refinement->trained,
                       arguments.training.steps, refinement->first_loss, refinement->last_loss);
  add_note(done.size_note);
  add_note(done.cache_note);
  out += table_of(done.before, done.after, arguments.context);
  add_note(loss_note(arguments, done.after));
  for (const std::string& note : done.written.notes) add_note(note);
  return out + fmt::format("written  {}: {}, {}; read back: logits differ by at most {:.2g} of {:.3g}\n", arguments.out,
                           done.written.written, models::size_text(done.written.bytes), done.written.logit_error,
                           done.written.largest_logit);
}

}  // namespace headroom::experiments
