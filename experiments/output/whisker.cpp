#include "experiments/output/whisker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/output/number.h"
#include "experiments/output/text.h"

namespace headroom::experiments {
namespace {

constexpr double width = 168, margin = 10, row_height = 13, label_height = 12;

std::string limit_text(const Whisker& w, double limit) {
  const std::string text = exact(limit);
  return (text.size() > 6 ? rounded(limit) : text) + (w.is_ratio ? "×" : "");
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
  double operator()(double value) const {
    const double share = (inner(value) - low_) / (high_ - low_);
    return std::isnan(share) ? 0 : std::clamp(margin + (width - 2 * margin) * share, 0.0, width);
  }

 private:
  double inner(double value) const { return is_log_ ? std::log(value) : value; }

  bool is_log_;
  double low_ = INFINITY, high_ = -INFINITY;
};

std::string whisker_svg(const Whisker& w, const WhiskerScale& x, double top) {
  const double middle = top + row_height / 2;
  const double from = w.least ? x(*w.least) : 0, to = w.most ? x(*w.most) : width;
  std::string out = fmt::format("<rect class=\"holds\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"/>",
                                from, top, std::max(0.0, to - from), row_height);
  for (const auto& limit : {w.least, w.most})
    if (limit)
      out += fmt::format("<path class=\"limit\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>", x(*limit), top, top + row_height);
  if (!std::isnan(w.low)) out += fmt::format("<path d=\"M{:.1f} {}H{:.1f}\"/>", x(w.low), middle, x(w.high));
  return out + fmt::format("<circle cx=\"{:.1f}\" cy=\"{}\" r=\"3\"/>", x(w.value), middle);
}

}  // namespace

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
  const double height = label_height + row_height * static_cast<double>(whiskers.size());
  std::string shapes, said;
  for (size_t i = 0; i < whiskers.size(); ++i) {
    const Whisker& w = whiskers[i];
    shapes += whisker_svg(w, x, label_height + row_height * static_cast<double>(i));
    said += fmt::format("{}{}, needs {}", i ? "; " : "", rounded(w.value), bound_words(w));
  }
  const Whisker& first = whiskers.front();
  const double at = x(first.least ? *first.least : *first.most);
  const char* const anchor = at < width / 3 ? "start" : at > 2 * width / 3 ? "end" : "middle";
  return fmt::format(
      "<svg class=\"whisker\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "aria-label=\"{2}\">{3}<text x=\"{4:.1f}\" y=\"9\" text-anchor=\"{5}\">{6}</text></svg>",
      width, height, escape(said), shapes, at, anchor, escape("needs " + bound_words(first)));
}

}  // namespace headroom::experiments
