#pragma once
#include <cstdint>
#include <vector>

namespace headroom::tasks {

/// Compares two classifiers by the items that only one of them gets right.
struct McNemar {
  int64_t only_first = 0, only_second = 0;
  double p = 1;  ///< two-sided exact test that both are right equally often; 1 if they never differ
};
/// McNemar's exact test (1947; exact form: binomial): of the n items on which the two differ, min(b, c) or fewer fall
/// on one side as often as with n fair coins; p is twice that, at most 1. One entry per item, 1 if right. Throws Error
/// if the numbers of items differ.
McNemar mcnemar(const std::vector<uint8_t>& first, const std::vector<uint8_t>& second);

}  // namespace headroom::tasks
