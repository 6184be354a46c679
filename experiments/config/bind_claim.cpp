#include <fmt/format.h>

#include <algorithm>

#include "experiments/claims/claims.h"
#include "experiments/config/bind.h"
#include "experiments/toml/reader.h"

namespace headroom::experiments {
namespace {

void check_series(Reader& in, const std::string& name, const std::vector<std::string>& series) {
  if (std::find(series.begin(), series.end(), name) != series.end()) return;
  const bool has_any = series != std::vector<std::string>{""};
  in.complain("series", fmt::format("there is no series \"{}\"; the study has {}", name,
                                    has_any ? fmt::format("{}", fmt::join(series, ", ")) : "one without a name"));
}

/// Where the paper's number is to be found.
void bind_reference(Reader& in, ClaimConfig& claim) {
  claim.reference = in.texts("reference", "path of the paper's number in its tables (data/paper_tables.json)");
  claim.paper_number = in.optional_real("paper_number", {}, "the paper's number, where it stands in no table");
  if (!claim.reference.empty() && claim.paper_number)
    in.complain("paper_number", "wants either reference or paper_number");
  if (!claim.reference.empty() && !paper_number(claim.reference) && paper_points(claim.reference).empty())
    in.complain("reference", fmt::format("the paper's tables have no number at {}", fmt::join(claim.reference, " / ")));
}

/// Reads keys that belong to some kinds only.
void of_kinds(Reader& in, const ClaimConfig& claim, const std::vector<std::string>& kinds,
              const std::function<void()>& f) {
  in.when(std::find(kinds.begin(), kinds.end(), claim.kind) != kinds.end(),
          fmt::format("with kind = \"{}\"", fmt::join(kinds, "\" or \"")), f);
}

void bind_kind(Reader& in, ClaimConfig& claim, const std::vector<std::string>& series) {
  of_kinds(in, claim, {"argmin_in"}, [&] { claim.among = in.numbers("among", "the x that may be the best"); });
  of_kinds(in, claim, {"within_factor", "worse_than_best", "less_than", "within_percent"},
           [&] { claim.at = in.optional_real("at", {}, "the x that is judged"); });
  of_kinds(in, claim, {"interior_optimum", "within_factor", "worse_than_best", "monotone", "band", "less_than"}, [&] {
    claim.factor = in.real("factor", claim.factor, at_least(1),
                           "how near the best, or by how much at least two errors must differ; band: of the "
                           "largest value to the smallest");
  });
  of_kinds(in, claim, {"monotone"}, [&] {
    claim.direction = in.word("direction", {"", "it must be given"}, {"falling", "rising"}, "of the values as x grows");
    claim.tolerance = in.real("tolerance", claim.tolerance, fraction, "a step back of this share is a tie");
  });
  of_kinds(in, claim, {"slope"}, [&] {
    claim.axes =
        in.word("axes", claim.axes, {"log-log", "semi-log", "linear"}, "logarithms of x and y, of x alone, of none");
  });
  of_kinds(in, claim, {"slope", "band"}, [&] {
    claim.low = in.optional_real("low", {}, "smallest that is claimed");
    claim.high = in.optional_real("high", {}, "largest that is claimed");
    if (claim.low && claim.high && *claim.low > *claim.high) in.complain("high", "wants to be at least low");
  });
  of_kinds(in, claim, {"less_than"}, [&] {
    in.optional_table("than", "what is larger; what is not given is the claim's own", [&](Reader& than) {
      claim.than.series = than.text("series", "", "its series");
      claim.than.metric = than.text("metric", "", "its metric");
      claim.than.at = than.optional_real("at", {}, "its x");
      if (!claim.than.series.empty()) check_series(than, claim.than.series, series);
    });
  });
  of_kinds(in, claim, {"saturates"}, [&] {
    claim.fraction = in.real("fraction", claim.fraction, {.low = 0, .high = 1},
                             "largest share of the first doubling's gain that the last may have");
  });
  of_kinds(in, claim, {"bound_holds"},
           [&] { claim.bound = in.text("bound", "", "a metric of the same trial, or \"overlay\""); });
  of_kinds(in, claim, {"within_percent"}, [&] {
    claim.percent = in.real("percent", claim.percent, at_least(0), "how far from the target at most");
    claim.of = in.text("of", "", "the target, a metric of the same trials");
    claim.value = in.optional_real("value", {}, "the target, a number; without either: the paper's");
  });
}

}  // namespace

ClaimConfig bind_claim(Reader& in, const std::vector<std::string>& series) {
  ClaimConfig claim;
  const size_t problems = in.problems().size();
  claim.kind = in.word("kind", std::nullopt, claim_kinds(), "how it is judged");
  if (in.problems().size() > problems) claim.kind.clear();
  claim.series = in.text("series", {"", "the only one"}, "the series it speaks of");
  if (!claim.series.empty()) check_series(in, claim.series, series);
  else if (series.size() > 1)
    in.complain("series", fmt::format("missing: the study has several series ({})", fmt::join(series, ", ")));
  claim.metric = in.text("metric", {"", "the report's y"}, "of the test data; parameters, flops and seconds are, too");
  claim.paper = in.text("paper", "", "the paper's claim in words");
  claim.ours = in.text("ours", "", "a claim of our own in words");
  claim.why = in.text("why", "", "why it fails, shown where it does");
  bind_reference(in, claim);
  claim.from = in.optional_real("from", {}, "smallest x it speaks of");
  claim.to = in.optional_real("to", {}, "largest x it speaks of");
  claim.significance = in.real("significance", claim.significance,
                               {.low = 0, .high = 1, .low_open = true, .high_open = true}, "level of the tests");
  claim.log_error = in.flag("log_error", claim.log_error, "means and tests of the metric's logarithm");
  claim.deterministic =
      in.flag("deterministic", claim.deterministic, "values are computed, not sampled: one seed is enough");
  bind_kind(in, claim, series);
  if (claim.kind.empty()) in.skip_rest();
  if (const auto missing = missing_field(claim))
    in.complain(missing->key, fmt::format("missing: {} wants {}", claim.kind, missing->purpose));
  return claim;
}

}  // namespace headroom::experiments
