#pragma once
#include <optional>

namespace headroom::experiments {

/// How long a work still takes, from the share of it that is done at some times. A share that falls begins another
/// work.
class TimeLeft {
 public:
  /// At `seconds` of any clock, `share` (0 to 1) is done. Returns the seconds left, from the pace since the work's
  /// first call; nothing before its second one, and while less than a second has passed.
  std::optional<double> at(double share, double seconds) {
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
  /// The same, once for each work, and where at least `least` seconds are left: for what is said and not drawn.
  std::optional<double> to_say(double share, double seconds, double least) {
    const std::optional<double> left = at(share, seconds);
    if (!left || is_said_) return std::nullopt;
    is_said_ = true;  // a work that turns out slower later is not announced any more
    return *left >= least ? left : std::nullopt;
  }

 private:
  std::optional<double> first_share_{};
  double last_share_ = 0, first_seconds_ = 0;
  bool is_said_ = false;
};

}  // namespace headroom::experiments
