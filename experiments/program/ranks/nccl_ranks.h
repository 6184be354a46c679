#pragma once
#include <memory>
#include <string>

#include "experiments/program/ranks/nccl_calls.h"
#include "tasks/ranks/ranks.h"

namespace headroom::experiments {

/// The ranks for training on `device`. All must have the same kind of device, else an Error names one that differs. On
/// the CPU they stay as they are. On GPUs, tensors go from card to card over NCCL if every rank can, else through host
/// memory; `way` says which: "over NCCL 2.30.7", "through host memory: " and why. All ranks must call it.
std::unique_ptr<tasks::Ranks> ranks_on(engine::Device device, std::unique_ptr<tasks::Ranks> ranks, std::string& way);

/// The same with given NCCL functions, or null and the reason. An exchange is complete when it returns: it fails with
/// an Error, NCCL's or after a timeout, and leaves nothing in the stream that waits for another rank.
std::unique_ptr<tasks::Ranks> over_nccl(std::unique_ptr<tasks::Ranks> ranks, const HeadroomNccl* nccl,
                                        const std::string& problem, std::string& way);

}  // namespace headroom::experiments
