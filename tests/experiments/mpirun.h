#pragma once
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/catch.h"

// The program under mpirun.
namespace headroom::testing {

/// Whether this machine has mpirun, and the build its module; notes a skipped test where one is missing.
inline bool lacks_mpi() {
  const char* const program = std::getenv("HEADROOM_PROGRAM");
  REQUIRE(program != nullptr);
  const bool has_module = std::filesystem::exists(std::filesystem::path(program).parent_path() / "headroom-mpi.so");
  if (has_module && std::system("mpirun --version >/dev/null 2>&1") == 0) return false;
  skip(has_module ? "no mpirun" : "a build without MPI");
  return true;
}

inline std::string under_mpi(int ranks) {
  // Open MPI leaves memory behind, which the address sanitizer would report.
  return fmt::format(
      "export HEADROOM_THREADS=1 ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0; exec mpirun "
      "--allow-run-as-root --oversubscribe -n {} sh -c 'exec \"$@\"'",
      ranks);
}

}  // namespace headroom::testing
