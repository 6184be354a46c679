#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/profile.h"
#include "engine/work.h"

namespace headroom::experiments {

/// The best rates of a machine, in seconds.
struct Rates {
  std::function<double(const engine::Product&)> product;  ///< of all its `share`
  double exponential = 0;                                 ///< of one, where a block of them is in the cache
  double byte = 0;                                        ///< read or written
};

/// This CPU's, with num_threads() threads. Products are measured when they are first asked for. A product of
/// f32 is that of our kernels or of oneDNN, its tiles in our loop or all in one call; of bf16, one of those, too, or of
/// our kernels or oneDNN's for bf16, whichever took the least time. Products in a batch are timed a few at a time, as
/// many as caches hold. Bytes are those of a copy between two blocks that are `footprint` bytes together.
Rates measured_rates(int64_t footprint);

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
