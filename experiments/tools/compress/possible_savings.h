#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/config.h"

namespace headroom::experiments {

constexpr double q8_0_bits = 8.5;  ///< of a number: blocks of 32 have a byte each and a scale of two

/// What could be saved of a trained model's files and cache, and by what: counted from its shapes, before any method
/// runs.
struct PossibleSavings {
  int64_t parameters = 0, queries_keys = 0, values_output = 0;  ///< numbers in all, and in the matrices of heads
  uint64_t bytes = 0;                                           ///< of the files; 0: not known
  double cache_f32 = 0, cache_q8_0 = 0, cache_half_keys = 0;    ///< bytes of keys and values per token

  double bits_per_number() const { return 8 * static_cast<double>(bytes) / static_cast<double>(parameters); }
};

/// Counts one model. `bytes`: of its files. A cache in q8_0 has blocks of 32 numbers along a head's width, a last one
/// may be shorter, each with a scale of two bytes. Throws Error as models::validate() does.
PossibleSavings possible_savings(const models::TransformerConfig& config, uint64_t bytes);

/// The advice that saves most: fewer bits of the files, if they are not quantised, then of the cache, heads after it.
std::string advice_of(const PossibleSavings& savings);

/// Why: the share of the files that heads are, what no narrower head can save, and what is for other tools.
std::string reasons_of(const PossibleSavings& savings);

/// Bytes of the files or of a token's cache, as they are and after one step.
struct SizeAfter {
  std::string name;  ///< "cache: 8 bits"
  double bytes = 0, share = 1;
};

/// Files and cache, each as it is and after each step, in the order of the advice.
std::vector<SizeAfter> sizes_after(const PossibleSavings& savings);

/// advice_of() and reasons_of().
std::string text_of(const PossibleSavings& savings);
nlohmann::ordered_json json_of(const PossibleSavings& savings);

}  // namespace headroom::experiments
