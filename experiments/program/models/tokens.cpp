#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "engine/error.h"
#include "engine/ops/concat/concat.h"
#include "engine/ops/log_softmax/log_softmax.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/models/model_arguments.h"
#include "models/files/json.h"
#include "models/files/regular_file.h"
#include "models/model_cache.h"
#include "models/tokenizers/load.h"
#include "tasks/measure/language_model.h"
#include "tasks/measure/text_tokens.h"

namespace headroom::experiments {
namespace {

struct TokenizeArguments {
  std::string tokenizer, text, file;
  bool json = false, plain = false;
};

/// --text, else the bytes of --text-file, else those of standard input.
std::string input_of(const TokenizeArguments& arguments, bool has_text) {
  if (has_text) return arguments.text;
  if (!arguments.file.empty() && arguments.file != "-")
    return models::read_file(arguments.file, {"text file", uint64_t{1} << 32});
  return read_input();
}

void tokenize(const TokenizeArguments& arguments, bool has_text) {
  const auto tokenizer = models::load_tokenizer(arguments.tokenizer);
  const std::vector<int32_t> ids = tokenizer->encode(
      input_of(arguments, has_text), arguments.plain ? models::Specials::plain : models::Specials::tokens);
  const std::string list = fmt::format("{}", fmt::join(ids, arguments.json ? ", " : " "));
  write_output(arguments.json ? "[" + list + "]\n" : list + "\n");
}

using engine::Tensor;

struct LogitsArguments {
  ModelArguments model;
  std::string tokens, prompt;
  int64_t top = 10;
  bool rounded = false, one_by_one = false, json = false;
};

/// The requested tokens; `tokenizer` is null if they are given as ids.
std::vector<int64_t> tokens_of(const LogitsArguments& arguments, const models::ModelDescription& model,
                               const models::Tokenizer* tokenizer) {
  if (tokenizer != nullptr) {
    const std::vector<int32_t> ids = model.whole_text(tokenizer->encode(arguments.prompt));
    require(!ids.empty(), "--prompt: the text has no token");
    if (const std::string note = tasks::begins_twice(model, ids); !note.empty()) write_note("headroom: " + note);
    return {ids.begin(), ids.end()};
  }
  const auto ids = numbers_of<int64_t>(arguments.tokens, "--tokens", "a token id, as in 1,2,3");
  for (const int64_t id : ids)
    require(id >= 0 && id < model.config.vocab, "--tokens: {} is not in the model's vocabulary of {}", id,
            model.config.vocab);
  return ids;
}

/// A prediction after one token.
struct Prediction {
  int64_t token = 0;
  double logsumexp = 0;
  std::vector<std::pair<int64_t, double>> top;  ///< ids with their logits, largest first
};

Prediction prediction_of(int64_t token, const float* logits, int64_t vocab, int64_t top) {
  std::vector<int64_t> order(static_cast<size_t>(vocab));
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto shown = static_cast<std::ptrdiff_t>(std::min(top, vocab));
  std::partial_sort(order.begin(), order.begin() + shown, order.end(),
                    [&](int64_t a, int64_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  Prediction out{token, engine::log_sum_exp(logits, vocab), {}};
  require(std::isfinite(out.logsumexp), "logits: not finite");
  for (std::ptrdiff_t i = 0; i < shown; ++i) {
    const int64_t id = order[static_cast<size_t>(i)];
    out.top.emplace_back(id, logits[id]);
  }
  return out;
}

std::string json_of(const Prediction& p) {
  std::string top;
  for (const auto& [id, logit] : p.top) top += fmt::format("{}[{}, {:.9g}]", top.empty() ? "" : ", ", id, logit);
  return fmt::format(R"({{"token": {}, "logsumexp": {:.12g}, "top": [{}]}})", p.token, p.logsumexp, top);
}

/// A token's text in quotes after `space`; "" if unknown: embeddings may have more rows than there are tokens.
std::string token_text(const char* space, int64_t id, const models::Tokenizer* tokenizer) {
  return tokenizer && id < tokenizer->vocab_size() ? space + models::quoted_name(tokenizer->token_bytes(id)) : "";
}

void print_table(const std::vector<Prediction>& predictions, const models::Tokenizer* tokenizer) {
  for (size_t t = 0; t < predictions.size(); ++t) {
    const Prediction& p = predictions[t];
    print_text("after token {} ({}{}): log-sum-exp {:.6f}\n", t, p.token, token_text(" ", p.token, tokenizer),
               p.logsumexp);
    for (const auto& [id, logit] : p.top)
      print_text("  {:>7}  logit {:>10.5f}  probability {:.6f}{}\n", id, logit, std::exp(logit - p.logsumexp),
                 token_text("  ", id, tokenizer));
  }
}

void logits(LogitsArguments& arguments) {
  require(arguments.tokens.empty() != arguments.prompt.empty(), "--prompt TEXT or --tokens 1,2,3: give one of them");
  require(arguments.top >= 1, "--top: {} is below 1", arguments.top);
  // People print logits to check them, so they are exact.
  arguments.model.exact = !arguments.rounded;
  const ModelScope scope(arguments.model);
  const auto files = models::ModelFiles::open(arguments.model.path);
  const auto tokenizer = arguments.tokens.empty() ? files->tokenizer() : nullptr;
  const std::vector<int64_t> ids = tokens_of(arguments, files->description(), tokenizer.get());
  const auto model = arguments.model.load(*files);
  models::ModelCache state(model->config());
  const Tensor tokens = Tensor::from({1, static_cast<int64_t>(ids.size())}, ids);  // (1, T)
  std::vector<Tensor> parts;
  const int64_t step = arguments.one_by_one ? 1 : tokens.dim(1);
  for (int64_t begin = 0; begin < tokens.dim(1); begin += step)
    parts.push_back(model->decode(tokens.slice(1, begin, begin + step), state));     // (1, step, V)
  const Tensor y = engine::concat(parts, 1).to(engine::DType::f32).to(engine::cpu);  // (1, T, V)
  const int64_t vocab = y.dim(-1);
  std::vector<Prediction> predictions;
  for (size_t t = 0; t < ids.size(); ++t)
    predictions.push_back(
        prediction_of(ids[t], y.data<float>() + static_cast<int64_t>(t) * vocab, vocab, arguments.top));
  if (!arguments.json) {
    if (tokenizer) print_text("text {}\n", tasks::text_cut(files->description(), *tokenizer).words());
    return print_table(predictions, tokenizer.get());
  }
  for (size_t t = 0; t < predictions.size(); ++t) fmt::print("{}{}", t == 0 ? "[" : ",\n ", json_of(predictions[t]));
  fmt::print("]\n");
}

}  // namespace

void add_tokenize_command(Command app) {
  const Command command = app.command("tokenize", "print the token ids of a text");
  const auto a = std::make_shared<TokenizeArguments>();
  command
      .option(
          "MODEL", a->tokenizer,
          "a GGUF file, a folder or file of a tokenizer (GPT-2's, Llama 2's, Llama 3's, tokenizer.json), or \"byte\"")
      .required();
  const Option text = command.option("--text TEXT", a->text, "the text; standard input without it").one_value();
  command.option("--text-file FILE", a->file, "a file that holds the text").excludes(text);
  command.flag("--json", a->json, "as a JSON list");
  command.flag("--plain", a->plain, "special tokens in the text are ordinary text");
  command.action([a, text] { tokenize(*a, text.is_given()); });
}

void add_logits_command(Command app) {
  const Command command = app.command("logits", "print what a trained model predicts after each token");
  const auto a = std::make_shared<LogitsArguments>();
  add_model_options(command, a->model);
  add_exact_option(command, a->model);
  command.option("--prompt TEXT", a->prompt, "the text").one_value();
  command.option("--tokens 1,2,3", a->tokens, "its token ids instead, separated by commas");
  command.option("--top K", a->top, "number of likeliest tokens to print").hide_default();
  command.flag("--one-by-one", a->one_by_one, "feed the tokens one by one, as in generation");
  command.flag("--rounded", a->rounded,
               "activations in 8 bits, as in generate and eval; without it exact, whether or not --exact is given");
  command.flag("--json", a->json, "one JSON list: {\"token\", \"logsumexp\", \"top\": [[id, logit]]} per position");
  command.action([a] { logits(*a); });
}

}  // namespace headroom::experiments
