#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/studies/analysis/head_choice.h"

namespace headroom::experiments {

/// The choices of a study's series (analysis/head_choice.h) that were learned and tuned.
std::vector<HeadChoice> measured_choices(const Analysis& study);

/// Those that the guide rests on (distinct_learned()), of all studies: each setting once.
std::vector<HeadChoice> distinct_choices(const std::vector<Analysis>& studies);

/// A JSON list of them, whose members are those of the structs, and back. Throws Error naming what is missing.
std::string choices_json(const std::vector<HeadChoice>& choices);
std::vector<HeadChoice> parse_choices(const std::string& json);

/// Those that the program ships (experiments/data/head_choices.json, written by `headroom report STUDY... --choices`).
const std::vector<HeadChoice>& shipped_choices();

/// What --for may name: short words, and the kinds of task without one; a kind is taken for its word, too.
std::vector<std::string> task_words();

/// Those that were measured for a task, by its kind or a short word for it (mlm, ntp). Throws Error, with the words
/// that there are, for another word, and where nothing was measured for it.
std::vector<HeadChoice> choices_for(const std::string& task, const std::vector<HeadChoice>& all);

/// Their curves; they point into `measured`.
std::vector<const HeadChoice*> curves_of(const std::vector<HeadChoice>& measured);

/// The shipped curves of the sum of earlier tokens with those norms, for that width of model and of token.
std::vector<const HeadChoice*> curves_of_sum(int64_t width, int64_t token_dim, const std::vector<double>& norms);

}  // namespace headroom::experiments
