#pragma once
#include <string>
#include <vector>

namespace headroom::experiments {

enum class Scale { linear, log2, log10 };

/// One axis of a figure: its range and its ticks.
struct Axis {
  Scale scale = Scale::linear;
  double low = 0, high = 1;
  std::vector<double> ticks;        ///< in order
  std::vector<std::string> labels;  ///< of the ticks; empty: use their numbers
};

/// An axis that shows all finite `values` with some margin. A logarithmic scale puts zeros at its foot, and falls back
/// to a linear one if a value is negative or all are 0. Without a finite value it shows 0 to 1. Throws Error if
/// `values` is empty.
Axis fit_axis(Scale scale, const std::vector<double>& values);

/// The smallest value above 0; infinity if there is none.
double least_positive(const std::vector<double>& values);

/// Position of a value on the axis: 0 at its low end, 1 at its high end.
double share_of(const Axis& axis, double value);

/// An axis of categories: `labels` at 0, 1, 2, …
Axis category_axis(const std::vector<std::string>& labels);

/// The text at the axis' i-th tick.
std::string tick_text(const Axis& axis, size_t i);

}  // namespace headroom::experiments
