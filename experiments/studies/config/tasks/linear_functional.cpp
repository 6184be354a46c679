#include "tasks/linear_functional.h"

#include <fmt/core.h>

#include "experiments/studies/config/tasks/kernel.h"
#include "experiments/studies/config/tasks/measured_lags.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {

tasks::TaskConfig bind_linear_functional(Reader& in) {
  tasks::LinearFunctionalConfig task;
  task.token_dim = in.integer("token_dim", task.token_dim, count, "numbers per token, d");
  task.length = in.integer("length", task.length, {.low = 2, .high = most}, "tokens per sequence, L");
  in.table("kernel", "the memory rho(s) of the target y_t = sum over s of rho(s) x_{t-s}",
           [&](Reader& kernel) { task.kernel = bind_kernel(kernel, task.length - 1); });
  task.first_position = in.integer("first_position", task.first_position, {.low = 0, .high = most},
                                   "loss and metrics over positions from this one on, counted from 0");
  task.input =
      in.choice("input", task.input, {{"normal", tasks::TokenInput::normal}, {"unit", tasks::TokenInput::unit}},
                "tokens x ~ N(0, I), or such ones divided by their norm");
  task.attention_lags = bind_attention_lags(in, task.length);
  in.attempt("kernel", [&] { tasks::check_ranks("ranks", {task.token_dim, task.kernel.ranks}); });
  if (task.first_position >= task.length)
    in.complain("first_position",
                fmt::format("{} is out of range: expected < task.length = {}", task.first_position, task.length));
  return task;
}

}  // namespace headroom::experiments
