#include "experiments/studies/claims/looks.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headroom::experiments {

std::vector<int64_t> looks(int64_t first, int64_t at_most) {
  std::vector<int64_t> seeds;
  for (int64_t n = first; n < at_most; n *= 2) seeds.push_back(n);
  seeds.push_back(at_most);
  return seeds;
}

std::vector<int64_t> anytime_looks(int64_t first, int64_t at_most) {
  std::vector<int64_t> seeds;
  for (int64_t n = first; n < at_most; n += std::max<int64_t>(1, n / 4)) seeds.push_back(n);
  seeds.push_back(at_most);
  return seeds;
}

std::vector<double> shares_of_looks(const std::vector<int64_t>& looks) {
  const auto spent = [&](int64_t seeds) {
    return std::log1p((std::numbers::e - 1) * static_cast<double>(seeds) / static_cast<double>(looks.back()));
  };
  std::vector<double> shares;
  double before = 0;
  for (const int64_t seeds : looks) {
    shares.push_back(spent(seeds) - before);
    before = spent(seeds);
  }
  return shares;
}

size_t LooksTaken::look_of(const SeriesAndX& place) const {
  const auto found = last_of.find(place);
  return found == last_of.end() ? 0 : found->second;
}

double LooksTaken::share(const std::vector<std::string>& series) const {
  size_t last = 0;
  for (const auto& [place, look] : last_of)
    if (std::count(series.begin(), series.end(), place.first) > 0) last = std::max(last, look);
  return shares.at(last);
}

}  // namespace headroom::experiments
