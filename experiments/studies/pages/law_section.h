#pragma once
#include <optional>
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/analysis/power_law.h"

namespace headroom::experiments {

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

/// The law of a study; none where its report asks for none. Series without two seeds, whose best x is an end of their
/// sweep, or whose trials differ in a key are left out, and named in the notes.
std::optional<FittedLaw> fitted_law(const Analysis& results);

/// "best heads = 0.93 · width^0.52 [0.31, 0.73] · …, off by a factor of 1.21 where a series is left out (8 series);
/// width / token_dim is off by 1.9".
std::string law_sentence(const FittedLaw& law);

/// The same with a row per series; none where the report asks for no law.
Blocks law_section(const Analysis& results);

}  // namespace headroom::experiments
