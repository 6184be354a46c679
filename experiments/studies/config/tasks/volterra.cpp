#include "tasks/volterra.h"

#include <fmt/core.h>

#include "engine/error.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

/// [[a, b], …]
std::vector<tasks::VolterraTerm> bind_pairs(Reader& in, double weight) {
  std::vector<tasks::VolterraTerm> terms;
  const Value* list = in.raw("pairs", "lags [[a, b], ...] of the products x_(t-a) x_(t-b)");
  if (!list) return terms;
  bool ok = list->kind == Value::Kind::list && !list->list.empty();
  for (const Value& pair : list->list) {
    const bool is_pair =
        pair.list.size() == 2 && pair.list[0].kind == Value::Kind::integer && pair.list[1].kind == Value::Kind::integer;
    if (is_pair) terms.push_back({pair.list[0].integer, pair.list[1].integer, weight});
    ok = ok && is_pair;
  }
  if (!ok) in.complain("pairs", "expected a list of pairs of integers");
  return terms;
}

tasks::TaskConfig bind_volterra(Reader& in) {
  tasks::VolterraConfig task;
  in.table("kernel", "the products that the target sums", [&](Reader& kernel) {
    const std::string kind = kernel.word("kind", "exponential", {"exponential", "pairs"}, "which, and how weighted");
    kernel.when(kind == "exponential", "with kind = \"exponential\"", [&] {
      const int64_t last = kernel.integer("last", 6, {.low = 0, .high = 64}, "e^(-(a+b)/2) for 0 <= a, b <= last");
      task.terms = tasks::exponential_terms(last);
    });
    kernel.when(kind == "pairs", "with kind = \"pairs\"", [&] {
      const double weight = kernel.real("weight", 0.5, {}, "of every product");
      task.terms = bind_pairs(kernel, weight);
      if (!kernel.has("pairs")) kernel.complain("pairs", "missing");
    });
  });
  in.set("token_dim", task.token_dim, count, "numbers per token, d");
  in.set("length", task.length, {.low = 2, .high = most}, "tokens per sequence, L");
  bind_first_position(in, task.first_position);
  in.set("input", task.input,
         {{"normal", tasks::VolterraInput::normal}, {"rademacher", tasks::VolterraInput::rademacher}},
         "tokens x ~ N(0, I), or numbers of plus and minus one");
  in.set("products", task.products, {{"model", tasks::Products::model}, {"exact", tasks::Products::exact}},
         "made by the model, or by the task out of one fetched token per lag");
  if (!task.terms.empty()) in.attempt("kind", [&] { tasks::validate(task); });
  return task;
}

TaskWords volterra_words(const TaskJson& task) {
  return {
      fmt::format("At every position the model has to output a weighted sum of products of two earlier tokens, taken "
                  "coordinate by coordinate. {}{}",
                  token_words(task), scored_words(task)),
      "with the one product of lags 1 and 2: x = 2, -1, 3, then y = 3 · (-1) = -3"};
}

}  // namespace

const TaskKind volterra_task{"volterra", bind_volterra, volterra_words};

}  // namespace headroom::experiments
