#include "experiments/studies/run/provenance.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include "engine/cpu/onednn.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "experiments/version.h"

namespace headroom::experiments {

std::map<std::string, std::string> provenance() {
#ifdef __clang__
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
  const std::string onednn = engine::onednn_version();
  return {{"headroom", version_text()},
          {"compiler", compiler},
          {"CPU", engine::cpu_name()},
          {"instruction set", engine::name_of(engine::active_isa())},
          {"threads", fmt::format("{} ({})", engine::num_threads(), engine::parallel_backend())},
          {"oneDNN", onednn.empty() ? "absent" : onednn},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
          {"SQLite", sqlite3_libversion()}};
}

}  // namespace headroom::experiments
