#include "tasks/linear_functional.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/studies/config/tasks/kernel.h"
#include "experiments/studies/config/tasks/registry.h"
#include "experiments/studies/toml/expression.h"

namespace headroom::experiments {
namespace {

tasks::TaskConfig bind_linear_functional(Reader& in) {
  tasks::LinearFunctionalConfig task;
  in.set("token_dim", task.token_dim, count, "numbers per token, d");
  in.set("length", task.length, {.low = 2, .high = most}, "tokens per sequence, L");
  in.table("kernel", "the memory rho(s) of the target y_t = sum over s of rho(s) x_{t-s}",
           [&](Reader& kernel) { task.kernel = bind_kernel(kernel, task.length - 1); });
  bind_first_position(in, task.first_position);
  in.set("input", task.input, {{"normal", tasks::TokenInput::normal}, {"unit", tasks::TokenInput::unit}},
         "tokens x ~ N(0, I), or such ones divided by their norm");
  task.attention_lags = bind_attention_lags(in, task.length);
  in.attempt("kernel", [&] { tasks::check_ranks("ranks", {task.token_dim, task.kernel.ranks}); });
  if (task.first_position >= task.length)
    in.complain("first_position",
                fmt::format("{} is out of range: expected < task.length = {}", task.first_position, task.length));
  return task;
}

/// A kernel's formula, and its weights at lags 1, 2, … where they follow from the config.
std::pair<std::string, std::vector<double>> kernel_words(const TaskJson& kernel) {
  constexpr int64_t lags = 4, most_lags = 8;  // of an example; those beyond it are said to go on
  const tasks::KernelConfig config = kernel_of(kernel);
  const std::string& kind = config.kind;
  const std::string alpha = task_value(kernel, "alpha");
  const auto weights = [&](int64_t shown) {
    std::vector<double> values = tasks::kernel_values(config, std::max(lags, shown));
    values.resize(static_cast<size_t>(shown));
    return values;
  };
  const auto sum = [](const char* which, const std::string& weight) {
    return fmt::format("the sum of {}earlier tokens, the one s steps back weighted by {}", which, weight);
  };
  if (kind == "n-gram")
    return {fmt::format("the sum of the last {} tokens", task_value(kernel, "n")),
            weights(std::min(config.n, most_lags))};
  if (kind == "exponential") return {sum("all ", fmt::format("e^(-{} s)", alpha)), weights(lags)};
  if (kind == "polynomial") return {sum("all ", fmt::format("(1 + s)^-{}", alpha)), weights(lags)};
  if (kind == "airy") return {sum("all ", fmt::format("Airy's Ai(s - {})", alpha)), weights(lags)};
  if (kind == "delta") return {fmt::format("the token {} steps back", alpha), {}};
  if (kind != "expression") return {"a weighted sum of earlier tokens, the weights read from a file", {}};
  std::vector<double> values;
  try {
    for (int64_t s = 1; s <= lags; ++s)
      values.push_back(evaluate(task_value(kernel, "rho"), [&](const std::string& name) {
        return name == "alpha" ? config.alpha : static_cast<double>(s);
      }));
  } catch (const Error&) {
    values.clear();  // it need not be a number beyond the task's length
  }
  return {sum("", task_value(kernel, "rho")), values};
}

TaskWords linear_functional_words(const TaskJson& task) {
  const auto [formula, weights] = kernel_words(task_part(task, "kernel"));
  TaskWords out{
      fmt::format("At every position the model has to output {}. {}{}", formula, token_words(task), scored_words(task)),
      weighted_example(weights)};
  if (const auto ranks = task_part(task, "kernel").find("ranks"); ranks != task_part(task, "kernel").end())
    out.words += fmt::format(" Of the token at each lag only some directions count: {} of them, lag 1 first.",
                             ranks->is_string() ? ranks->get<std::string>() : ranks->dump());
  return out;
}

std::string signed_number(double value, bool is_first) {
  if (is_first) return exact(value);
  return value < 0 ? fmt::format(" - {}", exact(-value)) : fmt::format(" + {}", exact(value));
}

}  // namespace

const TaskKind linear_functional_task{"linear-functional", bind_linear_functional, linear_functional_words};

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

}  // namespace headroom::experiments
