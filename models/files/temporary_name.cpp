#include "models/files/temporary_name.h"

#include <unistd.h>

#include "engine/error.h"

namespace headroom::models {

std::string temporary_prefix(const std::filesystem::path& target) {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return fmt::format(".{}.{}+", target.filename().string(), host);
}

std::filesystem::path temporary_name(const std::filesystem::path& target, int n) {
  return target.parent_path() / fmt::format("{}{}-{}.tmp", temporary_prefix(target), getpid(), n);
}

}  // namespace headroom::models
