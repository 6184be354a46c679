#pragma once
#include <memory>
#include <string>

#include "tasks/ranks/ranks.h"

namespace headroom::experiments {

/// The ranks that mpirun started this process among; null where it started none or only this one. Loads the module that
/// is linked with MPI, and takes this rank's GPU (gpu_of_rank.h: `device` is what --device says, and CUDA must not have
/// been asked for). Destroyed outside of an exception it waits for all ranks to be done; a process that ends by an
/// error does not, and mpirun then ends the others. Throws Error where the program was built without MPI, or MPI does
/// not start. Call once.
std::unique_ptr<tasks::Ranks> started_ranks(std::string& device);

}  // namespace headroom::experiments
