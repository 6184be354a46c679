#pragma once
#include <memory>
#include <string>

#include "engine/tensor.h"
#include "tasks/ranks/ranks.h"

struct HeadroomNccl;

namespace headroom::experiments {

/// The ranks that mpirun started this process among; null where it started none or only this one. Loads the module that
/// is linked with MPI, and takes this rank's GPU by take_gpu(): `device` is what --device says, and CUDA must not have
/// been asked for. Destroyed outside of an exception it waits for all ranks to be done; a process that ends by an
/// error does not, and mpirun then ends the others. Throws Error where the program was built without MPI, or MPI does
/// not start. Call once.
std::unique_ptr<tasks::Ranks> started_ranks(std::string& device);

/// Leaves this rank one GPU, as cuda:0, by setting CUDA_VISIBLE_DEVICES: the GPU with the number in `device` ("cuda:2",
/// which becomes "cuda"), else that of the rank's number on its host, modulo the number of GPUs. Changes nothing if
/// neither is known or there is no such GPU: CUDA then reports the error. Call it before any use of CUDA.
void take_gpu(std::string& device);

/// The ranks for training on `device`. All must have the same kind of device, else an Error names one that differs. On
/// the CPU they stay as they are. On GPUs, tensors go from card to card over NCCL if every rank can, else through host
/// memory; `way` says which: "over NCCL 2.30.7", "through host memory: " and why. All ranks must call it.
std::unique_ptr<tasks::Ranks> ranks_on(engine::Device device, std::unique_ptr<tasks::Ranks> ranks, std::string& way);

/// The same with given NCCL functions, or null and the reason. An exchange is complete when it returns: it fails with
/// an Error, NCCL's or after a timeout, and leaves nothing in the stream that waits for another rank.
std::unique_ptr<tasks::Ranks> over_nccl(std::unique_ptr<tasks::Ranks> ranks, const HeadroomNccl* nccl,
                                        const std::string& problem, std::string& way);

}  // namespace headroom::experiments
