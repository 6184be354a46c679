#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// The other's value is at least `factor` times this one, and more where that is 1; without `at`, at every x that both
/// have, each by its own test.
struct LessThan : ClaimKind {
  LessThan()
      : ClaimKind({.name = "less_than",
                   .form = Form::less,
                   .numbers = {"ratio", "worst_x", "pairs", "seeds"},
                   .required = {{"than", "the series, metric or at of what is larger"}},
                   .compares = true}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope& scope) const override {
    keys.at = read_at(in, scope);
    keys.factor = read_factor(in);
    Than& than = keys.than;
    const size_t problems = in.problems().size();
    in.optional_table("than", "what is larger; what is not given is the claim's own", [&](Reader& other) {
      than.series = other.text("series", "", "its series");
      than.metric = other.text("metric", "", "its metric");
      than.at = other.optional_real("at", {}, "its x");
      if (!than.series.empty()) scope.check_series(other, "series", than.series);
      scope.check_metric(other, "metric", than.metric, than.series);
      if (than.at) scope.check_x(other, "at", *than.at, than.series);
    });
    than.has_problem = in.problems().size() > problems;
    if (!than.has_problem) check_pairs(keys, in, scope);
  }

  std::string details(const ClaimKeys& keys) const override {
    std::string text;
    if (keys.at) text += " at " + exact(*keys.at);
    if (!keys.than.series.empty()) text += " " + keys.than.series;
    if (!keys.than.metric.empty()) text += " " + keys.than.metric;
    if (keys.than.at) text += (keys.at ? " than at " : " at ") + exact(*keys.than.at);
    return text + sized("by", keys.factor);
  }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    const double factor = c.claim.keys.factor;
    const Curve other = c.rivals();
    std::vector<Hypothesis> less;
    for (const auto& [own, rival] : pairs(c, other)) less.push_back(c.at_least(*rival, *own, factor, factor == 1));
    return Hypothesis::all_of(std::move(less));
  }

  Finding measure(const Case& c) const override {
    const Than& than = c.claim.keys.than;
    const double factor = c.claim.keys.factor;
    const Curve other = c.rivals();
    const auto compared = pairs(c, other);
    if (compared.empty()) fail("there is no {} at which both were measured", c.axis);
    const auto ratio_of = [&](const auto& pair) { return c.value(*pair.first) / c.value(*pair.second); };
    const auto& [own, rival] = *std::max_element(
        compared.begin(), compared.end(), [&](const auto& a, const auto& b) { return ratio_of(a) < ratio_of(b); });
    ConfidenceInterval ratio =
        c.ratio("ratio", *own, *rival, compared.size(), {.high = 1 / factor, .is_strict = factor == 1});
    ratio.to.whose = !than.series.empty() ? than.series : than.at ? "" : than.metric;
    // On logarithms over the seeds that both have, as the interval is.
    const double measured = c.on_logs() ? ratio.value : c.value(*own) / c.value(*rival);
    return {
        .measured = measured, .values = {measured, own->x, static_cast<double>(compared.size())}, .intervals = {ratio}};
  }

 private:
  /// Something is compared, and not with itself.
  static void check_pairs(const ClaimKeys& keys, Reader& in, const ClaimScope& scope) {
    const Than& than = keys.than;
    if (!in.has("than") || scope.x().empty() || scope.x(than.series).empty()) return;
    const std::vector<double> own = scope.x(), rivals = scope.x(than.series);
    const bool is_other = (!than.series.empty() && than.series != scope.series()) ||
                          (!than.metric.empty() && than.metric != scope.metric());
    int pairs = 0;
    for (const double x : own) {
      if (keys.at && x != *keys.at) continue;
      const double rival = than.at.value_or(x);
      if (!is_other && rival == x && (keys.at || !than.at))
        return in.complain("than", "is what the claim is about itself");
      pairs += std::find(rivals.begin(), rivals.end(), rival) != rivals.end() ? 1 : 0;
    }
    if (pairs == 0) in.complain("than", fmt::format("there is no {} at which both are measured", scope.x_name()));
  }

  /// What is compared: a point, and that which it is to be less than.
  static std::vector<std::pair<const Point*, const Point*>> pairs(const Case& c, const Curve& other) {
    const ClaimKeys& keys = c.claim.keys;
    std::vector<std::pair<const Point*, const Point*>> compared;
    for (const Point& p : c.curve.points) {
      if (keys.at && p.x != *keys.at) continue;
      if (const Point* rival = other.at(keys.than.at.value_or(p.x))) compared.emplace_back(&p, rival);
    }
    return compared;
  }
};

}  // namespace headroom::experiments
