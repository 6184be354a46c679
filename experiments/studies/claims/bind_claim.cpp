#include "experiments/studies/claims/bind_claim.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/excerpt.h"
#include "experiments/output/number.h"
#include "experiments/studies/claims/reference.h"
#include "experiments/studies/claims/smallest_effect.h"
#include "experiments/studies/claims/why.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

const std::string condition_start = "with kind = ";

/// Where the paper's number is to be found.
void bind_reference(Reader& in, ClaimConfig& claim) {
  claim.reference = in.texts("reference", "path of the paper's number in its tables (data/paper_tables.json)");
  claim.paper_number = in.optional_real("paper_number", {}, "the paper's number, where it stands in no table");
  if (!claim.reference.empty() && claim.paper_number)
    in.complain("paper_number", "expected either reference or paper_number");
  if (!claim.reference.empty() && !paper_number(claim.reference) && paper_points(claim.reference).empty())
    in.complain("reference", fmt::format("the paper's tables have no number at {}",
                                         excerpt(fmt::format("{}", fmt::join(claim.reference, " / ")))));
}

/// What the claim is about exists: its series, its metric, an x in its range.
void check_subject(Reader& in, const ClaimConfig& claim, const StudyScope& study, const ClaimScope& scope) {
  if (!claim.series.empty()) scope.check_series(in, "series", claim.series);
  else if (study.series.size() > 1)
    in.complain("series", fmt::format("missing: the study has several series ({})",
                                      excerpt(fmt::format("{}", fmt::join(study.series, ", ")), 300)));
  scope.check_metric(in, "metric", claim.metric);
  if (claim.from && claim.to && *claim.from > *claim.to)
    return in.complain("from", fmt::format("{} is above to, {}", exact(*claim.from), exact(*claim.to)));
  const std::set<double>& all = scope.of().x;
  if (!all.empty() && scope.x().empty())
    in.complain(claim.from ? "from" : "to",
                fmt::format("no value of {} in the sweep is in the claim's range: they go from {} to {}",
                            scope.x_name(), exact(*all.begin()), exact(*all.rbegin())));
  const auto column = paper_points(claim.reference);
  const std::vector<double> x = scope.x();
  const auto is_measured = [&](const auto& point) { return std::find(x.begin(), x.end(), point.first) != x.end(); };
  if (!column.empty() && !x.empty() && std::none_of(column.begin(), column.end(), is_measured))
    in.complain("reference", fmt::format("the paper has no number at any {} of the claim", scope.x_name()));
}

/// Reports an `id` that one of the claims above has, an excluded claim that is none of them, and a pair whose
/// thresholds would let both be true: an effect of 5 % at least, and none above 10 %.
void check_exclusions(Reader& in, const ClaimConfig& claim, const std::vector<ClaimConfig>& above) {
  const auto find = [&](const std::string& id) {
    return std::find_if(above.begin(), above.end(), [&](const ClaimConfig& other) { return other.id == id; });
  };
  if (!claim.id.empty() && find(claim.id) != above.end())
    in.complain("id", fmt::format("another claim is called \"{}\"", excerpt(claim.id)));
  for (const std::string& id : claim.excludes) {
    const auto other = id.empty() ? above.end() : find(id);
    if (other == above.end()) {
      in.complain("excludes", fmt::format("no claim above has the id \"{}\"", excerpt(id)));
      continue;
    }
    const bool is_least = claim.kind->effect == Effect::at_least;
    const ClaimConfig &claims_least = is_least ? claim : *other, &claims_most = is_least ? *other : claim;
    const double least = claims_least.keys.factor, most = claims_most.keys.factor;
    if (claims_least.kind->effect == Effect::at_least && claims_most.kind->effect == Effect::at_most && least < most)
      in.complain("excludes", fmt::format("an effect of {} at least and one of {} at most can both be true: \"{}\" is "
                                          "excluded where the first is no smaller than the second",
                                          exact(least), exact(most), excerpt(id)));
  }
}

/// An effect that is not the usual one is named in the claim's words, or has its reason.
void check_effect(Reader& in, const ClaimConfig& claim, const StudyScope& study) {
  const std::string& metric = claim.metric.empty() ? study.y_metric : claim.metric;
  const std::string words = claim.paper + claim.theorem + claim.ours;
  const double factor = claim.keys.factor;
  if (metric.empty() || words.empty() || !claim.because.empty() || factor == 1) return;
  if (factor == standard_effect(metric) || names_effect(words, factor)) return;
  in.complain("factor",
              fmt::format("is {0}, where a claim on {1} usually states {2}, and the claim's words do not name it: "
                          "write \"{0} times\" there, or say why in `because`",
                          exact(factor), metric, exact(standard_effect(metric))));
}

std::string bind_sentence(Reader& in, const ClaimConfig& claim) {
  std::vector<std::string> ids{""};
  for (const PaperSentence& s : paper_sentences()) ids.push_back(s.id);
  const std::string sentence =
      in.word("sentence", "", ids, "the paper's sentence that it tests (data/paper_sentences.json)");
  if (!sentence.empty() && claim.paper.empty())
    in.complain("sentence", "only a claim of the paper (paper = ...) tests a sentence");
  return sentence;
}

}  // namespace

ClaimConfig bind_claim(Reader& in, const StudyScope& study, const std::vector<ClaimConfig>& above) {
  ClaimConfig claim;
  const size_t problems = in.problems().size();
  std::vector<std::string> kinds;
  for (const ClaimKind* kind : claim_kinds()) kinds.emplace_back(kind->name);
  const std::string name = in.word("kind", std::nullopt, kinds, "how it is judged");
  const bool is_known = in.problems().size() == problems;
  claim.id = in.text("id", "", "its name for `excludes` of other claims and study.answer");
  claim.excludes = in.texts("excludes", "ids of claims above that cannot hold where this one holds");
  claim.series = in.text("series", {"", "the only one"}, "the series it speaks of");
  claim.metric =
      in.text("metric", {"", "the report's y"}, "a metric of the test data, or parameters, flops or seconds");
  claim.paper = in.text("paper", "", "the paper's claim in words");
  claim.sentence = bind_sentence(in, claim);
  claim.theorem = in.text("theorem", "", "what a theorem, a lemma or a bound says, in words: a check of it");
  claim.ours = in.text("ours", "", "a claim of our own in words");
  if (!claim.paper.empty() && !claim.theorem.empty()) in.complain("theorem", "expected one of paper, theorem and ours");
  if (!claim.ours.empty() && source(claim) != ClaimSource::ours)
    in.complain("ours", "expected one of paper, theorem and ours");
  claim.why = in.text(
      "why", "", "why it fails, shown where it does; {ratio}, {metric @ x} and {metric @ x of series} are filled in");
  claim.because = in.text("because", "", "why the smallest effect is not the usual one");
  claim.single_rate = in.text("single_rate", "",
                              "why all x may be compared at one learning rate, or at one at an end of its grid: shown "
                              "with the verdict, which is undecided without it");
  claim.worded_after = in.text("worded_after", "", "results already seen when it was worded: a disclosure");
  bind_reference(in, claim);
  claim.from = in.optional_real("from", {}, "smallest x it speaks of");
  claim.to = in.optional_real("to", {}, "largest x it speaks of");
  claim.learned_at = in.optional_real("learned_at", {},
                                      "value of the metric that the best x must reach for the target "
                                      "to count as learned (default: 0.5 for relative_mse; for the cross-entropy of "
                                      "the studies' texts, what a table of pairs reaches)");
  claim.significance =
      in.real("significance", claim.significance, {.low = 0, .high = 1, .low_open = true, .high_open = true},
              "of a false pass, and of a false fail");
  claim.log_error = in.flag("log_error", claim.log_error,
                            "ratios, on logarithms; false: differences, for metrics that need not be above 0");
  claim.deterministic =
      in.flag("deterministic", claim.deterministic, "values are computed, not sampled: one seed is enough");
  const ClaimScope scope(study, claim.series, claim.metric, claim.from, claim.to);
  check_subject(in, claim, study, scope);
  for (const ClaimKind* kind : claim_kinds()) {
    in.when(is_known && name == kind->name, fmt::format("{}\"{}\"", condition_start, kind->name), [&] {
      claim.kind = kind;
      claim.keys = {};  // while a schema is made every kind is read
      if (kind->least_points > 1) scope.check_count(in, kind->least_points, kind->what);
      kind->read(claim.keys, in, scope);
    });
  }
  if (!is_known) {
    in.skip_rest();
    return claim;
  }
  if (const auto missing = missing_key(claim))
    in.complain(missing->key, fmt::format("missing: {} needs {}", name, missing->purpose));
  check_exclusions(in, claim, above);
  check_why(in, claim, scope);
  check_effect(in, claim, study);
  if (claim.deterministic || !claim.kind->compares) {
    const char* const why = "is for claims that compare trained models at several x";
    if (claim.learned_at) in.complain("learned_at", why);
    if (!claim.single_rate.empty()) in.complain("single_rate", why);
  }
  return claim;
}

void join_claim_keys(Schema& schema) {
  static const std::vector<std::string> order{"among", "at",  "factor", "direction", "tolerance",
                                              "axes",  "low", "high",   "than"};
  const auto is_of_kinds = [](const Key& key) { return key.path.rfind("claim.", 0) == 0 && !key.condition.empty(); };
  const auto first = std::find_if(schema.begin(), schema.end(), is_of_kinds);
  const auto last = std::find_if_not(first, schema.end(), is_of_kinds);
  Schema joined;
  for (auto key = first; key != last; ++key) {
    const auto same = std::find_if(joined.begin(), joined.end(),
                                   [&](const Key& other) { return other.path == key->path && other.doc == key->doc; });
    if (same == joined.end()) joined.push_back(*key);
    else same->condition += " or " + key->condition.substr(condition_start.size());
  }
  const auto place = [](const Key& key) { return std::find(order.begin(), order.end(), split_path(key.path)[1]); };
  std::stable_sort(joined.begin(), joined.end(), [&](const Key& a, const Key& b) { return place(a) < place(b); });
  schema.insert(schema.erase(first, last), joined.begin(), joined.end());
}

}  // namespace headroom::experiments
