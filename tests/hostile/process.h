#pragma once
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/hostile/case.h"

namespace headroom::hostile {

/// What a run of the program came to.
struct Outcome {
  int status = 0;                            ///< its exit status, or minus the signal that ended it
  bool is_late = false, is_refused = false;  ///< out of time; cannot run here: other user, sanitizers or no data
  int64_t megabytes = 0;                     ///< of resident memory, at most
  std::string out, err;                      ///< the first MB of each stream
  int64_t err_size = 0;
};

/// Runs `program` in `folder` with nothing of this process's environment but what is given, with limits on time and
/// memory; its output goes to files `out` and `err` in `logs`.
Outcome run_program(const std::string& program, const Case& one, const std::filesystem::path& folder,
                    const std::filesystem::path& logs);

}  // namespace headroom::hostile
