#include "experiments/output/whisker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/output/number.h"
#include "experiments/output/plot/axis.h"
#include "experiments/output/plot/text_width.h"
#include "experiments/output/text.h"

namespace headroom::experiments {
namespace {

constexpr double width = 168, margin = 10, row_height = 13, label_height = 12, axis_height = 15;

/// A number to so many digits, in percent to so many decimals.
std::string number_text(const Whisker& w, double x, int digits) {
  if (!is_in_percent(w) || !std::isfinite(x)) return rounded(x, digits);
  return x == 1 ? "0 %" : fmt::format("{:+.{}f} %", 100 * (x - 1), digits);
}

/// The fewest digits that tell a number from the bounds, and in percent from nothing.
int digits_for(const Whisker& w, double x) {
  constexpr int most_digits = 9, most_decimals = 6;
  const bool is_percent = is_in_percent(w);
  int digits = is_percent ? 1 : 3;
  const auto looks_equal = [&](const std::optional<double>& other) {
    return other && x != *other && number_text(w, x, digits) == number_text(w, *other, digits);
  };
  const auto is_lost = [&] { return is_percent && x != 1 && std::abs(100 * (x - 1)) < 0.5 * std::pow(10, -digits); };
  while (std::isfinite(x) && digits < (is_percent ? most_decimals : most_digits) &&
         (looks_equal(w.least) || looks_equal(w.most) || is_lost()))
    ++digits;
  return digits;
}

int most_digits_of(const Whisker& w) {
  return std::max({digits_for(w, w.value), digits_for(w, w.low), digits_for(w, w.high)});
}

std::string limit_text(const Whisker& w, double limit) {
  constexpr size_t short_enough = 6;
  const std::string percent = limit == 1 ? "0" : fmt::format("{:+g}", 100 * (limit - 1)),
                    text = is_in_percent(w) ? percent : exact(limit);
  if (text.size() > short_enough)
    return number_text(w, limit, most_digits_of(w)) + (w.is_ratio && !is_in_percent(w) ? "×" : "");
  return text + (is_in_percent(w) ? " %" : w.is_ratio ? "×" : "");
}

/// Maps values to the drawing. Open ends reach the edge.
class WhiskerScale {
 public:
  explicit WhiskerScale(const std::vector<Whisker>& whiskers)
      : is_log_(std::all_of(whiskers.begin(), whiskers.end(), [](const Whisker& w) {
          return w.is_ratio && w.value > 0 && !(w.low <= 0) && w.least.value_or(1) > 0 && w.most.value_or(1) > 0;
        })) {
    for (const Whisker& w : whiskers)
      for (const double value : {w.value, w.low, w.high, w.least.value_or(w.value), w.most.value_or(w.value)}) {
        if (!std::isfinite(value)) continue;
        low_ = std::min(low_, inner(value));
        high_ = std::max(high_, inner(value));
      }
    if (!(high_ > low_)) low_ -= 1, high_ += 1;
  }
  /// Values to label, of a few digits: ticks of an axis of the same range, or its ends where there are fewer than two.
  std::vector<double> ticks() const {
    constexpr double few_times = 3;
    const double low = outer(low_), high = outer(high_);
    const bool is_log = is_log_ && high > few_times * low;
    std::vector<double> inside = fit_axis(is_log ? Scale::log10 : Scale::linear, {low, high}).ticks;
    std::erase_if(inside, [&](double tick) { return tick < low || tick > high; });
    return inside.size() < 2 ? std::vector<double>{low, high} : inside;
  }
  double operator()(double value) const {
    const double share = (inner(value) - low_) / (high_ - low_);
    return std::isnan(share) ? 0 : std::clamp(margin + (width - 2 * margin) * share, 0.0, width);
  }

 private:
  double inner(double value) const { return is_log_ ? std::log(value) : value; }
  double outer(double value) const { return is_log_ ? std::exp(value) : value; }

  bool is_log_;
  double low_ = INFINITY, high_ = -INFINITY;
};

std::string told(const Whisker& w) { return w.words.empty() ? interval_words(w) : w.words; }

/// A row, whose title tells which number it is while the pointer rests on it.
std::string whisker_svg(const Whisker& w, const WhiskerScale& x, double top) {
  const double middle = top + row_height / 2;
  const double from = w.least ? x(*w.least) : 0, to = w.most ? x(*w.most) : width;
  std::string out = fmt::format(
      "<g><title>{}</title><rect class=\"holds\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"/>",
      escape(told(w)), from, top, std::max(0.0, to - from), row_height);
  for (const auto& limit : {w.least, w.most})
    if (limit)
      out += fmt::format("<path class=\"limit\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>", x(*limit), top, top + row_height);
  if (!std::isnan(w.low)) out += fmt::format("<path d=\"M{:.1f} {}H{:.1f}\"/>", x(w.low), middle, x(w.high));
  return out + fmt::format("<circle cx=\"{:.1f}\" cy=\"{}\" r=\"3\"/></g>", x(w.value), middle);
}

/// The axis below the whiskers: a line, and ticks with their values as far as they do not touch.
std::string axis_svg(const Whisker& first, const WhiskerScale& x, double top) {
  constexpr double em = 10;
  std::string line = fmt::format("M0 {0}H{1}", top, width), labels;
  double free = 0;
  for (const double tick : x.ticks()) {
    std::string text = rounded(tick, 2);
    if (is_in_percent(first)) text = tick == 1 ? "0 %" : fmt::format("{:+.2g} %", 100 * (tick - 1));
    else if (first.is_ratio) text += "×";
    const double half = em * width_of(text) / 2, at = std::clamp(x(tick), half, width - half);
    if (at - half < free) continue;
    free = at + half + em / 2;
    line += fmt::format("M{:.1f} {}v3", x(tick), top);
    labels += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", at, top + 13, text);
  }
  return fmt::format("<path class=\"limit\" d=\"{}\"/>{}", line, labels);
}

}  // namespace

bool is_in_percent(const Whisker& w) {
  constexpr double near = 0.0501, shown = 0.5;  // a bound of 5 %; larger numbers beside one are factors
  const auto is_near = [&](const std::optional<double>& limit) { return !limit || std::abs(*limit - 1) < near; };
  return w.is_ratio && is_near(w.least) && is_near(w.most) &&
         std::abs(w.value - 1) < (w.least || w.most ? shown : near);
}

std::string interval_words(const Whisker& w) {
  const auto shown = [&](double x) {
    return number_text(w, x, is_in_percent(w) ? most_digits_of(w) : digits_for(w, x));
  };
  const std::string value = shown(w.value) + (w.is_ratio && !is_in_percent(w) ? "×" : "");
  return std::isnan(w.low) ? value : fmt::format("{} [{}, {}]", value, shown(w.low), shown(w.high));
}

std::string bound_words(const Whisker& w) {
  if (w.least && w.most) return fmt::format("{} to {}", limit_text(w, *w.least), limit_text(w, *w.most));
  return w.least ? (w.is_strict ? "> " : "≥ ") + limit_text(w, *w.least)
                 : (w.is_strict ? "< " : "≤ ") + limit_text(w, *w.most);
}

std::string whiskers_html(const std::vector<Whisker>& all) {
  std::vector<Whisker> whiskers = all;
  std::erase_if(whiskers, [](const Whisker& w) { return !std::isfinite(w.value) || !(w.least || w.most); });
  if (whiskers.empty()) return "";
  const WhiskerScale x(whiskers);
  const double floor = label_height + row_height * static_cast<double>(whiskers.size());
  std::string shapes, said;
  for (size_t i = 0; i < whiskers.size(); ++i) {
    const Whisker& w = whiskers[i];
    shapes += whisker_svg(w, x, label_height + row_height * static_cast<double>(i));
    said += fmt::format("{}{}, needs {}", i ? "; " : "", told(w), bound_words(w));
  }
  const Whisker& first = whiskers.front();
  shapes += axis_svg(first, x, floor);
  const double at = x(first.least ? *first.least : *first.most);
  const char* const anchor = at < width / 3 ? "start" : at > 2 * width / 3 ? "end" : "middle";
  return fmt::format(
      "<svg class=\"whisker\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "aria-label=\"{2}\">{3}<text x=\"{4:.1f}\" y=\"9\" text-anchor=\"{5}\">{6}</text></svg>",
      width, floor + axis_height, escape(said), shapes, at, anchor, escape("needs " + bound_words(first)));
}

}  // namespace headroom::experiments
