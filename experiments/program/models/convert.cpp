#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/parallel.h"
#include "experiments/output/file.h"
#include "experiments/output/number.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/progress_line.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/models/model_arguments.h"
#include "experiments/tools/compress/job.h"
#include "experiments/tools/compress/size_note.h"
#include "experiments/version.h"
#include "models/adapters/adapter_files.h"
#include "models/checkpoints/reference_logits.h"
#include "models/files/atomic_file.h"
#include "models/files/file_size.h"
#include "models/files/json.h"
#include "models/write/convert.h"
#include "models/write/export.h"
#include "tasks/compression/calibration.h"
#include "tasks/compression/input_squares.h"
#include "tasks/data/sha256.h"

namespace headroom::experiments {
namespace {

struct ConvertArguments {
  std::string model, adapter, out, format, dtype, calibrate, calibrate_tokens;
  bool force = false;
  int threads = 0;
};

/// The format that a model is written in.
models::ExportFormat format_of(const ConvertArguments& arguments) {
  return models::export_format_named(arguments.format.empty() ? "compat" : arguments.format);
}

/// The source with --adapter merged into it.
models::ModelEdit edit_of(const ConvertArguments& arguments, const models::ModelFiles& source) {
  if (arguments.adapter.empty()) return {source.description().config, {}};
  return merged(source, models::read_adapter(arguments.adapter, source));
}

models::ModelCard card_of(const ConvertArguments& arguments) {
  return {.base = std::filesystem::path(arguments.model).filename().string(),
          .base_sha256 = tasks::sha256_of_model(arguments.model),
          .base_bytes = models::model_bytes(arguments.model),
          .made_by = command_as_given(),
          .program = fmt::format("headroom {}", version()),
          .change = "converted"};
}

/// Whether it is written as an edit of its source: a compact model goes to other software's files at full shapes.
bool is_edited(const ConvertArguments& arguments, const models::ModelFiles& source, const models::ModelEdit& edit) {
  return !arguments.format.empty() || !edit.weights.empty() || source.scheme() == models::NameScheme::headroom;
}

models::Conversion converted(const ConvertArguments& arguments, const models::ModelFiles& source,
                             const models::ModelEdit& edit, models::ConvertOptions options) {
  const models::ModelCard card = card_of(arguments);
  if (is_edited(arguments, source, edit))
    return models::export_model(source, edit, format_of(arguments), arguments.out,
                                {.type = options.type,
                                 .importance = options.importance,
                                 .force = options.force,
                                 .progress = options.progress,
                                 .card = card});
  options.card = [&](const models::Conversion& conversion) {
    return text_of(card, source, edit.config.pooling != models::Pooling::none, models::ExportFormat::compat,
                   arguments.out, conversion);
  };
  return models::convert_model(arguments.model, arguments.out, options);
}

/// Throws Error if --calibrate does not fit the other options.
void check_calibration(const ConvertArguments& arguments) {
  require(arguments.calibrate_tokens.empty() || !arguments.calibrate.empty(),
          "--calibrate-tokens: needs --calibrate FILE");
  if (arguments.calibrate.empty()) return;
  require(arguments.dtype.ends_with("_k"), "--calibrate: weighs what q4_k, q5_k and q6_k round: needs such a --dtype");
  require(arguments.format != "compact", "--calibrate: a compact model is written without it");
}

/// The importance of the source's columns on --calibrate.
models::ImportanceOf importance_of(const ConvertArguments& arguments, const models::ModelFiles& source,
                                   const models::ModelEdit& edit) {
  if (arguments.calibrate.empty()) return {};
  require(source.scheme() != models::NameScheme::headroom,
          "--calibrate: {} is a compact model: convert it without, then its file with --calibrate", arguments.model);
  const models::ModelDescription& model = source.description();
  const auto tokenizer = source.tokenizer();
  const TextRange text = text_range(arguments.calibrate, tasks::tokens_of_file(arguments.calibrate, *tokenizer),
                                    arguments.calibrate_tokens, usual_tokens, "--calibrate-tokens");
  constexpr int64_t usual_context = 512;
  const tasks::TokenBatch pieces = tasks::pieces_of(
      text.tokens, 0, text.count(), std::min(usual_context, model.config.max_length), model.text_begin());
  std::map<std::string, engine::Tensor> by_name;
  {
    ProgressLine line;
    const auto show = [&](int64_t done, int64_t all) {
      line.show(fmt::format("calibration: layer {} of {}", done, all),
                static_cast<double>(done) / static_cast<double>(all));
    };
    const bool is_fused = models::family_named(model.family).is_fused();
    for (const auto& [name, squares] : tasks::input_squares(source, edit, pieces, show))
      by_name[models::place_of(source.scheme(), name, is_fused).name] = squares;
  }
  print_text("weighed  by the squares of inputs on {} tokens of {}\n", text.count(), arguments.calibrate);
  return [by_name](const std::string& name) {
    const auto found = by_name.find(name);
    return found == by_name.end() ? engine::Tensor() : found->second;
  };
}

std::string growth_of(const ConvertArguments& arguments, const models::ModelFiles& source,
                      const models::ModelEdit& edit, std::optional<models::WeightType> type, uint64_t after) {
  const auto format = format_of(arguments);
  const auto bytes_in = [&](std::optional<models::WeightType> other) {
    if (!is_edited(arguments, source, edit)) return tensor_bytes(source, arguments.out, {.type = other});
    return export_bytes(source, edit, format, arguments.out, other);
  };
  return growth_note(models::model_bytes(arguments.model), after, type, holds_blocks(format, arguments.out), bytes_in);
}

/// Writes --adapter itself in the layout that OUT asks for.
void convert_adapter(const ConvertArguments& arguments) {
  require(!arguments.adapter.empty(), "--format adapter: needs --adapter");
  require(arguments.dtype.empty(), "--format adapter: is in f32, without --dtype");
  const auto source = models::ModelFiles::open(arguments.model);
  const uint64_t bytes =
      write_adapter(arguments.out, models::read_adapter(arguments.adapter, *source), *source, arguments.force);
  print_text("written  {}: an adapter, {}\n", arguments.out, models::size_text(bytes));
}

void convert(const ConvertArguments& arguments) {
  check_calibration(arguments);
  if (arguments.format == "adapter") return convert_adapter(arguments);
  const engine::ThreadScope threads(arguments.threads > 0 ? arguments.threads : engine::num_threads());
  models::ConvertOptions options;
  if (!arguments.dtype.empty()) options.type = models::weight_type_named(arguments.dtype);
  options.force = arguments.force;
  if (isatty(STDERR_FILENO) != 0)
    options.progress = [](size_t done, size_t all) {
      fmt::print(stderr, "\r{} of {} tensors{}", done, all, done == all ? "\n" : "");
    };
  if (arguments.format != "compact") models::check_type(arguments.out, options.type);
  const auto source = models::ModelFiles::open(arguments.model);
  models::check_target(arguments.model, arguments.out, arguments.force);
  models::check_card(arguments.out, arguments.force);
  const models::ModelEdit edit = edit_of(arguments, *source);
  options.importance = importance_of(arguments, *source, edit);
  const models::Conversion c = converted(arguments, *source, edit, options);
  for (const std::string& note : c.notes) print_text("note     {}\n", note);
  if (const std::string growth = growth_of(arguments, *source, edit, options.type, c.bytes); !growth.empty())
    print_text("note     {}\n", growth);
  fmt::print(
      "compared logits of the new files with the source's{}: they differ by at most {:.2g}, the largest is {:.3g}\n",
      arguments.adapter.empty() ? "" : " and its adapter's", c.logit_error, c.largest_logit);
  print_text("written  {}: {}, {}{}\n", arguments.out, c.written, models::size_text(c.bytes),
             c.rounded ? "" : ", nothing rounded");
}

struct VerifyModelArguments {
  ModelArguments model;
  std::string against, write;
  std::vector<std::string> prompts;
  double tolerance = 6e-4;
  bool force = false;
};

void write_reference(const VerifyModelArguments& arguments) {
  check_file(arguments.write);
  const auto files = models::ModelFiles::open(arguments.model.path);
  const auto model = arguments.model.load(*files);
  models::ReferenceLogits reference{files->description().name, fmt::format("headroom {}", version()), {}};
  std::vector<std::string> prompts = arguments.prompts;
  if (prompts.empty()) prompts = {"The capital of France is", "def fibonacci(n):\n    if n < 2:\n"};
  for (const std::string& prompt : prompts)
    reference.texts.push_back(
        models::measure_text(*model, prompt, files->description().with_begin(files->tokenizer()->encode(prompt))));
  models::write_file(arguments.write, json_of(reference));
  print_text("written  {}: {}\n", arguments.write, counted(std::ssize(reference.texts), "text"));
}

/// Compares the tokenizer with the reference text, with or without a beginning of text.
std::string tokens_in_words(const models::ModelFiles& files, const models::ReferenceText& text, bool& agrees) {
  if (!files.has_tokenizer()) return "not compared, the files hold no tokenizer";
  std::vector<int32_t> ids = files.tokenizer()->encode(text.text);
  bool same = ids == text.ids;
  if (const auto bos = files.description().bos; !same && bos) {
    ids.insert(ids.begin(), static_cast<int32_t>(*bos));
    same = ids == text.ids;
  }
  agrees = agrees && same;
  return same ? "equal" : "differ";
}

void verify_model(const VerifyModelArguments& arguments) {
  require(arguments.against.empty() != arguments.write.empty(), "--against FILE or --write FILE: give one of them");
  require(arguments.prompts.empty() || !arguments.write.empty(), "--prompt: needs --write FILE");
  require(!arguments.force || !arguments.write.empty(), "--force: needs --write FILE");
  require(std::isfinite(arguments.tolerance) && arguments.tolerance > 0, "--tolerance: {} is not above 0",
          arguments.tolerance);
  // Exact regardless of --exact: a correct copy must not look wrong.
  ModelArguments exact = arguments.model;
  exact.exact = true;
  const ModelScope scope(exact);
  if (!arguments.write.empty()) return write_reference(arguments);
  const models::ReferenceLogits reference = models::read_reference_logits(arguments.against);
  const auto files = models::ModelFiles::open(arguments.model.path);
  const auto model = arguments.model.load(*files);
  bool agrees = true;
  for (const models::ReferenceText& text : reference.texts) {
    const std::string tokens = tokens_in_words(*files, text, agrees);
    const models::ReferenceComparison c = models::compare_text(*model, text, arguments.tolerance);
    agrees =
        agrees && c.greedy_agrees && c.worst_logit <= arguments.tolerance && c.worst_logsumexp <= arguments.tolerance;
    print_text("{}\n  tokens  {}\n  logits  differ by at most {:.2g}, their log-sum-exp by {:.2g}\n",
               models::quoted_name(text.text), tokens, c.worst_logit, c.worst_logsumexp);
    print_text("  greedy  {} of {} tokens equal{}\n", c.same_greedy, text.greedy.size(),
               c.greedy_agrees && c.same_greedy < static_cast<int64_t>(text.greedy.size())
                   ? ", then two that are equally likely or the context's end"
                   : "");
  }
  print_text("{}: {}, tolerance {:g}{}\n", agrees ? "verified" : "NOT verified",
             counted(std::ssize(reference.texts), "text"), arguments.tolerance,
             reference.made_with.empty() ? "" : fmt::format(", against {}", reference.made_with));
  if (!agrees) throw Exit{1};
}

}  // namespace

void add_convert_command(Command app) {
  const Command command = app.command("convert", "write a trained model as a GGUF file or a Hugging Face folder");
  const auto a = std::make_shared<ConvertArguments>();
  add_model_argument(command, a->model);
  add_adapter_option(command, a->adapter);
  add_written_model_option(command, a->out);
  command
      .option("--format", a->format,
              "compat: as other software has it (default); compact: a folder for headroom; plain: a compact model's "
              "narrower heads for other software; adapter: the adapter alone, for PEFT or llama.cpp")
      .one_of({"compat", "compact", "plain", "adapter"});
  command
      .option(
          "--dtype", a->dtype,
          "of its matrices, or of those that --adapter changes (default: as the source has them; f32 for changed ones, "
          "and for a folder of quantised ones)")
      .one_of({"f32", "f16", "bf16", "q8_0", "q6_k", "q5_k", "q4_k"});
  add_calibration_options(command, a->calibrate, a->calibrate_tokens,
                          "a text to measure the inputs of matrices on: q4_k, q5_k and q6_k then round least where "
                          "these are largest");
  command.flag("--force", a->force, "overwrite what is there");
  add_threads_option(command, a->threads);
  command.action([a] { convert(*a); });
}

void add_verify_model_command(Command app) {
  const Command command = app.command("verify-model", "check that a copy of a trained model computes what it should");
  const auto a = std::make_shared<VerifyModelArguments>();
  add_model_options(command, a->model);
  add_exact_option(command, a->model);
  command.option("--against FILE", a->against, "known logits of the model");
  command.option("--write FILE", a->write, "write such a file from this model").output();
  command.option("--prompt TEXT", a->prompts, "with --write: a text to include (may be given again)").one_value_each();
  command.flag("--force", a->force, "with --write: replace what has FILE's name");
  command.option("--tolerance", a->tolerance, "largest difference of a logit");
  command.action([a] { verify_model(*a); });
}

}  // namespace headroom::experiments
