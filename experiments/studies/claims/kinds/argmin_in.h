#pragma once
#include "experiments/studies/claims/kinds/kind.h"

namespace headroom::experiments {

/// Every other x is at least `factor` times as bad as one of `among`: all rivals, each by its own test, so that nothing
/// depends on which of them looks best. What is smaller than `factor` does not count against it either: it is refuted
/// where `factor` times some rival is still no worse than all of `among`. A computed tie counts for the claim.
struct ArgminIn : ClaimKind {
  ArgminIn()
      : ClaimKind(
            {.name = "argmin_in", .numbers = {"argmin", "claimed_x", "rival_x", "ratio", "seeds"}, .compares = true}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope& scope) const override {
    keys.among = read_among(in, scope);
    keys.factor = read_factor(in);
  }

  std::optional<MissingKey> missing(const ClaimConfig& claim) const override {
    return unless(!claim.keys.among.empty(), "among", "the x that may be the best");
  }

  std::string details(const ClaimKeys& keys) const override { return list_of(keys.among) + sized("by", keys.factor); }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    const ClaimKeys& keys = c.claim.keys;
    const auto are_worse_by = [&](double times) {
      std::vector<Hypothesis> rivals;
      for (const Point* rival : c.points(keys.among)) {
        std::vector<Hypothesis> beaten;
        for (const double x : keys.among)
          beaten.push_back(c.curve.larger_is_better ? c.at_least(*c.curve.at(x), *rival, times)
                                                    : c.at_least(*rival, *c.curve.at(x), times));
        rivals.push_back(Hypothesis::any_of(std::move(beaten)));
      }
      return Hypothesis::all_of(std::move(rivals));
    };
    if (keys.factor == 1) return are_worse_by(1);
    return Hypothesis::between(are_worse_by(keys.factor), are_worse_by(1 / keys.factor));
  }

  std::string measure(const Case& c, Verdict& verdict) const override {
    const ClaimKeys& keys = c.claim.keys;
    std::vector<const Point*> claimed;
    for (double x : keys.among) {
      claimed.push_back(c.curve.at(x));
      if (!claimed.back()) return fmt::format("{} = {} is no point of the sweep", c.axis, exact(x));
    }
    const std::vector<const Point*> others = c.points(keys.among);
    if (others.empty()) return "there is no other value to compare with";
    const Point &inside = c.best(claimed), &rival = c.best(others), &best = c.best(c.points());
    const ConfidenceInterval ratio = c.ratio("ratio", rival, inside, others.size() * keys.among.size());
    verdict.numbers = {
        {"argmin", best.x}, {"claimed_x", inside.x}, {"rival_x", rival.x}, {"ratio", c.value(rival) / c.value(inside)}};
    verdict.intervals = {ratio};
    verdict.measured = best.x;
    verdict.summary = fmt::format("best {}, {}", c.at(best), in_brackets(ratio));
    const std::string subject =
        &rival == &best ? "it" : fmt::format("at {}, the best of the others, the {}", c.at(rival), c.noun());
    verdict.found =
        fmt::format("the {} {} is at {}; {} is {} that at {}", c.curve.larger_is_better ? "largest" : "smallest",
                    c.noun(), c.at(best), subject, in_brackets(ratio), c.at(inside));
    verdict.claimed = "every other is " + as_bad(keys.factor);
    if (keys.factor > 1) verdict.claimed += "; it fails where another is better by as much";
    return "";
  }
};

}  // namespace headroom::experiments
