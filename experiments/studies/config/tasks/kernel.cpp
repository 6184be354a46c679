#include "experiments/studies/config/tasks/kernel.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/config/beside.h"
#include "experiments/studies/toml/expression.h"

namespace headroom::experiments {
namespace {

std::vector<double> evaluate_kernel(const std::string& expression, double alpha, int64_t last) {
  std::vector<double> values;
  for (int64_t s = 1; s <= last; ++s)
    values.push_back(evaluate(expression, [&](const std::string& name) -> double {
      if (name == "s") return static_cast<double>(s);
      if (name == "alpha") return alpha;
      fail("{} is not s or alpha", excerpt(name));
    }));
  return values;
}

/// Keys that came later: where they are not given, a trial's id is what it was.
void bind_ranks_of_lags(Reader& in, tasks::KernelConfig& kernel) {
  for (const double rank : in.numbers(
           "ranks", "rank of the map of each lag, lag 1 first: that many random directions of a token; else all"))
    if (rank >= 1 && rank == std::floor(rank) && rank <= most) kernel.ranks.push_back(static_cast<int64_t>(rank));
    else in.complain("ranks", fmt::format("{} is no rank: expected whole numbers >= 1", rank));
  const bool has_ranks = in.has("ranks");
  if (!has_ranks) in.leave_out("ranks");
  in.when(has_ranks, "with ranks", [&] {
    kernel.rank_seed = in.integer("rank_seed", kernel.rank_seed, {.low = 0, .high = most}, "draws the directions");
  });
}

}  // namespace

tasks::KernelConfig bind_kernel(Reader& in, int64_t last) {
  tasks::KernelConfig kernel;
  const std::string kind =
      in.word("kind", "n-gram", {"n-gram", "exponential", "polynomial", "delta", "airy", "expression", "file"},
              "shape of rho(s), s = 1, 2, ...");
  in.when(kind == "n-gram", "with kind = \"n-gram\"", [&] {
    kernel.n = in.integer("n", kernel.n, count, "rho(s) = 1 for s = 1..n");
    if (kernel.n > last) in.complain("n", fmt::format("{} is beyond the longest lag of the task, {}", kernel.n, last));
  });
  const bool has_measurement = kind != "n-gram" && kind != "file";
  in.when(has_measurement, "with a kind that is a formula", [&] {
    kernel.alpha = in.real("alpha", kernel.alpha, {},
                           "e^(-alpha s), (1 + s)^-alpha, 1 at s = alpha, Ai(s - alpha), or alpha in the expression");
  });
  kernel.kind = kind == "expression" || kind == "file" ? "list" : kind;
  in.when(kind == "expression", "with kind = \"expression\"", [&] {
    const std::string text = in.text("rho", std::nullopt, "rho as an expression in s (and alpha), by muParser");
    if (in.has("rho")) in.attempt("rho", [&] { kernel.values = evaluate_kernel(text, kernel.alpha, last); });
  });
  in.when(kind == "file", "with kind = \"file\"", [&] {
    const std::string file = in.text("file", std::nullopt, "CSV of rho: rows `rho` or `s,rho`, beside the study file");
    if (in.has("file")) in.attempt("file", [&] { kernel.values = read_kernel_file(beside(in.place("file"), file)); });
    in.leave_out("file");
    in.note("values", fmt::format("{}", fmt::join(kernel.values, " ")));
  });
  bind_ranks_of_lags(in, kernel);
  in.attempt(kind == "expression" ? "rho"
             : has_measurement    ? "alpha"
                                  : "kind",
             [&] {
               const bool is_complete = kernel.kind != "list" || !kernel.values.empty();
               if (is_complete && tasks::kernel_values(kernel, last).empty())
                 fail("rho(s) is 0 for every s in 1..{}", last);
             });
  return kernel;
}

}  // namespace headroom::experiments
