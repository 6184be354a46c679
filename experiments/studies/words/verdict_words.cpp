#include "experiments/studies/words/verdict_words.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/output/whisker.h"
#include "tasks/task.h"

namespace headroom::experiments {
namespace {

/// A number and the limits in which the claim has it.
Whisker whisker_of(const ConfidenceInterval& x, bool is_ratio) {
  return {x.value, x.low, x.high, x.claimed.low, x.claimed.high, is_ratio && !x.is_difference(), x.claimed.is_strict};
}

bool is_percent(const ConfidenceInterval& x) { return is_in_percent(whisker_of(x, true)); }

/// "2.95× [2.1, 4.2]", "+0.5 % [-0.6 %, +1.5 %]"; without an interval "2.95×".
std::string in_brackets(const ConfidenceInterval& x, bool is_ratio = true) {
  return (x.is_difference() ? "a difference of " : "") + x.sign + interval_words(whisker_of(x, is_ratio));
}

/// Tells what one verdict's kind measured.
class Teller {
 public:
  explicit Teller(const Verdict& verdict)
      : v_(verdict),
        first_(verdict.intervals.data()),
        larger_(verdict.is_larger_better || tasks::larger_is_better(verdict.metric)) {}

  FindingWords tell() const {
    const Form form = v_.claim.kind->form;
    if (form == Form::best) return ratios(", the best of the others", ", which leaves it open");
    if (form == Form::range) return ratios(", the largest and the smallest");
    if (form == Form::ends) return ratios(", the best between the ends");
    if (form == Form::optimum) return ratios(", the best of the others and of those claimed");
    if (form == Form::trend) return ratios("", ", the worst step");
    if (form == Form::less) return less();
    if (form == Form::gap) return gap();
    if (form == Form::steps) return steps();
    if (form == Form::bests) return bests();
    if (form == Form::target) return off(rounded(first_->to.value));
    if (form == Form::line) return off(fmt::format("the line from {} to {}", exact(x(0)), exact(x(1))));
    if (form == Form::band) return band();
    if (form == Form::slope) return slope();
    return form == Form::share ? share() : bound();
  }

 private:
  /// Each interval is the ratio of two points; what the points of the first are and those of the second.
  FindingWords ratios(const std::string& are = "", const std::string& second_are = "") const {
    FindingWords out;
    for (const ConfidenceInterval& ratio : v_.intervals) {
      const bool is_first = &ratio == first_, is_last = &ratio == &v_.intervals.back();
      const std::string number = in_brackets(ratio) + weight(ratio);
      out.numbers.push_back(label(ratio.of) + " " + number);
      const bool has_to = is_last || ratio.to.x != v_.intervals.back().to.x;
      if (has_to) out.numbers.back() += (is_percent(ratio) ? " against " : " of ") + label(ratio.to);
      if (!is_first) out.found += ", and ";
      if (is_first || ratio.of.x != first_->of.x)
        out.found += at(ratio.of) + (is_first ? " the " + noun() + " is " : " it is ");
      out.found += number;
      if (is_first || ratio.to.x != first_->to.x)
        out.found += (is_percent(ratio) ? " against " : " ") + against(ratio.to) + (is_first ? are : second_are);
    }
    return out;
  }

  FindingWords less() const {
    const std::string pairs = exact(v_.number("pairs"));
    FindingWords out = ratios();
    out.found += fmt::format(" ({} against {}){}", rounded(first_->of.value), rounded(first_->to.value),
                             pairs == "1" ? "" : fmt::format(", the least clear of {} comparisons", pairs));
    return out;
  }

  FindingWords gap() const {
    const std::string &rival = v_.claim.keys.than.series, change = in_brackets(*first_);
    const std::string before = rounded(first_->to.value) + "×", after = rounded(first_->of.value) + "×";
    return {{label(first_->to) + " " + before, label(first_->of) + " " + after + " of " + rival, "change " + change},
            fmt::format("against {} the {} goes from {} {} to {} {}: a change by {}", rival, noun(), before,
                        at(first_->to), after, at(first_->of), change)};
  }

  FindingWords steps() const {
    const auto taken = [](const MeasuredPoint& one) {
      const std::string bounds =
          one.bounds == 0 ? "" : fmt::format(", a bound for {} of {} seeds,", one.bounds, one.seeds);
      return one.sign + rounded(one.value) + bounds;
    };
    const std::string ratio = in_brackets(*first_);
    const bool is_added = is_percent(*first_);
    return {{fmt::format("{} {}the steps of {}", ratio, is_added ? "against " : "", first_->to.whose)},
            fmt::format("{} takes {} steps to reach {} and {} {}: {}{}", first_->of.whose, taken(first_->of),
                        exact(*v_.claim.keys.value), first_->to.whose, taken(first_->to), ratio,
                        is_added ? "" : " as many")};
  }

  FindingWords bests() const {
    const std::string own = exact(v_.number("best_x")), other = exact(v_.number("other_best_x"));
    const std::string both = first_->of.x == first_->to.x ? "" : " and " + exact(first_->to.x);
    return {
        {fmt::format("best {} / {}", own, other), in_brackets(*first_)},
        fmt::format("the {} is best {} for {} and at {} for {}; {}{} for both, one of them is {} {} its best other x",
                    noun(), at({.x = v_.number("best_x")}), first_->of.whose, other, first_->to.whose, at(first_->of),
                    both, in_brackets(*first_), is_percent(*first_) ? "against" : "as bad as at")};
  }

  /// How far in percent a point is from something.
  FindingWords off(const std::string& other) const {
    const bool is_on = std::abs(v_.measured) < 0.005;  // shown as 0.00 %
    const std::string on = v_.claim.kind->form == Form::line ? "on" : "equal to";
    const double limit = std::copysign(v_.claim.keys.percent, v_.measured);
    const bool looks_equal = v_.measured != limit && signed_percent(v_.measured) == signed_percent(limit);
    const std::string percent = looks_equal ? fmt::format("{:+.9g} %", v_.measured) : signed_percent(v_.measured),
                      text = fmt::format("{} {}", is_on ? on : percent + " off", other);
    return {{label(first_->of) + " " + text},
            fmt::format("{} the {} is {}{}", at(first_->of), v_.metric, text, is_on ? "" : ", the farthest")};
  }

  FindingWords band() const {
    const ConfidenceInterval &low = v_.intervals[0], &high = v_.intervals[1];
    const auto text = [](const ConfidenceInterval& value, const std::optional<double>& limit) {
      const auto near = [&](double number) { return rounded_beside(number, limit); };
      return near(value.value) +
             (std::isnan(value.low) ? "" : fmt::format(" [{}, {}]", near(value.low), near(value.high)));
    };
    const std::string from = text(low, low.claimed.low), to = text(high, high.claimed.high);
    if (low.value < high.value)
      return {{place(low.of) + ": " + from, place(high.of) + ": " + to},
              fmt::format("the {} ranges from {} {} to {} {}", v_.metric, from, at(low.of), to, at(high.of))};
    const std::string one = high.claimed.high ? to : from;
    return {{place(low.of) + ": " + one},
            fmt::format("the {} is {} {}", v_.metric, one, x(0) == x(1) ? at(low.of) : "everywhere")};
  }

  FindingWords slope() const {
    const std::string slope = in_brackets(*first_, false);
    return {{"slope " + slope},
            fmt::format("the slope of {} in {} ({}) is {}", v_.metric, v_.axis, v_.claim.keys.axes, slope)};
  }

  FindingWords share() const {
    const MeasuredPoint &first = first_->to, &last = first_->of;
    // Where the first doubling gains nothing there is no saturation, whatever its quotient with the last gain.
    const std::string share = first.value > 0 ? in_brackets(*first_, false) + " of the first gain" : "no first gain";
    return {{share},
            fmt::format("doubling {} gains {} from {} to {} and {} from {} to {}: {}{}", v_.axis, rounded(first.value),
                        exact(x(0)), exact(first.x), rounded(last.value), exact(x(1)), exact(last.x), share,
                        first.value > 0 ? other_limits() : "")};
  }

  /// What the same interval says at other limits: the paper states none.
  std::string other_limits() const {
    const double low = std::isnan(first_->low) ? first_->value : first_->low,
                 high = std::isnan(first_->high) ? first_->value : first_->high;
    std::string text, before;
    for (const double limit : {0.1, 0.5, 1.0}) {
      if (limit == v_.claim.keys.fraction) continue;
      const std::string verdict = high <= limit ? "pass" : low > limit ? "fail" : "be undecided";
      if (text.empty()) text = fmt::format("; it would {} at a limit of {}", verdict, exact(limit));
      else
        text += verdict == before ? " or " + exact(limit) : fmt::format(" and {} at one of {}", verdict, exact(limit));
      before = verdict;
    }
    return text;
  }

  FindingWords bound() const {
    const std::string above =
        fmt::format("{} of {} trials", exact(v_.number("violations")), exact(v_.number("trials")));
    const MeasuredPoint &worst = v_.points[0], &limit = v_.points[1];
    const std::string share = rounded_beside(v_.measured, 1);
    return {{above + " above", share + " of the bound at most"},
            fmt::format("the bound is exceeded in {}; {} reaches {} of it at most ({} against {} {})", above, v_.metric,
                        share, rounded(worst.value), rounded_beside(limit.value, worst.value), at(worst))};
  }

  double x(size_t i) const { return v_.points[i].x; }
  bool is_count() const { return v_.axis.ends_with("s") && !v_.axis.ends_with("ss"); }
  /// "with 4 heads", "at width 64".
  std::string at(const MeasuredPoint& point) const {
    return (is_count() || v_.axis.empty() ? "with " : "at ") + place(point);
  }
  /// "4 heads", "1 head", "width 64".
  std::string place(const MeasuredPoint& point) const {
    if (v_.axis.empty()) return v_.claim.series;
    if (!is_count()) return fmt::format("{} {}", v_.axis, exact(point.x));
    return fmt::format("{} {}", exact(point.x), point.x == 1 ? v_.axis.substr(0, v_.axis.size() - 1) : v_.axis);
  }
  /// The same, or the name of another series or metric.
  std::string label(const MeasuredPoint& point) const { return point.whose.empty() ? place(point) : point.whose; }
  /// What a ratio is of: "that with 8 heads", "that of few", "the entropy_rate".
  std::string against(const MeasuredPoint& point) const {
    const bool is_metric = !point.whose.empty() && point.whose != v_.claim.keys.than.series;
    return is_metric ? "the " + point.whose : "that " + (point.whose.empty() ? at(point) : "of " + point.whose);
  }
  /// Of a ratio that is against the claim, and too small to count.
  std::string weight(const ConfidenceInterval& ratio) const {
    const double least = larger_ ? 1 / ratio.high : ratio.low, most = larger_ ? 1 / ratio.low : ratio.high;
    const bool is_small = !ratio.is_difference() && least > 1 && most < v_.claim.keys.factor;
    return v_.claim.kind->form == Form::ends && is_small ? " (worse, but by less than counts)" : "";
  }
  /// "error", or the metric's name where larger is better or a metric is compared.
  std::string noun() const { return larger_ || v_.claim.kind->form == Form::less ? v_.metric : "error"; }

  const Verdict& v_;
  const ConfidenceInterval* first_;
  const bool larger_;  ///< larger values are better
};

}  // namespace

const char* says(VerdictStatus status) {
  static constexpr const char* words[] = {"holds", "fails", "is undecided", "was not judged"};
  return words[static_cast<size_t>(status)];
}

FindingWords words_of(const Verdict& v) {
  if (v.status == VerdictStatus::not_run) return {};
  FindingWords words = Teller(v).tell();
  if (v.steps) words.found = fmt::format("after {} steps, {}", *v.steps, words.found);
  return words;
}

std::vector<Whisker> whiskers(const Verdict& v) {
  const std::vector<std::string> numbers = words_of(v).numbers;
  std::vector<Whisker> out;
  for (const ConfidenceInterval& number : v.intervals) {
    if (!number.claimed.any() || number.is_difference()) continue;
    Whisker whisker = whisker_of(number, v.claim.kind->compares);
    const std::string own = interval_words(whisker);
    for (const std::string& words : numbers)
      if (words.find(own) != std::string::npos) whisker.words = words;
    out.push_back(std::move(whisker));
  }
  return out;
}

std::string needs(const Verdict& v) {
  const ClaimKind& kind = *v.claim.kind;
  if (v.status == VerdictStatus::not_run) return "";
  if (kind.form == Form::bound) return "needs none above";
  if (kind.form == Form::target) return fmt::format("needs ≤ {} %", exact(v.claim.keys.percent));
  if (kind.form == Form::line) return fmt::format("needs ≥ {} %", exact(v.claim.keys.percent));
  std::vector<std::string> all;
  for (const ConfidenceInterval& number : v.intervals) {
    if (!number.claimed.any()) continue;
    const std::string words = bound_words(whisker_of(number, v.claim.kind->compares));
    if (std::count(all.begin(), all.end(), words) == 0) all.push_back(words);
  }
  const bool is_one_end = kind.form == Form::ends && kind.effect == Effect::at_most;
  return fmt::format("needs {}{}", fmt::join(all, ", "), is_one_end ? " at one end" : "");
}

std::string summary(const Verdict& v) {
  const std::string numbers = fmt::format("{}", fmt::join(words_of(v).numbers, ", "));
  if (std::isnan(v.p)) return numbers;
  const bool is_undecided = v.tested == VerdictStatus::undecided;
  if (is_undecided && !v.has_spread) return numbers + ", the same at every seed";
  const double p = v.tested == VerdictStatus::fail ? v.p_against : v.p;
  return fmt::format("{}, p = {}{}", numbers, probability(p),
                     is_undecided ? fmt::format(" for a pass, {} for a fail", probability(v.p_against)) : "");
}

std::string sentence(const Verdict& v) {
  if (v.status == VerdictStatus::not_run) return "Not judged: " + v.reason + ".";
  const std::string text = fmt::format("{}; the claim {}.", capitalized(words_of(v).found), needs(v));
  if (v.status != VerdictStatus::undecided) return text;
  return fmt::format("{} Undecided: {}.", text, what_is_open(v));
}

std::string remedy(const Hindrance& hindrance) {
  const std::string grid =
      fmt::format("sweep.\"{}\" = {{ best_of = {{ values = […], extend = true }} }}", hindrance.key);
  switch (hindrance.what) {
    case Hindrance::What::one_value:
      return grid + " with several values, or single_rate = \"why one is enough\" in the claim";
    case Hindrance::What::end_of_values:
      return grid + ", which goes on beyond an end";
    case Hindrance::What::reported_items:
      return hindrance.key + " = 0.1";
    case Hindrance::What::one_seed:
      return hindrance.key + " = { from = 1, until = \"decided\" }";
  }
  return "";
}

std::string what_is_open(const Verdict& v) {
  if (v.status != VerdictStatus::undecided) return "";
  if (!v.reason.empty()) return v.reason;
  if (std::isnan(v.p)) return "the values tie";
  if (v.claim.deterministic) return "on a longer text more could be said";
  if (v.number("seeds") < 2) return "one seed decides nothing";
  if (!v.has_spread)
    return "every seed gives the same value, so nothing can be tested; for values that are computed, not sampled, set "
           "deterministic = true";
  return v.seeds_needed ? fmt::format("about {} seeds would decide", *v.seeds_needed)
                        : "even 1,000 seeds of this spread would not decide";
}

std::vector<std::string> seal_lines(const StudyResults& results) {
  if (!results.seal) return {};
  const SealedClaims& seal = *results.seal;
  const std::string date = fmt::format("Claims sealed on {:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time_t{seal.at}));
  std::vector<std::string> lines{
      !seal.begun_before.empty() ? fmt::format("{}, after {} had begun.", date, seal.begun_before)
      : results.trials.empty() || seal.has_dates
          ? date + ", before the first trial."
          : date + ". Not all of these runs say when they began, so they may be older.",
  };
  for (const std::string& change : seal.changes) lines.push_back("Changed since: " + change);
  return lines;
}

}  // namespace headroom::experiments
