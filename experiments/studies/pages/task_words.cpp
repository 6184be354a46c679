#include "experiments/studies/pages/task_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/studies/claims/curve.h"
#include "experiments/studies/toml/expression.h"
#include "tasks/kernel.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

/// A resolved key as text: "8", "normal"; "?" where it is missing.
std::string value_of(const Json& table, const char* key) {
  const auto found = table.is_object() ? table.find(key) : table.end();
  if (!table.is_object() || found == table.end()) return "?";
  if (found->is_string()) return found->get<std::string>();
  return found->is_number() ? exact(found->get<double>()) : found->dump();
}

double number_of(const Json& table, const char* key, double otherwise) {
  const auto found = table.is_object() ? table.find(key) : table.end();
  return table.is_object() && found != table.end() && found->is_number() ? found->get<double>() : otherwise;
}

const Json& part_of(const Json& table, const char* key) {
  static const Json nothing = Json::object();
  const auto found = table.find(key);
  return found == table.end() || !found->is_object() ? nothing : *found;
}

std::string percent(const Json& table, const char* key) {
  return fmt::format("{} %", exact(std::round(1000 * number_of(table, key, 0)) / 10));
}

/// A kernel's formula, and its weights at lags 1, 2, … where they follow from the config.
std::pair<std::string, std::vector<double>> kernel_words(const Json& kernel) {
  const std::string kind = value_of(kernel, "kind"), alpha = value_of(kernel, "alpha");
  tasks::KernelConfig config;
  config.kind = kind;
  config.n = static_cast<int64_t>(number_of(kernel, "n", 4));
  config.alpha = number_of(kernel, "alpha", 1);
  constexpr int64_t lags = 4;  // of an example; those beyond it are said to go on
  const auto weights = [&] {
    std::vector<double> values = tasks::kernel_values(config, std::max(lags, std::min<int64_t>(config.n, 8)));
    values.resize(kind == "n-gram" ? static_cast<size_t>(std::min<int64_t>(config.n, 8)) : static_cast<size_t>(lags));
    return values;
  };
  if (kind == "n-gram") return {fmt::format("the sum of the last {} tokens", value_of(kernel, "n")), weights()};
  if (kind == "exponential")
    return {fmt::format("the sum of all earlier tokens, the one s steps back weighted by e^(-{} s)", alpha), weights()};
  if (kind == "polynomial")
    return {fmt::format("the sum of all earlier tokens, the one s steps back weighted by (1 + s)^-{}", alpha),
            weights()};
  if (kind == "delta") return {fmt::format("the token {} steps back", alpha), {}};
  if (kind == "airy")
    return {fmt::format("the sum of all earlier tokens, the one s steps back weighted by Airy's Ai(s - {})", alpha),
            weights()};
  if (kind == "expression") {
    std::vector<double> values;
    try {
      for (int64_t s = 1; s <= lags; ++s)
        values.push_back(evaluate(value_of(kernel, "rho"), [&](const std::string& name) {
          return name == "alpha" ? config.alpha : static_cast<double>(s);
        }));
    } catch (const Error&) {
      values.clear();  // it need not be a number beyond the task's length
    }
    return {fmt::format("the sum of earlier tokens, the one s steps back weighted by {}", value_of(kernel, "rho")),
            values};
  }
  return {"a weighted sum of earlier tokens, the weights read from a file", {}};
}

std::string tokens_of(const Json& task) {
  return fmt::format("Tokens are vectors of {} {}, {} to a sequence.", value_of(task, "token_dim"),
                     value_of(task, "input") == "unit" ? "random numbers of norm 1" : "independent N(0, 1) numbers",
                     value_of(task, "length"));
}

std::string scored(const Json& task) {
  const double first = number_of(task, "first_position", 0);
  return first > 0 ? fmt::format(" Scored from position {} on, counted from 0.", exact(first)) : "";
}

TaskWords linear_functional(const Json& task) {
  const auto [formula, weights] = kernel_words(part_of(task, "kernel"));
  TaskWords out{
      fmt::format("At every position the model has to output {}. {}{}", formula, tokens_of(task), scored(task)),
      weighted_example(weights)};
  if (const auto ranks = part_of(task, "kernel").find("ranks"); ranks != part_of(task, "kernel").end())
    out.words += fmt::format(" Of the token at each lag only some directions count: {} of them, lag 1 first.",
                             ranks->is_string() ? ranks->get<std::string>() : ranks->dump());
  return out;
}

TaskWords volterra(const Json& task) {
  return {
      fmt::format("At every position the model has to output a weighted sum of products of two earlier tokens, taken "
                  "coordinate by coordinate. {}{}",
                  tokens_of(task), scored(task)),
      "with the one product of lags 1 and 2: x = 2, -1, 3, then y = 3 · (-1) = -3"};
}

TaskWords induction_head(const Json& task) {
  const std::string tokens =
      fmt::format("{} distinct tokens, {} to a sequence", value_of(task, "tokens"), value_of(task, "length"));
  if (value_of(task, "target") == "generalized")
    return {
        fmt::format("At every position the model has to output the mean of the tokens that followed places like the "
                    "present one: the last {} tokens are compared. Random sequences of {}.",
                    exact(number_of(task, "n", 2) - 1), tokens),
        "7 3 9 2 7: the last token, 7, stood before 3, so the answer is 3"};
  return {fmt::format("A random pattern of {} tokens stands {} times in a random sequence of {}. Inside its later "
                      "occurrences the model has to output the next token.",
                      value_of(task, "pattern"), value_of(task, "repeats"), tokens),
          "7 3 9 2 5 … 7 3 9 2 → 5: the pattern 7 3 9 2 5 has been seen before"};
}

std::string text_of(const Json& task) {
  const std::string source = value_of(task, "source");
  if (source == "markov") {
    const Json& markov = part_of(task, "markov");
    return fmt::format("text drawn from a random Markov source of order {} over {} symbols", value_of(markov, "order"),
                       value_of(markov, "symbols"));
  }
  const std::string tokenizer = value_of(task, "tokenizer");
  if (tokenizer == "char") return source + " (a token per character)";
  return fmt::format("{} (tokens of {})", source, tokenizer);
}

TaskWords next_token(const Json& task) {
  const bool chars = value_of(task, "tokenizer") == "char" && value_of(task, "source") != "markov";
  return {fmt::format("Given the text so far, the model has to predict the next token: {}, {} tokens of context.",
                      text_of(task), value_of(task, "length")),
          chars ? "“To be, or not to b” → “e”" : "a b a c a b a → c, by the odds of what follows"};
}

TaskWords masked(const Json& task) {
  return {
      fmt::format("{} of the tokens are hidden or changed ({} of those shown as [MASK]), and the model has to "
                  "recover them from both sides: {}, {} tokens of context.",
                  percent(task, "masked"), percent(task, "replaced_by_mask"), text_of(task), value_of(task, "length")),
      value_of(task, "tokenizer") == "char" ? "“To b_, or n_t to be” → “e”, “o”" : "the _ sat on the mat → cat"};
}

TaskWords instructions(const Json& task) {
  return {fmt::format("The model has to continue prompts with their answers, token by token: {}, {} tokens of context; "
                      "the loss is taken over {}.",
                      value_of(task, "source"), value_of(task, "length"),
                      value_of(task, "loss") == "all" ? "prompt and answer" : "the answer"),
          "“Instruction: add 2 and 3. Response:” → “5”"};
}

TaskWords classification(const Json& task) {
  return {fmt::format("The model has to tell the class of a sequence of {} random tokens, one of {} classes. Made for "
                      "timing: any data would do.",
                      value_of(task, "length"), value_of(task, "classes")),
          fmt::format("token v is of class v mod {}", value_of(task, "classes"))};
}

/// Formulas: nothing is trained for them.
std::map<std::string, std::function<TaskWords(const Json&)>> kinds() {
  const auto says = [](std::string words) {
    return [words = std::move(words)](const Json&) { return TaskWords{words, ""}; };
  };
  return {
      {"linear-functional", linear_functional},
      {"volterra", volterra},
      {"induction-head", induction_head},
      {"next-token", next_token},
      {"masked", masked},
      {"instructions", instructions},
      {"classification", classification},
      {"allocation-bound", says("A formula: the paper's bound on the error of a given number of heads. Nothing is "
                                "trained.")},
      {"constructive-transformer",
       says("The weights that the proof of Theorem 1 writes down are loaded into a Transformer, and its largest error "
            "over random sequences is measured. Nothing is trained.")},
      {"exponential-sum",
       [](const Json& task) {
         return TaskWords{fmt::format("How well can a sum of {} exponentials be 1 at lag {} and 0 at every other lag? "
                                      "The best coefficients are computed.",
                                      value_of(task, "terms"), value_of(task, "lag")),
                          "with 2 terms at lag 2: a₁ e^(-b₁ t) + a₂ e^(-b₂ t) ≈ 0, 1, 0, 0, … at t = 1, 2, 3, 4, …"};
       }},
      {"random-projection",
       says("What a random subspace leaves of a vector is computed for many draws, and held against the lemma.")},
      {"softmax-bound",
       says(
           "The norm of softmax's Jacobian at a query is computed for an attention head, and held against Theorem 2.")},
      {"svd-bound",
       says("The product of a head's query and key matrices is replaced by its best approximation of lower "
            "rank, and what that changes in its attention is held against Corollary 2.")},
      {"rope-bound", says("Query and key matrices under rotary positions are each cut to a lower rank, and what that "
                          "changes is held against the paper's proposition.")},
      {"attention-heads",
       says("A trained model reads spans of text, and each of its attention heads is measured. Nothing "
            "is trained.")},
      {"head-spectra", says("How many dimensions the heads of a trained model use, by the singular values of their "
                            "matrices and scores. Nothing is trained.")},
      {"head-distillation",
       says("One head of a trained model is the teacher; a narrower head is trained to do the same "
            "on the same text.")},
      {"two-stage", says("The heads of some layers of a trained model are made narrower, then trained to do what they "
                         "did, then with the whole model.")},
      {"lowrank-perplexity",
       says("The heads of some layers of a trained model are given narrower queries and keys, and "
            "the model's perplexity on held-out text is measured.")},
  };
}

std::string signed_number(double value, bool is_first) {
  if (is_first) return exact(value);
  return value < 0 ? fmt::format(" - {}", exact(-value)) : fmt::format(" + {}", exact(value));
}

}  // namespace

std::string weighted_example(const std::vector<double>& weights) {
  static const std::vector<double> tokens = {2, -1, 3, 1, -2, 4, 1, 2};  // of one coordinate, the latest last
  const size_t lags = std::min(weights.size(), tokens.size());
  if (lags == 0) return "";
  const bool plain = std::all_of(weights.begin(), weights.end(), [](double w) { return w == 1; });
  std::vector<std::string> shown;
  std::string sum;
  double total = 0;
  for (size_t i = 0; i < lags; ++i) shown.push_back(exact(tokens[i]));
  for (size_t lag = 1; lag <= lags; ++lag) {
    const double token = tokens[lags - lag], weight = weights[lag - 1];
    total += weight * token;
    if (plain) sum += signed_number(token, lag == 1);
    else
      sum += fmt::format("{}{} · {}", lag == 1 ? "" : " + ", rounded(weight, 2),
                         token < 0 ? "(" + exact(token) + ")" : exact(token));
  }
  return fmt::format("one coordinate: x = {}, then y = {} = {}{}", fmt::join(shown, ", "), sum,
                     plain ? exact(total) : rounded(total), plain ? "" : ", and so on with older tokens");
}

TaskWords task_words(const Json& task) {
  static const auto known = kinds();
  const std::string kind = value_of(task, "kind");
  const auto found = known.find(kind);
  return found == known.end() ? TaskWords{fmt::format("A task of the kind {}.", kind), ""} : found->second(task);
}

TaskWords task_words(const StudyResults& r) {
  std::vector<Json> tasks;
  std::set<std::string> seen;
  for (const TrialRecord* trial : ordered_trials(r)) {
    const Json config = Json::parse(trial->config, nullptr, false);
    if (!config.is_object() || !part_of(config, "task").contains("kind")) continue;
    if (seen.insert(config["task"].dump()).second) tasks.push_back(config["task"]);
  }
  if (tasks.empty()) return {};
  TaskWords out = task_words(tasks[0]);
  std::set<std::string> differing;
  for (const Json& task : tasks)
    for (const auto& [key, value] : task.items())
      if (const auto first = tasks[0].find(key); first == tasks[0].end() || *first != value) differing.insert(key);
  if (differing.count("kind")) out.words += " That is the task of the first series; others have tasks of their own.";
  else if (!differing.empty())
    out.words +=
        fmt::format(" That describes the first of several settings: they differ in {}.", fmt::join(differing, ", "));
  return out;
}

}  // namespace headroom::experiments
