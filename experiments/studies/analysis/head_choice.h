#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/analysis/curve.h"

namespace headroom::experiments {

class Analysis;

/// What one curve of trained models over the number of heads, or over the width of equal heads that fill the model's,
/// says to somebody who has to choose one.
struct HeadChoice {
  /// One number of heads.
  struct Option {
    double heads = 0, qk_dim = 0, v_dim = 0;
    double ratio = 0;          ///< times worse than the best, of the means
    double low = 0, high = 0;  ///< its interval; NaN where there is none
    enum class Standing { best, as_good, worse, open } standing = Standing::open;
    int unlearned = 0;  ///< seeds that did not learn the target here: then it decides nothing (mark_learned())
  };
  std::string study, profile, series;
  std::string positions;
  int64_t width = 0, steps = 0;
  double margin = 0;  ///< what counts as worse: 1.1 is 10 %
  size_t seeds = 0;   ///< the fewest of any option
  std::vector<Option> options;
  /// Where an upward search ends that stops as soon as validation gets no better, with its standing by the tests even
  /// where it is the best, and its ratio to the best of the others; none where the search cannot start.
  std::optional<Option> found;
  std::string kind{}, metric{};  ///< of the task ("masked"), and that they were judged by
  std::string task{};  ///< the kind in words: "equal sums of the last tokens"; "" where the config does not say
  int64_t layers = 0;
  double token_dim = 0;  ///< 0 where the task has none
  /// |ρ| of lags 1, 2, … up to the sequence's length, of a sum of earlier tokens; empty for other tasks.
  std::vector<double> decay{};
  std::string setting{};  ///< what the curve's trials have in common beside their steps; "": not known
  /// False where no number of heads learned the target, as unlearned_best() has it: which of them fails least says
  /// little about one that works.
  bool is_learned = true;
  /// False where one learning rate alone was tried at some x, or rates were chosen on what is reported.
  bool is_tuned = true;
  /// The most that a learning rate of at most four times, and at least a quarter of, the chosen one costs at the best
  /// number: the metric on validation over that of the chosen one. NaN where no other was tried there.
  double rate_off = std::numeric_limits<double>::quiet_NaN();

  /// The mean of its metric at the best number, as Curve::mean.
  double best_mean = std::numeric_limits<double>::quiet_NaN();

  /// What the tests say of the best: open where it is not shown to be as good as every other.
  Option::Standing best_standing = Option::Standing::open;

  const Option& best() const;
  /// What the tests say of an option, the best one included.
  Option::Standing tested(const Option& option) const;
  /// Whether its errors are a text's cross-entropies or accuracies, and no share of a target's variance.
  bool is_of_text() const { return margin < 1.1; }
};

/// "alibi without scores" → "ALiBi without scores", "none" → "no".
std::string positions_in_words(std::string positions);

/// The curves that a choice can rest on, each with heads of D/H dimensions: of those that were learned, each number of
/// heads at a rate chosen among several, one for each setting, from the study with the most seeds.
std::vector<const HeadChoice*> distinct_learned(const std::vector<HeadChoice>& all);

/// The choice that one series leaves: none where its x is not the number of heads, trials of the study are missing, no
/// model was trained, its models differ in width or positions, or fewer than three numbers of heads have two seeds. The
/// best one has the best mean on validation. Another one is as good where it is shown to be at most `margin` times
/// worse than every other (intersection-union test), worse where it is shown to be at least so much worse than some
/// other (Bonferroni over those), else open; each at 5 %, or what a look at growing data may spend of it, paired over
/// seeds, on logarithms. As for a claim, a number at which a seed did not learn the target decides nothing.
std::optional<HeadChoice> head_choice(const Analysis& results, const std::string& series);

/// How a way to choose a number of heads does on curves of trained models.
struct ChoiceTally {
  int curves = 0, best = 0, good = 0, worse = 0;  ///< best: on validation; good, worse: against every other number
  double worst = 0;                               ///< the largest error among the worse, over the best
  double times = 1;                               ///< the error over the best of each curve, at least 1: geometric mean
  int open() const { return curves - good - worse; }
};
/// Where the guideline's search ends, on those curves where it starts.
ChoiceTally guideline_tally(const std::vector<const HeadChoice*>& curves);
/// Where one always takes heads `dim` wide, on those curves that tried them.
ChoiceTally always_wide(const std::vector<const HeadChoice*>& curves, double dim);

/// Where the paper's practical guideline ends on a curve, to start with few heads and to search locally: begin at the
/// smallest x and go to the next as long as the mean on validation gets better; by that of the test data where not
/// every point has one. An x without a finished trial ends the search, as its model diverged for whoever tries it.
/// Nothing for fewer than three points, a first x that failed, or values not above 0.
std::optional<double> search_upward(const Curve& curve);

}  // namespace headroom::experiments
