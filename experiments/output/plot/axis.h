#pragma once
#include <string>
#include <vector>

namespace headroom::experiments {

enum class Scale { linear, log2, log10 };

/// One axis of a figure: the range it shows and where it is labelled.
struct Axis {
  Scale scale = Scale::linear;
  double low = 0, high = 1;
  std::vector<double> ticks;        ///< in order
  std::vector<std::string> labels;  ///< of the ticks; empty: their numbers
};

/// An axis that shows all `values` that are finite with some air. On a logarithmic scale zeros stand at its foot; it
/// falls back to a linear one where a value is negative, or all are 0. Without a finite value it shows 0 to 1. Throws
/// Error without a value.
Axis fit_axis(Scale scale, const std::vector<double>& values);

/// The least value above 0; infinity where none is.
double least_positive(const std::vector<double>& values);

/// Where on the axis a value is: 0 at its low end, 1 at its high one.
double share_of(const Axis& axis, double value);

/// An axis of things without a size: `labels` at 0, 1, 2, …
Axis category_axis(const std::vector<std::string>& labels);

/// What stands at the i-th of the axis' ticks.
std::string tick_text(const Axis& axis, size_t i);

}  // namespace headroom::experiments
