// How long a work still takes, from the pace of its first parts.
#include "experiments/studies/run/time_left.h"

#include "tests/support/catch.h"

using headroom::experiments::TimeLeft;

TEST_CASE("the time left follows from the pace since the first part", "[time-left]") {
  TimeLeft left;
  CHECK_FALSE(left.at(0.1, 100).has_value());     // the first call: what came before it is not known
  CHECK_FALSE(left.at(0.11, 100.5).has_value());  // half a second is no pace
  REQUIRE(left.at(0.2, 110).has_value());
  CHECK(std::abs(*left.at(0.2, 110) - 80) < 1e-9);
  CHECK(std::abs(*left.at(1, 190)) < 1e-9);
  // A share that falls is another work's, with a pace of its own.
  CHECK_FALSE(left.at(0.5, 200).has_value());
  CHECK(std::abs(*left.at(0.75, 205) - 5) < 1e-9);
}

TEST_CASE("a long work is announced once, a short one never", "[time-left]") {
  TimeLeft work;
  CHECK_FALSE(work.to_say(0.01, 0, 120).has_value());
  REQUIRE(work.to_say(0.02, 10, 120).has_value());
  CHECK_FALSE(work.to_say(0.03, 20, 120).has_value());
  CHECK_FALSE(work.to_say(0.5, 30, 120).has_value());  // the next work begins where the share falls
  CHECK_FALSE(work.to_say(0.1, 31, 120).has_value());
  CHECK(std::abs(work.to_say(0.2, 51, 120).value_or(0) - 160) < 1e-9);
  TimeLeft quick;
  CHECK_FALSE(quick.to_say(0.1, 0, 120).has_value());
  CHECK_FALSE(quick.to_say(0.2, 2, 120).has_value());
  CHECK_FALSE(quick.to_say(0.3, 2000, 120).has_value());
}
