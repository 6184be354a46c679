#include "experiments/studies/run/time_left.h"

namespace headroom::experiments {

std::optional<double> TimeLeft::at(double share, double seconds) {
  constexpr double shortest = 1;  // a pace over less is mostly chance
  if (!first_share_ || share < last_share_) {
    first_share_ = share;
    first_seconds_ = seconds;
    is_said_ = false;
  }
  last_share_ = share;
  const double done = share - *first_share_, passed = seconds - first_seconds_;
  if (done <= 0 || passed < shortest) return std::nullopt;
  return (1 - share) * passed / done;
}

std::optional<double> TimeLeft::to_say(double share, double seconds, double least) {
  const std::optional<double> left = at(share, seconds);
  if (!left || is_said_) return std::nullopt;
  is_said_ = true;  // a work that turns out slower later is not announced any more
  return *left >= least ? left : std::nullopt;
}

}  // namespace headroom::experiments
