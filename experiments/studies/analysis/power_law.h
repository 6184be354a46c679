#pragma once
#include <optional>
#include <vector>

#include "experiments/studies/analysis/curve.h"

namespace headroom::experiments {

/// The x at which a curve is best, between the x that were measured.
struct Optimum {
  double log_x = 0;     ///< ln of it: the mean over seeds
  double variance = 0;  ///< of that mean
  int seeds = 0;
  double low = 0, high = 0;  ///< 90 % interval of x, by Student's t over the seeds; NaN where they agree
  bool is_at_end = false;    ///< the best mean stands at an end of the sweep: the optimum may lie beyond it
};

/// Each seed's own curve has its best at the vertex of the parabola through log(metric) over log(x) at its best x and
/// the two beside it (of the metric itself where larger is better). None where fewer than two seeds have values at
/// every x, the curve has fewer than three x, or an x or a value has no logarithm.
std::optional<Optimum> optimum(const Curve& curve);

/// A number and the interval that holds it.
struct Exponent {
  double value = 0, low = 0, high = 0;
};

/// log y = a + Σ b_k log(key_k), fitted to measured y.
struct PowerLaw {
  Exponent intercept;               ///< a
  std::vector<Exponent> exponents;  ///< b_k
  double between = 0;               ///< standard deviation of log y around the law beyond the y's own errors
  int degrees = 0;                  ///< of freedom: rows less coefficients
  std::vector<double> predicted;    ///< log y of each row by the law of all
  std::vector<double> left_out;     ///< by the law of all others; NaN where they do not determine it
};

/// Least squares of log_y over the rows of log keys. A coefficient's error is that of its sum over the rows,
/// Σ w_i² (variance_i + τ²): each y has its own variance, and τ² is what the residuals show beyond those, by the method
/// of moments. Intervals are of Student's t on the degrees of freedom, at `level`. None where there are not two rows
/// more than coefficients, or the keys cannot be told apart over these rows. Throws Error when lengths differ.
std::optional<PowerLaw> fit_power_law(const std::vector<std::vector<double>>& log_keys,
                                      const std::vector<double>& log_y, const std::vector<double>& variances,
                                      double level);

/// exp of the root mean square of log(y / prediction): by what factor predictions are off; NaN where one is NaN.
double typical_factor(const std::vector<double>& log_y, const std::vector<double>& log_predicted);

/// What [report] law asks for: the x at which each series is best against keys of its trials.
struct FittedLaw {
  /// One series in the fit.
  struct Row {
    std::string series;
    std::vector<double> keys;  ///< the values of `names`
    Optimum optimum;
    double beside = 0;  ///< the x that the expression names; NaN without one
  };
  std::string x_name;              ///< "heads"
  std::vector<std::string> names;  ///< "width", of the keys that vary
  std::string beside;              ///< "width / token_dim"; "" for none
  std::vector<Row> rows;
  std::optional<PowerLaw> law;  ///< 90 % intervals; none where the series are too few or too alike
  size_t compared = 0;          ///< series that the others determine the law for: those that the factors are of
  double law_factor = 0, beside_factor = 0;  ///< typical factor by which the left-out law, and the expression, are off
  /// The same of the expression times one constant, fitted to the other series each time: it has a parameter, too.
  double scaled_factor = 0;
  std::vector<std::string> notes;  ///< series and keys that are not in it, and why
};

}  // namespace headroom::experiments
