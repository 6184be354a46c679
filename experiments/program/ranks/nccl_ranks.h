#pragma once
#include <memory>
#include <string>

#include "experiments/program/ranks/nccl_calls.h"
#include "tasks/ranks/ranks.h"

namespace headroom::experiments {

/// The ranks for trainings on `device`, of one kind on all of them, else an Error names one that differs. On the CPU
/// they are as before. On a GPU tensors go from card to card over NCCL where every rank can, else through host memory;
/// `way` says which: "over NCCL 2.30.7", "through host memory: " and why. All ranks must call it.
std::unique_ptr<tasks::Ranks> ranks_on(engine::Device device, std::unique_ptr<tasks::Ranks> ranks, std::string& way);

/// The same with NCCL's functions, or null and why there are none. An exchange is over when it returns: it ends with an
/// Error, in NCCL's words or after the patience, and nothing then waits in the stream for another rank.
std::unique_ptr<tasks::Ranks> over_nccl(std::unique_ptr<tasks::Ranks> ranks, const HeadroomNccl* nccl,
                                        const std::string& problem, std::string& way);

}  // namespace headroom::experiments
