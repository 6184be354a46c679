#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/studies/analysis/head_choice.h"

namespace headroom::experiments {

/// What trained models of one series of a study say about the number of heads, and of what task it is.
struct MeasuredChoice {
  std::string task;    ///< task.kind: "masked"
  std::string metric;  ///< that they were judged by
  HeadChoice choice;
};

/// One for every series of a study that leaves a choice (pages/head_choice.h).
std::vector<MeasuredChoice> measured_choices(const Analysis& results);

/// Those that the guide rests on (distinct_learned()), of all studies: each setting once.
std::vector<MeasuredChoice> distinct_choices(const std::vector<Analysis>& studies);

/// A JSON list of them, whose members are those of the structs, and back. Throws Error naming what is missing.
std::string choices_json(const std::vector<MeasuredChoice>& choices);
std::vector<MeasuredChoice> parse_choices(const std::string& json);

/// Those that the program ships (experiments/data/head_choices.json, written by `headroom report STUDY... --choices`).
const std::vector<MeasuredChoice>& shipped_choices();

/// What --for may name: short words, and the kinds of task without one; a kind is taken for its word, too.
std::vector<std::string> task_words();

/// Those that were measured for a task, by its kind or a short word for it (mlm, ntp). Throws Error, with the words
/// that there are, for another word, and where nothing was measured for it.
std::vector<MeasuredChoice> choices_for(const std::string& task, const std::vector<MeasuredChoice>& all);

/// Their curves; they point into `measured`.
std::vector<const HeadChoice*> curves_of(const std::vector<MeasuredChoice>& measured);

/// The shipped curves of the sum of earlier tokens with those norms, for that width of model and of token.
std::vector<const HeadChoice*> curves_of_sum(int64_t width, int64_t token_dim, const std::vector<double>& norms);

}  // namespace headroom::experiments
