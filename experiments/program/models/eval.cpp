#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/progress_line.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/models/model_arguments.h"
#include "experiments/studies/run/memory_limit.h"
#include "experiments/tools/compress/divergence.h"
#include "models/costs.h"
#include "models/write/convert.h"
#include "tasks/data/locate.h"
#include "tasks/finetune/sentence_classification.h"
#include "tasks/measure/choice_scores.h"
#include "tasks/measure/perplexity.h"
#include "tasks/measure/text_tokens.h"

namespace headroom::experiments {
namespace {

struct EvalArguments {
  ModelArguments model;
  std::string text, protocol = "disjoint", against;
  int64_t context = 512, stride = 0, max_tokens = 0;
  std::string choices, form, label = "label";  ///< form: --template
  std::string classify, text_column;
  std::vector<std::string> answers;
  int64_t max_items = 0;
  bool json = false;
};

/// Unescapes a template typed on a command line: \n, \t and \\.
std::string unescaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    const bool is_code = next == 'n' || next == 't' || next == '\\';
    out += !is_code ? text[i] : next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
    if (is_code) ++i;
  }
  return out;
}

/// Adds the warnings found in the model's files.
nlohmann::ordered_json with_warnings(nlohmann::ordered_json out, const models::ModelDescription& description) {
  if (!description.warnings.empty()) out["warnings"] = description.warnings;
  return out;
}

/// Keeps the first `most` of the items; 0: all.
template <class Item>
void keep_first(std::vector<Item>& items, int64_t most) {
  if (most > 0 && std::ssize(items) > most) items.resize(static_cast<size_t>(most));
}

tasks::ChoiceFile items_of(const EvalArguments& arguments) {
  const bool is_table = !arguments.form.empty();
  if (!is_table && !arguments.answers.empty())
    throw UsageError("--answer goes with --template, which says what a row of the table becomes");
  tasks::ChoiceFile file;
  if (is_table) {
    tasks::ChoiceTable table{unescaped(arguments.form), {}, arguments.label};
    for (const std::string& answer : arguments.answers) table.answers.push_back(unescaped(answer));
    file.items = tasks::read_choice_table(arguments.choices, table);
  } else {
    file = tasks::read_choices(arguments.choices);
  }
  keep_first(file.items, arguments.max_items);
  return file;
}

nlohmann::ordered_json json_of(const tasks::ChoiceScores& s) {
  return {{"items", s.items},
          {"accuracy", s.accuracy},
          {"stderr", s.stderr_accuracy},
          {"accuracy_per_byte", s.accuracy_per_byte},
          {"stderr_per_byte", s.stderr_per_byte},
          {"log_loss", s.log_loss},
          {"stderr_log_loss", s.stderr_log_loss},
          {"commonest", s.commonest},
          {"chance", s.chance},
          {"picked", s.picked}};
}

void print(const tasks::ChoiceScores& s) {
  print_text("{} items\n", s.items);
  print_text("accuracy            {:.4f}  ± {:.4f}\n", s.accuracy, s.stderr_accuracy);
  print_text("accuracy per byte   {:.4f}  ± {:.4f}\n", s.accuracy_per_byte, s.stderr_per_byte);
  print_text("log loss            {:.4f}  ± {:.4f}\n", s.log_loss, s.stderr_log_loss);
  print_text("commonest answer    {:.4f}\n", s.commonest);
  print_text("guessing            {:.4f}\n", s.chance);
}

nlohmann::ordered_json json_of(const ChoiceDifference& d, const std::string& base) {
  return {{"model", base},
          {"accuracy_difference", d.accuracy.value},
          {"accuracy_interval", {d.accuracy.low, d.accuracy.high}},
          {"log_loss_difference", d.log_loss.value},
          {"log_loss_interval", {d.log_loss.low, d.log_loss.high}},
          {"gained", d.gained},
          {"lost", d.lost}};
}

void print(const ChoiceDifference& d, const std::string& base) {
  const auto interval = [](const ChoiceDifference::Mean& m) {
    return fmt::format("{:+.4f}  [{:+.4f}, {:+.4f}] at 95 %", m.value, m.low, m.high);
  };
  print_text("against {}: item by item\naccuracy            {}; {} gained, {} lost\nlog loss            {}\n", base,
             interval(d.accuracy), d.gained, d.lost, interval(d.log_loss));
}

/// Evaluates a classifier on a table's sentences.
void eval_classes(const EvalArguments& arguments) {
  const auto files = models::ModelFiles::open(arguments.model.path);
  const models::ModelDescription& description = files->description();
  require(description.config.pooling == models::Pooling::last,
          "{}: is no classifier (an architecture that ends in ForSequenceClassification); --text and --choices measure "
          "language models",
          arguments.model.path);
  const auto tokenizer = files->tokenizer();
  const tasks::TextCut cut = tasks::text_cut(description, *tokenizer);
  const std::optional<int64_t> bos = cut.begin;
  const tasks::SentenceTable table{.text = arguments.text_column,
                                   .label = arguments.label,
                                   .classes = description.config.output_dim,
                                   .bos = bos ? std::optional(static_cast<int32_t>(*bos)) : std::nullopt,
                                   .longest = description.context};
  std::vector<tasks::LabelledSentence> items = tasks::read_sentences(arguments.classify, table, *tokenizer).items;
  keep_first(items, arguments.max_items);
  const auto model = arguments.model.load(*files);
  const auto count = static_cast<double>(items.size());
  tasks::ClassPredictions p;
  {
    ProgressLine line;
    p = tasks::predict_classes(*model, items, 16, [&](int64_t done) {
      line.show(fmt::format("{}/{} sentences", done, items.size()), static_cast<double>(done) / count);
    });
  }
  if (!arguments.json)
    return print_text("accuracy {:.4f}, cross-entropy {:.4f} ({} sentences, {})\n", p.accuracy, p.cross_entropy,
                      items.size(), cut.words());
  nlohmann::ordered_json json{{"accuracy", p.accuracy}, {"cross_entropy", p.cross_entropy}, {"items", items.size()}};
  add_text_cut(cut, json);
  print_json(with_warnings(std::move(json), description));
}

/// The number of windows that go through the layers together. Weights outside memory are read from the file once for
/// all of them, so as many as fit into 1 GiB of hidden states.
int64_t windows_at_once(const EvalArguments& arguments, const models::ModelDescription& description) {
  constexpr int64_t usual = 8, hidden_bytes = int64_t{1} << 30;
  if (static_cast<double>(models::model_bytes(arguments.model.path)) < 0.8 * memory_limit().bytes) return usual;
  return std::max(usual, hidden_bytes / (4 * arguments.context * description.config.width));
}

nlohmann::ordered_json json_of(const tasks::Perplexity& p, const EvalArguments& arguments, const tasks::TextCut& cut,
                               int64_t cache_bytes, double seconds) {
  nlohmann::ordered_json out{{"tokens_scored", p.tokens_scored},
                             {"nll", p.nll},
                             {"ppl", p.ppl},
                             {"stderr", p.stderr_windows},
                             {"stderr_tokens", p.stderr_tokens},
                             {"nll_sum", p.nll_sum},
                             {"bits_per_byte", p.bits_per_byte},
                             {"windows", p.windows},
                             {"protocol", arguments.protocol},
                             {"context", arguments.context},
                             {"cache", {{"dtype", arguments.model.cache_dtype}, {"bytes_per_token", cache_bytes}}}};
  if (arguments.protocol == "hf-strided") out["stride"] = arguments.stride;
  add_text_cut(cut, out);
  if (p.against) {
    out["against"] = arguments.against;
    add_divergence(p, out);
  }
  out["seconds"] = seconds;
  return out;
}

/// Describes how the text became tokens, and what follows the beginning token.
std::string cut_line(const tasks::TextCut& cut, const std::string& protocol) {
  const char* where = protocol == "disjoint"     ? ", each window"
                      : protocol == "hf-strided" ? ", the whole"
                                                 : ", the whole and, in place of its first token, each window";
  return cut.words() + (cut.begin ? where : "");
}

void print(const tasks::Perplexity& p, const EvalArguments& arguments, const tasks::TextCut& cut, int64_t cache_bytes,
           double seconds) {
  print_text("{} tokens scored, {} of {} tokens ({}){}\ntext           {}\n", p.tokens_scored,
             counted(p.windows, "window"), arguments.context, arguments.protocol,
             arguments.protocol == "hf-strided" ? fmt::format(", stride {}", arguments.stride) : "",
             cut_line(cut, arguments.protocol));
  // A single window says nothing about variation between windows.
  const bool is_one = p.windows < 2;
  print_text("NLL            {:.7f}  {}{:.4f} over tokens\n", p.nll,
             is_one ? "one window, ± " : fmt::format("± {:.4f} over windows, ", p.stderr_windows), p.stderr_tokens);
  print_text("perplexity     {:.5f}{}\n", p.ppl, is_one ? "" : fmt::format("  ± {:.3f}", p.ppl * p.stderr_windows));
  print_text("bits per byte  {:.5f}\n", p.bits_per_byte);
  print_text("cache          {} bytes per token in {}\n", cache_bytes, arguments.model.cache_dtype);
  if (p.against) print_text("{}", divergence_text(p, arguments.against));
  print_text("{:.1f} s, {:.0f} tokens/s\n", seconds, static_cast<double>(p.windows * arguments.context) / seconds);
}

/// Scores the items by the model in `files`, whose adapter `arguments` may name.
tasks::ChoiceScores scores_of(const std::vector<tasks::ChoiceItem>& items, const models::ModelFiles& files,
                              const models::Tokenizer& tokenizer, const ModelArguments& arguments) {
  const models::ModelDescription& description = files.description();
  const auto model = arguments.load(files);
  const tasks::ChoiceOptions options{.context = description.context,
                                     .bos = description.text_begin(),
                                     .cache = arguments.cache_types(description.config)};
  ProgressLine line;
  return tasks::measure_choices(*model, tokenizer, items, options, [&](int64_t done, double accuracy) {
    line.show(fmt::format("{}/{} items  accuracy {:.4f}", done, items.size(), accuracy),
              static_cast<double>(done) / static_cast<double>(items.size()));
  });
}

/// Measures how often the model ranks the right choice first, and how often its base does.
void eval_choices(const EvalArguments& arguments) {
  const auto [items, left_out] = items_of(arguments);
  const auto files = models::ModelFiles::open(arguments.model.path);
  const models::ModelDescription& description = files->description();
  const auto tokenizer = files->tokenizer();
  const tasks::ChoiceScores scores = scores_of(items, *files, *tokenizer, arguments.model);
  std::optional<ChoiceDifference> difference;
  if (!arguments.against.empty()) {
    ModelArguments plain = arguments.model;
    plain.adapter.clear();  // it is MODEL's alone
    const auto base = models::ModelFiles::open(arguments.against);
    difference = choice_difference(scores, scores_of(items, *base, *base->tokenizer(), plain), items);
  }
  const tasks::TextCut cut = tasks::text_cut(description, *tokenizer);
  nlohmann::ordered_json json = json_of(scores);
  add_text_cut(cut, json);
  if (left_out > 0) json["left_out"] = left_out;
  if (difference) json["against"] = json_of(*difference, arguments.against);
  if (arguments.json) return print_json(with_warnings(std::move(json), description));
  print_text("text                {}\n", cut.words());
  print(scores);
  if (left_out > 0) print_text("left out            {} without one best choice, or there twice\n", left_out);
  if (difference) print(*difference, arguments.against);
}

/// Checks the length: most models compute beyond the length they were trained for without complaint.
void check_context(int64_t context, const models::ModelDescription& model, const char* of_what) {
  const int64_t longest = model.context;
  require(context <= longest, "--context {} is longer than that of {}, which is {}", context, of_what, longest);
}

void eval(EvalArguments& arguments, bool has_context) {
  if (arguments.text.empty() + arguments.choices.empty() + arguments.classify.empty() != 2)
    throw UsageError("eval needs --text, --choices or --classify, one of them");
  arguments.model.exact |= !arguments.classify.empty();  // as in finetune
  const ModelScope scope(arguments.model);
  if (!arguments.choices.empty()) return eval_choices(arguments);
  if (!arguments.classify.empty()) return eval_classes(arguments);
  const auto files = models::ModelFiles::open(arguments.model.path);
  const models::ModelDescription& description = files->description();
  const auto tokenizer = files->tokenizer();
  if (!has_context) arguments.context = std::min(arguments.context, description.context);
  if (arguments.stride == 0) arguments.stride = arguments.context;
  check_context(arguments.context, description, "the model");
  const tasks::PerplexityOptions options{.protocol = tasks::protocol_named(arguments.protocol),
                                         .context = arguments.context,
                                         .stride = arguments.stride,
                                         .bos = description.text_begin(),
                                         .cache = arguments.model.cache_types(description.config),
                                         .windows_at_once = windows_at_once(arguments, description)};
  const std::vector<int32_t> text = tasks::tokens_of_file(arguments.text, *tokenizer);
  std::vector<int32_t> tokens = text;
  keep_first(tokens, arguments.max_tokens);
  const auto model = arguments.model.load(*files);
  std::unique_ptr<models::Transformer> base;
  if (!arguments.against.empty()) {
    const auto base_files = models::ModelFiles::open(arguments.against);
    check_context(arguments.context, base_files->description(), "--against");
    require(!base_files->has_tokenizer() || tasks::tokens_of_file(arguments.text, *base_files->tokenizer()) == text,
            "--against {}: its tokenizer splits {} unlike that of {}: their predictions cannot be compared",
            arguments.against, arguments.text, arguments.model.path);
    ModelArguments plain = arguments.model;
    plain.adapter.clear();  // it is MODEL's alone
    base = plain.load(*base_files);
  }
  const auto start = std::chrono::steady_clock::now();
  tasks::Perplexity result;
  {
    ProgressLine line;
    result = tasks::measure_perplexity(
        *model, *tokenizer, tokens, options, base.get(), [&](const tasks::PerplexityProgress& p) {
          line.show(fmt::format("{}/{} windows  ppl {:.4f}", p.windows_done, p.windows, p.ppl),
                    static_cast<double>(p.windows_done) / static_cast<double>(p.windows));
        });
  }
  require(std::isfinite(result.nll), "{}: the negative log-likelihood is {}: {}", arguments.model.path, result.nll,
          arguments.model.overflow(description.config));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const tasks::TextCut cut = tasks::text_cut(description, *tokenizer);
  const int64_t cache_bytes = models::cache_bytes(description.config, options.cache);
  if (arguments.json) print_json(with_warnings(json_of(result, arguments, cut, cache_bytes, seconds), description));
  else print(result, arguments, cut, cache_bytes, seconds);
}

}  // namespace

void add_eval_command(Command app) {
  const Command command = app.command("eval", "measure a trained model's perplexity, choices or classes");
  const auto a = std::make_shared<EvalArguments>();
  add_model_options(command, a->model);
  add_exact_option(command, a->model);
  add_cache_option(command, a->model);
  add_text_options(command, a->text, a->max_tokens);
  command.option("--protocol", a->protocol, "which tokens are scored, and with what context")
      .one_of({"disjoint", "hf-strided", "llamacpp"});
  const Option context =
      command.option("--context N", a->context, "tokens that the model sees at once, at most the model's longest");
  command.option("--stride S", a->stride, "of hf-strided (default: the context)");
  command
      .option("--against BASE", a->against,
              "a base model: perplexity ratio, KL divergence from it, and how often the two agree; of --choices, the "
              "differences item by item")
      .path_by(tasks::named_model);
  command
      .option("--choices FILE", a->choices,
              "in place of a text: items to choose an answer of by log p, one JSON object a line (prompt, choices, "
              "answer), a BIG-bench task.json, or with --template a table with tabs")
      .path_by(tasks::named_text);
  command.option("--template TEXT", a->form,
                 "what a row of the table becomes, with its columns in braces: \"{content}\\nSentiment:\"");
  command
      .option("--answer TEXT", a->answers,
              "an answer of the table's rows; give two or more, in the order of the labels")
      .one_value_each();
  command
      .option("--classify TABLE", a->classify,
              "in place of a text: labelled sentences, as finetune takes them, for a classifier")
      .path_by(tasks::named_text);
  command.option("--text-column COLUMN", a->text_column,
                 "of the sentences to classify (default: the only one besides the label's)");
  command.option("--label COLUMN", a->label, "the table's column with the number of the right answer, from 0");
  command.option("--max-items N", a->max_items, "only the first N items or sentences");
  command.flag("--json", a->json, "one JSON object; \"stderr\": of the NLL over windows, of --choices' accuracy");
  command.action([a, context] { eval(*a, context.is_given()); });
}

}  // namespace headroom::experiments
