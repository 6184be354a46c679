#include "tasks/theory/allocation_bound.h"

#include "experiments/studies/config/tasks/kernel.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

tasks::TaskConfig bind_allocation_bound(Reader& in) {
  using Curve = tasks::AllocationBoundConfig::Curve;
  tasks::AllocationBoundConfig task;
  in.set("curve", task.curve, {{"budget", Curve::budget}, {"equal-heads", Curve::equal_heads}},
         "E_D(H) of the paper's appendix, or Corollary 1 for equal heads");
  in.set("width", task.width, count, "model width, D");
  in.set("token_dim", task.token_dim, count, "numbers per token, d");
  task.heads = in.integer("heads", std::nullopt, count, "number of heads, H");
  in.when(task.curve == Curve::equal_heads, "with curve = \"equal-heads\"", [&] {
    in.set("length", task.length, {.low = 2, .high = 4096}, "lags 1 .. length - 1");
    in.table("kernel", "the memory rho(s)",
             [&](Reader& kernel) { task.kernel = bind_kernel(kernel, task.length - 1); });
    in.set("lags", task.lags, {{"subset", tasks::Lags::subset}, {"prefix", tasks::Lags::prefix}},
           "which lags may be fetched: any, or 1..M as the paper prints it");
  });
  if (task.curve == Curve::equal_heads && task.width % task.heads != 0)
    in.complain("heads", "does not divide task.width");
  return task;
}

}  // namespace

const TaskKind allocation_bound_task{
    "allocation-bound", bind_allocation_bound,
    always("A formula: the paper's bound on the error of a given number of heads. Nothing is trained.")};

}  // namespace headroom::experiments
