#pragma once
#include <optional>

namespace headroom::experiments {

/// How long a work still takes, from the share of it that is done at some times. A share that falls begins another
/// work.
class TimeLeft {
 public:
  /// At `seconds` of any clock, `share` (0 to 1) is done. Returns the seconds left, from the pace since the work's
  /// first call; nothing before its second one, and while less than a second has passed.
  std::optional<double> at(double share, double seconds);
  /// The same, once for each work, and where at least `least` seconds are left: for what is said and not drawn.
  std::optional<double> to_say(double share, double seconds, double least);

 private:
  std::optional<double> first_share_{};
  double last_share_ = 0, first_seconds_ = 0;
  bool is_said_ = false;
};

}  // namespace headroom::experiments
