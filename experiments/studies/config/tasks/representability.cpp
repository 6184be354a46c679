#include "tasks/theory/representability.h"

#include <algorithm>

#include "experiments/studies/config/tasks/kernel.h"
#include "experiments/studies/config/tasks/registry.h"
#include "models/positions.h"

namespace headroom::experiments {
namespace {

tasks::TaskConfig bind_representability(Reader& in) {
  tasks::RepresentabilityConfig task;
  in.set("token_dim", task.token_dim, count, "numbers per token, d");
  in.set("length", task.length, {.low = 2, .high = 128}, "tokens per sequence, L");
  in.table("kernel", "the memory rho(s) of the target y_t = sum over s of rho(s) x_{t-s}",
           [&](Reader& kernel) { task.kernel = bind_kernel(kernel, task.length - 1); });
  bind_first_position(in, task.first_position);
  in.set("width", task.width, count, "model width, D: of sinusoidal positions");
  in.set("heads", task.heads, count, "number of heads, H");
  task.head_dim = in.integer("head_dim", {std::max<int64_t>(1, task.width / task.heads), "width / heads"}, count,
                             "width of a head's queries, keys and values");
  std::vector<std::pair<const char*, models::Positions>> names;
  for (const models::PositionScheme& scheme : models::position_schemes())
    if (scheme.acts_on != models::ActsOn::angles_and_scores) names.emplace_back(scheme.name, scheme.positions);
  in.set("positions", task.positions, names, "what the scores are made of");
  in.set("starts", task.starts, count, "random starts of the scores for a seed");
  in.set("steps", task.steps, count, "of Adam, all starts at once");
  in.set("refine", task.refine, {.low = 0}, "then most steps of L-BFGS, each start by itself");
  in.set("lr", task.lr, above(0), "first learning rate; it falls to 0 along a cosine");
  return checked(in, "kind", task);
}

}  // namespace

const TaskKind representability_task{
    "representability", bind_representability,
    always("Nothing is trained on data. For white noise the error of a layer follows from its attention maps: their "
           "scores are optimised from many starts, and all else is solved for.")};

}  // namespace headroom::experiments
