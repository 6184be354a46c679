#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/error.h"
#include "experiments/output/file.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/models/model_arguments.h"
#include "experiments/version.h"
#include "models/checkpoints/reference_logits.h"
#include "models/files/atomic_file.h"
#include "models/files/json.h"

namespace headroom::experiments {
namespace {

/// "1 text", "3 texts".
std::string texts_of(const models::ReferenceLogits& reference) {
  return fmt::format("{} {}", reference.texts.size(), reference.texts.size() == 1 ? "text" : "texts");
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
  fmt::print("written  {}: {}\n", arguments.write, texts_of(reference));
}

/// Whether the tokenizer cuts the text as the reference has it, with or without a beginning of text.
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
  // Exact whatever --exact says: a copy that is right must not look wrong.
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
    fmt::print("{}\n  tokens  {}\n  logits  differ by at most {:.2g}, their log-sum-exp by {:.2g}\n",
               models::quoted_name(text.text), tokens, c.worst_logit, c.worst_logsumexp);
    fmt::print("  greedy  {} of {} tokens equal{}\n", c.same_greedy, text.greedy.size(),
               c.greedy_agrees && c.same_greedy < static_cast<int64_t>(text.greedy.size())
                   ? ", then two that are equally likely or the context's end"
                   : "");
  }
  fmt::print("{}: {}, tolerance {:g}{}\n", agrees ? "verified" : "NOT verified", texts_of(reference),
             arguments.tolerance, reference.made_with.empty() ? "" : fmt::format(", against {}", reference.made_with));
  if (!agrees) throw Exit{1};
}

}  // namespace

void add_verify_model_command(Command app) {
  const Command command = app.command("verify-model", "whether a copy of a trained model computes what it should");
  const auto arguments = std::make_shared<VerifyModelArguments>();
  add_model_options(command, arguments->model);
  add_exact_option(command, arguments->model);
  command.option("--against", arguments->against, "known logits of the model").value_name("FILE");
  command.option("--write", arguments->write, "write such a file from this model").value_name("FILE").output();
  command.option("--prompt", arguments->prompts, "with --write: a text to be known (may be given again)")
      .value_name("TEXT")
      .one_value_each();
  command.flag("--force", arguments->force, "with --write: replace what has FILE's name");
  command.option("--tolerance", arguments->tolerance, "largest difference of a logit").show_default();
  command.action([arguments] { verify_model(*arguments); });
}

}  // namespace headroom::experiments
