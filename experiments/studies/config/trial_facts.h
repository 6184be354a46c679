#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/config/tasks/words.h"
#include "experiments/studies/results.h"

namespace headroom::experiments {

/// What pages, claims and tools ask of a trial's config, read from its record once. Whatever a store of another version
/// lacks keeps its default.
struct TrialFacts {
  std::string task;                     ///< its kind; "" where the record does not say
  TaskWords words;                      ///< of the task; none without a kind
  std::string kernel;                   ///< the kind of a sum's kernel
  std::vector<double> decay;            ///< |ρ| of lags 1, 2, … of a known kernel up to the sequence's length
  std::string source, tokenizer, loss;  ///< of a text, or of instructions
  std::string studied_model;            ///< file or folder of the trained model that is studied
  bool has_length = false;              ///< the task's sequences are made in a length
  double token_dim = 0;                 ///< 0 where the task has none
  std::optional<double> first_position;

  bool is_trained = false;  ///< it has a model and a training
  std::optional<double> width, layers, feed_forward;
  double heads = 0, qk_dim = 0, v_dim = 0;
  std::string positions, norm;
  bool has_scores = true;  ///< false where logits are switched off and positions alone are left
  std::optional<double> steps, batch, rate;
  std::string optimizer;
  bool is_timed = false;  ///< it measures how fast its host is
  std::string setting;    ///< all but heads, rate, steps and seed, to be compared with others'

  std::map<std::string, std::string> settings;  ///< every value as text by its dotted path: "model.width" → "64"
  std::map<std::string, double> numbers;        ///< those that are numbers
};

/// Of a canonical JSON; defaults alone for any other text.
TrialFacts trial_facts(const std::string& config);

}  // namespace headroom::experiments
