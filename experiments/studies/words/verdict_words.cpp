#include "experiments/studies/words/verdict_words.h"

#include <fmt/format.h>

#include <cmath>

#include "experiments/output/number.h"
#include "experiments/output/text.h"

namespace headroom::experiments {
namespace {

/// "2.95× [2.1, 4.2]"; without an interval "2.95×".
std::string in_brackets(const ConfidenceInterval& interval, const char* unit = "×") {
  const std::string value = interval.sign + rounded(interval.value);
  std::string text = interval.is_difference() ? "a difference of " + value : value + unit;
  if (!std::isnan(interval.low)) text += fmt::format(" [{}, {}]", rounded(interval.low), rounded(interval.high));
  return text;
}

/// A limit as a study's author would write it.
std::string shown(double limit) {
  const std::string text = exact(limit);
  return text.size() > 6 ? rounded(limit) : text;
}

/// "needs ≥ 1.1×".
std::string needs(const Limits& limits, const char* unit = "") {
  if (limits.low && limits.high) return "needs " + interval(limits);
  const char* const sign = limits.low ? (limits.is_strict ? ">" : "≥") : limits.is_strict ? "<" : "≤";
  return fmt::format("needs {} {}{}", sign, shown(limits.low ? *limits.low : *limits.high), unit);
}

/// "at least 2×".
std::string within(const Limits& limits, const char* unit = "") {
  return limits.low ? fmt::format("at least {}{}", exact(*limits.low), unit)
                    : fmt::format("at most {}{}", exact(*limits.high), unit);
}

/// Tells what one verdict's kind found.
class Teller {
 public:
  explicit Teller(const Verdict& verdict) : v_(verdict), keys_(verdict.claim.keys) {}

  FindingWords tell() const {
    switch (v_.claim.kind->form) {
      case Form::best:
        return best();
      case Form::extremes:
        return extremes();
      case Form::ends:
        return ends();
      case Form::optimum:
        return optimum();
      case Form::trend:
        return trend();
      case Form::less:
        return less();
      case Form::gap:
        return gap();
      case Form::steps:
        return steps();
      case Form::target:
        return target();
      case Form::band:
        return band();
      case Form::line:
        return line();
      case Form::slope:
        return slope();
      case Form::saturation:
        return saturation();
      case Form::bound:
        return bound();
      case Form::optima:
        return optima();
    }
    return {};
  }

 private:
  FindingWords best() const {
    const ConfidenceInterval& best = number();
    FindingWords out{.effect = fmt::format("{} of {}", in_brackets(best), exact(best.to.x)),
                     .found = fmt::format("{}, the best of the others", compared(best)),
                     .claimed = v_.claim.kind->effect == Effect::at_least
                                    ? as_bad()
                                    : fmt::format("at most {} times as bad as any other", exact(keys_.factor)),
                     .brief = {compared_labels(best)}};
    if (v_.intervals.size() > 1) {
      const ConfidenceInterval& open = v_.intervals[1];
      out.effect += fmt::format(", {} of {}", in_brackets(open), exact(open.to.x));
      out.found += fmt::format(", and {} that at {}, which leaves it open", in_brackets(open), at(open.to));
      out.brief.push_back(fmt::format("{} of {}", in_brackets(open), label(open.to)));
    }
    out.brief.push_back(needs(best.claimed, "×"));
    return out;
  }

  FindingWords extremes() const {
    const ConfidenceInterval& ratio = number();
    return {in_brackets(ratio),
            fmt::format("the largest {}, {} at {}, is {} the smallest, {} at {}", v_.metric, rounded(ratio.of.value),
                        at(ratio.of), in_brackets(ratio), rounded(ratio.to.value), at(ratio.to)),
            fmt::format("at most {} times", exact(keys_.factor)),
            {compared_labels(ratio), needs(ratio.claimed, "×")}};
  }

  FindingWords ends() const {
    const ConfidenceInterval &low = v_.intervals[0], &high = v_.intervals[1];
    const auto shown = [&](const ConfidenceInterval& ratio) {
      const double least = v_.larger_is_better ? 1 / ratio.high : ratio.low,
                   most = v_.larger_is_better ? 1 / ratio.low : ratio.high;
      const bool is_small = !ratio.is_difference() && least > 1 && most < keys_.factor;
      return in_brackets(ratio) + (is_small ? " (worse, but by less than counts)" : "");
    };
    const bool is_there = v_.claim.kind->effect == Effect::at_least;
    const std::string needed = needs(low.claimed, "×");
    return {fmt::format("{} / {}", in_brackets(low), in_brackets(high)),
            fmt::format("at {} the {} is {} that at {}, the best between the ends, and at {} it is {}", at(low.of),
                        noun(), shown(low), at(low.to), at(high.of), shown(high)),
            is_there ? as_bad() + " at both ends"
                     : fmt::format("less than {} times as bad at one end", exact(keys_.factor)),
            {label(low.of) + " " + shown(low), label(high.of) + " " + shown(high), "of " + label(low.to),
             is_there ? needed : needed + " at one end"}};
  }

  FindingWords optimum() const {
    const ConfidenceInterval& ratio = number();
    const MeasuredPoint best{.x = v_.measured};
    return {fmt::format("best {}, {}", at(best), in_brackets(ratio)),
            fmt::format("the {} {} is at {}; {}", v_.larger_is_better ? "largest" : "smallest", noun(), at(best),
                        best.x == ratio.of.x ? fmt::format("it is {} that at {}", in_brackets(ratio), at(ratio.to))
                                             : fmt::format("at {}, the best of the others, the {} is {} that at {}",
                                                           at(ratio.of), noun(), in_brackets(ratio), at(ratio.to))),
            fmt::format("every other is {}{}", as_bad(),
                        keys_.factor > 1 ? "; it fails where another is better by as much" : ""),
            {"best: " + label(best), compared_labels(ratio), needs(ratio.claimed, "×")}};
  }

  FindingWords trend() const {
    const ConfidenceInterval &total = v_.intervals[0], &step = v_.intervals[1];
    const MeasuredPoint &first = v_.places[0], &last = v_.places[1], &from = v_.places[2], &to = v_.places[3];
    const std::string tolerated = exact(*step.claimed.high) + "×";
    return {
        fmt::format("{} → {}, {}, step {}", rounded(first.value), rounded(last.value), in_brackets(total),
                    in_brackets(step)),
        fmt::format("from {} to {} the {} goes from {} to {}: {}; {} from {} to {}{} {}", at(first), exact(last.x),
                    v_.metric, rounded(first.value), rounded(last.value), in_brackets(total),
                    v_.number("worst_step") > 1 ? "the largest step back," : "every step goes that way, the smallest",
                    exact(from.x), exact(to.x), v_.number("worst_step") > 1 ? ", is" : ":", in_brackets(step)),
        fmt::format("{} in all, and no step back by more than {}",
                    keys_.factor > 1 ? fmt::format("at least {}×", exact(keys_.factor)) : "any change", tolerated),
        {valued(first), valued(last), in_brackets(total),
         fmt::format("worst step, to {}, {}", label(to), in_brackets(step)),
         fmt::format("{}, steps ≤ {}", needs(total.claimed, "×"), tolerated)}};
  }

  FindingWords less() const {
    const ConfidenceInterval& ratio = number();
    const double pairs = v_.number("pairs");
    const std::string other = ratio.to.whose.empty() ? at(ratio.to) : ratio.to.whose;
    return {in_brackets(ratio),
            fmt::format("at {} it is {}, against {} for {}: {}{}", at(ratio.of), rounded(ratio.of.value),
                        rounded(ratio.to.value), other, in_brackets(ratio),
                        pairs > 1 ? fmt::format(", the least clear of {} comparisons", exact(pairs)) : ""),
            keys_.factor > 1 ? fmt::format("at most {}×", rounded(1 / keys_.factor)) : "less",
            {valued(ratio.of), fmt::format("{} for {}", rounded(ratio.to.value), other), in_brackets(ratio),
             needs(ratio.claimed, "×")}};
  }

  FindingWords gap() const {
    const ConfidenceInterval& change = number();
    const std::string first = rounded(change.to.value), last = rounded(change.of.value);
    return {
        fmt::format("{}× → {}×, {}", first, last, in_brackets(change)),
        fmt::format("at {} the {} is {} times as bad as that of {}, and at {} it is {} times: a change by {}",
                    at(change.to), noun(), first, change.of.whose, at(change.of), last, in_brackets(change)),
        change.claimed.high ? fmt::format("at most {}×", rounded(*change.claimed.high)) : within(change.claimed, "×"),
        {label(change.to) + " " + first + "×", label(change.of) + " " + last + "×", "of " + change.of.whose,
         "change " + in_brackets(change), needs(change.claimed, "×")}};
  }

  FindingWords steps() const {
    const ConfidenceInterval& ratio = number();
    const auto needed = [](const MeasuredPoint& one) { return one.sign + rounded(one.value); };
    const std::string own = needed(ratio.of), other = needed(ratio.to);
    return {in_brackets(ratio),
            fmt::format("{} takes {} steps to {}, and {} takes {}: {} as many", ratio.of.whose, own,
                        exact(*keys_.value), ratio.to.whose, other, in_brackets(ratio)),
            ratio.claimed.low && ratio.claimed.high ? "within " + interval(ratio.claimed) : within(ratio.claimed, "×"),
            {fmt::format("{} {} steps", ratio.of.whose, own), fmt::format("{} {}", ratio.to.whose, other),
             in_brackets(ratio), needs(ratio.claimed, "×")}};
  }

  FindingWords target() const {
    const ConfidenceInterval& worst = number();
    const std::string off = signed_percent(v_.measured), against = rounded(worst.to.value);
    return {off,
            fmt::format("the farthest of {} points is {} off ({}: {} against {})", exact(v_.number("points")), off,
                        at(worst.of), rounded(worst.of.value), against),
            fmt::format("at most {} %", exact(keys_.percent)),
            {fmt::format("{} against {}", valued(worst.of), against), off, needs({.high = keys_.percent}, " %")}};
  }

  FindingWords band() const {
    const ConfidenceInterval &low = v_.intervals[0], &high = v_.intervals[1];
    const Limits& limits = keys_.limits;
    const auto text = [](const ConfidenceInterval& value, const std::optional<double>& limit) {
      const std::string number = rounded_beside(value.value, limit);
      return std::isnan(value.low) ? number
                                   : fmt::format("{} [{}, {}]", number, rounded_beside(value.low, limit),
                                                 rounded_beside(value.high, limit));
    };
    const std::string from = text(low, limits.low), to = text(high, limits.high), one = limits.high ? to : from;
    const bool is_one = !(low.value < high.value), is_one_x = v_.places[0].x == v_.places[1].x;
    const std::string of = v_.is_reports_metric ? "" : " of " + v_.metric;
    const std::string what = (v_.claim.deterministic ? "values" : "means") + of;
    FindingWords out{.effect = is_one ? one : fmt::format("{} … {}", from, to),
                     .found = {},
                     .claimed = limits.low && limits.high
                                    ? fmt::format("between {} and {}", exact(*limits.low), exact(*limits.high))
                                    : within(limits),
                     .brief = {fmt::format("{}: {}", label(low.of), from)}};
    if (is_one && is_one_x && !v_.claim.deterministic)
      out.found = fmt::format("at {} the mean{} is {}", at(low.of), of, one);
    else if (low.value == high.value) out.found = fmt::format("all {} are {}", what, one);
    else out.found = fmt::format("the {} lie between {} at {} and {} at {}", what, from, at(low.of), to, at(high.of));
    if (!is_one) out.brief.push_back(fmt::format("{}: {}", label(high.of), to));
    out.brief.push_back(needs(limits));
    return out;
  }

  FindingWords line() const {
    const MeasuredPoint &worst = number().of, &first = v_.places[0], &last = v_.places[1];
    const std::string off = signed_percent(v_.measured);
    FindingWords out{.effect = off,
                     .found = fmt::format("at {} it is farthest from the straight line between {} and {}: {}",
                                          at(worst), exact(first.x), exact(last.x), off),
                     .claimed = fmt::format("at least {} % off", exact(keys_.percent)),
                     .brief = {fmt::format("{} {} off the line", label(worst), off)}};
    if (std::abs(v_.measured) < 0.005) {  // shown as 0.00 %
      out.effect = "straight";
      out.found = fmt::format("from {} to {} all values lie on a straight line", at(first), exact(last.x));
      out.brief = {"a straight line"};
    }
    out.brief.push_back(needs({.low = keys_.percent}, " %"));
    return out;
  }

  FindingWords slope() const {
    const std::string slope = in_brackets(number(), "");
    return {slope,
            fmt::format("the slope of {} on {} ({}) is {}", v_.metric, v_.axis, keys_.axes, slope),
            "within " + interval(keys_.limits),
            {"slope " + slope, needs(keys_.limits)}};
  }

  FindingWords saturation() const {
    const ConfidenceInterval& share = number();
    const MeasuredPoint &first = share.to, &last = share.of;
    const bool gains = first.value > 0;  // else there is no saturation, whatever the quotient of the two gains
    const std::string effect = gains ? in_brackets(share, "") : "no first gain";
    return {effect,
            fmt::format("doubling {} gains {} between {} and {}, and {} between {} and {}: {}{}", v_.axis,
                        rounded(first.value), exact(v_.places[0].x), exact(first.x), rounded(last.value),
                        exact(v_.places[1].x), exact(last.x), effect, gains ? " of the first gain" : ""),
            within(share.claimed),
            {"gain to " + valued(first), "gain to " + valued(last), (gains ? "share " : "") + effect,
             needs(share.claimed)}};
  }

  FindingWords bound() const {
    const std::string trials = exact(v_.number("trials")), above = exact(v_.number("violations"));
    const std::string largest = rounded(v_.measured);
    const MeasuredPoint &worst = v_.places[0], &limit = v_.places[1];
    return {
        fmt::format("{} of {} above, at most {} of the bound", above, trials, largest),
        fmt::format("{} of {} trials {} above the bound ({}); {} / bound is at most {} ({} seed {}: {} against {}), "
                    "and {} at the median",
                    above, trials, above == "1" ? "lies" : "lie", keys_.bound, v_.metric, largest, at(worst),
                    worst.whose, rounded(worst.value), rounded(limit.value), rounded(v_.number("tightness_median"))),
        "",
        {fmt::format("{} of {} trials above", above, trials), fmt::format("at most {} of the bound", largest),
         "needs none above"}};
  }

  FindingWords optima() const {
    const ConfidenceInterval& ratio = number();
    const MeasuredPoint own{.x = v_.number("best_x")};
    const std::string other = exact(v_.number("other_best_x"));
    const std::string nearest = ratio.of.x == ratio.to.x ? at(ratio.of) + " for both"
                                                         : fmt::format("{} and {}", at(ratio.of), exact(ratio.to.x));
    return {fmt::format("best {} / {}, {}", exact(own.x), other, in_brackets(ratio)),
            fmt::format("the {0} is best at {1} for {2} and at {3} for {4}; with {5}, which comes closest to refuting "
                        "the claim, the {0} of the one that suffers more is {6} {7} its best other x",
                        noun(), at(own), ratio.of.whose, other, ratio.to.whose, nearest, in_brackets(ratio),
                        v_.larger_is_better ? "as bad as at" : "that at"),
            "each such case is " + as_bad(),
            {}};
  }

  const ConfidenceInterval& number() const { return v_.intervals[0]; }
  /// "heads = 4".
  std::string at(const MeasuredPoint& place) const { return fmt::format("{} = {}", v_.axis, exact(place.x)); }
  /// The same, shorter: "4 heads", "1 head", "width 64".
  std::string label(const MeasuredPoint& place) const {
    const bool is_count = v_.axis.ends_with("s") && !v_.axis.ends_with("ss");
    if (!is_count) return fmt::format("{} {}", v_.axis, exact(place.x));
    return fmt::format("{} {}", exact(place.x), place.x == 1 ? v_.axis.substr(0, v_.axis.size() - 1) : v_.axis);
  }
  /// "4 heads 0.0931".
  std::string valued(const MeasuredPoint& place) const { return label(place) + " " + rounded(place.value); }
  /// "at heads = 1 the error is 3.1× that at heads = 8".
  std::string compared(const ConfidenceInterval& ratio) const {
    return fmt::format("at {} the {} is {} that at {}", at(ratio.of), noun(), in_brackets(ratio), at(ratio.to));
  }
  /// "1 head 3.1× of 8 heads".
  std::string compared_labels(const ConfidenceInterval& ratio) const {
    return fmt::format("{} {} of {}", label(ratio.of), in_brackets(ratio), label(ratio.to));
  }
  /// "error", or the metric's name where larger is better.
  std::string noun() const { return v_.larger_is_better ? v_.metric : "error"; }
  /// "at least 1.1 times as bad", "worse" where any difference counts.
  std::string as_bad() const {
    return keys_.factor > 1 ? fmt::format("at least {} times as bad", exact(keys_.factor)) : "worse";
  }

  const Verdict& v_;
  const ClaimKeys& keys_;
};

bool has_one_seed(const Verdict& v) { return v.number("seeds") < 2; }

/// What decides, by the p-values or the computed numbers.
std::string what_decides(const Verdict& v) {
  const bool is_sampled = v.basis == Basis::sampled;
  const std::string holm = v.family > 1 ? fmt::format(", by Holm over {} claims", v.family) : "";
  const auto tested = [&](double p) { return is_sampled ? fmt::format(" (p = {}{})", probability(p), holm) : ""; };
  if (v.tested == VerdictStatus::pass) return fmt::format("That holds{}.", tested(v.p));
  if (v.tested == VerdictStatus::fail) return fmt::format("It does not hold{}.", tested(v.p_against));
  if (!is_sampled) return "That cannot be told.";
  const std::string open = what_is_open(v);
  if (has_one_seed(v)) return capitalized(open) + ".";
  if (!v.has_spread) return "Undecided: " + open + ".";
  return fmt::format("Undecided: p = {} for a pass, {} for a fail{}; {}.", probability(v.p), probability(v.p_against),
                     holm, open);
}

}  // namespace

FindingWords words_of(const Verdict& v) {
  if (v.status == VerdictStatus::not_run || v.numbers.empty()) return {};
  FindingWords words = Teller(v).tell();
  if (v.steps) words.found = fmt::format("after {} steps, {}", *v.steps, words.found);
  return words;
}

std::string summary(const Verdict& v) {
  const std::string effect = words_of(v).effect;
  if (v.basis != Basis::sampled) return effect;
  const bool is_undecided = v.tested == VerdictStatus::undecided;
  if (is_undecided && !v.has_spread) return effect + ", the same at every seed";
  const double p = v.tested == VerdictStatus::fail ? v.p_against : v.p;
  return fmt::format("{}, p = {}{}", effect, probability(p),
                     is_undecided ? fmt::format(" for a pass, {} for a fail", probability(v.p_against)) : "");
}

std::string sentence(const Verdict& v) {
  if (v.status == VerdictStatus::not_run) return "Not judged: " + v.reason + ".";
  const FindingWords words = words_of(v);
  std::string text = capitalized(words.found) + ".";
  if (!words.claimed.empty()) text += fmt::format(" The claim: {}.", words.claimed);
  if (!v.reason.empty()) return fmt::format("{} Left open all the same: {}.", text, v.reason);
  return v.basis == Basis::counted ? text : text + " " + what_decides(v);
}

std::string what_is_open(const Verdict& v) {
  if (v.status != VerdictStatus::undecided) return "";
  if (!v.reason.empty()) return v.reason;
  if (has_one_seed(v)) return "one seed decides nothing";
  if (!v.has_spread)
    return "it has the same value at every seed, and without a spread there is no test. Values that are computed, not "
           "sampled, are compared as they are with deterministic = true";
  return v.seeds_needed ? fmt::format("about {} seeds would decide", *v.seeds_needed)
                        : "1,000 seeds of this spread would not decide";
}

}  // namespace headroom::experiments
