#pragma once
#include <cstdint>
#include <vector>

namespace headroom::tasks {

/// Two classifiers compared on the same items, by those that only one of them gets right.
struct McNemar {
  int64_t only_first = 0, only_second = 0;
  double p = 1;  ///< two-sided, of the exact test that both are right equally often; 1 where they never differ
};
/// McNemar's exact test (1947; exact form: the binomial): of n items that the two differ on, as many as min(b, c) or
/// fewer on one side are as likely as of n fair coins, twice that at most 1. One entry for each item, 1 where it is
/// right. Throws Error when the numbers of items differ.
McNemar mcnemar(const std::vector<uint8_t>& first, const std::vector<uint8_t>& second);

}  // namespace headroom::tasks
