#pragma once
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/catch.h"

namespace headroom::testing {

/// Sections c to g of the reference values for the theory: right to at least 12 digits.
inline const nlohmann::json& lemmas() {
  static const auto json =
      nlohmann::json::parse(std::ifstream(headroom::testing::source_root() + "/tests/tasks/theory/lemmas.json"));
  return json;
}

inline auto relative(double value, double epsilon = 1e-9) { return Approx(value).epsilon(epsilon).margin(0); }
inline auto absolute(double value, double margin) { return Approx(value).epsilon(0).margin(margin); }

}  // namespace headroom::testing
