#include "models/files/file_size.h"

#include <fmt/format.h>

namespace headroom::models {

std::string size_text(uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes < 1000) return fmt::format("{} B", bytes);
  // The limits are those at which the smaller unit would be rounded up to 1000.
  if (size < 999.95e3) return fmt::format("{:.1f} kB", size / 1e3);
  if (size < 999.95e6) return fmt::format("{:.1f} MB", size / 1e6);
  return fmt::format("{:.2f} GB", size / 1e9);
}

}  // namespace headroom::models
