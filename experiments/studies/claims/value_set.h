#pragma once
#include <set>
#include <string>

namespace headroom::experiments {

/// The different values of one setting over some trials.
struct ValueSet {
  std::set<double> numbers;
  std::set<std::string> words;

  bool empty() const { return numbers.empty() && words.empty(); }
  bool operator==(const ValueSet&) const = default;
  /// "1, 2, 4", "1 to 64" of more than five numbers; words behind numbers; "none" without any.
  std::string text() const;
};

}  // namespace headroom::experiments
