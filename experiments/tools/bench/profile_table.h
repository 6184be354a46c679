#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/profile.h"
#include "experiments/tools/bench/rates.h"

namespace headroom::experiments {

/// All runs of one op in a step. Its work counts where the time does: a product that an op left to another one is the
/// other's.
struct ProfileRow {
  std::string op;
  double calls = 0, ms = 0;          ///< of its own, without the ops that it ran
  double whole_ms = 0, host_ms = 0;  ///< with them
  double flops = 0, bytes = 0, exponentials = 0;
  double of_peak = 0;      ///< of the best rate of what limits it, in the whole time
  const char* limit = "";  ///< "products", "exponentials" or "bytes": which takes the longest at the best rates
  double floor_ms = 0;
};

/// A step by its ops, and the floor: what it would take if every product ran as fast as any library multiplies its
/// shapes, exponentials and bytes at their best rates, one after the other. Bytes count for ops without products, and
/// nothing for ops that another one ran. An op that has been faster than that has its least time as its floor.
struct ProfileTable {
  std::vector<ProfileRow> rows{};  ///< the longest first
  bool has_floor = false;          ///< else rates were not measured
  double products_ms = 0, exponentials_ms = 0, bytes_ms = 0;
  double floor_ms() const { return products_ms + exponentials_ms + bytes_ms; }
};

/// Profiles `steps` steps. With `rates == nullptr`, peaks and floor are left out.
ProfileTable profile_table(const std::vector<engine::ProfiledOp>& ops, int steps, const Rates* rates);

std::string profile_text(const ProfileTable& table);
nlohmann::ordered_json profile_json(const ProfileTable& table);

}  // namespace headroom::experiments
