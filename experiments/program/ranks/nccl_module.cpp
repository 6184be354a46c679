#include <nccl.h>

#include <cstring>
#include <string>

#include "experiments/program/ranks/nccl_calls.h"

namespace {

ncclComm_t comm_of(void* group) { return static_cast<ncclComm_t>(group); }

/// True for an error. Calls of a non-blocking group return "in progress".
bool is_error(ncclResult_t result) { return result != ncclSuccess && result != ncclInProgress; }

const char* words(ncclResult_t result, ncclComm_t comm) {
  static thread_local std::string text;
  if (!is_error(result)) return nullptr;
  text = ncclGetErrorString(result);
  const char* const more = ncclGetLastError(comm);
  if (more && *more != '\0') text += std::string(": ") + more;
  return text.c_str();
}

const char* make_id(void* id) { return words(ncclGetUniqueId(static_cast<ncclUniqueId*>(id)), nullptr); }

const char* join(int size, int rank, const void* id, void** group) {
  ncclUniqueId own;
  std::memcpy(&own, id, sizeof own);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  const ncclResult_t result = ncclCommInitRankConfig(&comm, size, own, rank, &config);
  *group = comm;
  return words(result, comm);
}

const char* exchange(void* group, int peer, const void* out, size_t out_bytes, void* in, size_t in_bytes,
                     void* stream) {
  const ncclComm_t comm = comm_of(group);
  const auto queue = static_cast<cudaStream_t>(stream);
  ncclResult_t result = ncclGroupStart();
  if (is_error(result)) return words(result, comm);
  if (out_bytes > 0) result = ncclSend(out, out_bytes, ncclInt8, peer, comm, queue);
  if (in_bytes > 0 && !is_error(result)) result = ncclRecv(in, in_bytes, ncclInt8, peer, comm, queue);
  const ncclResult_t all = ncclGroupEnd();
  return words(is_error(result) ? result : all, comm);
}

const char* leave(void* group) { return words(ncclCommFinalize(comm_of(group)), comm_of(group)); }

const char* ask(void* group, bool* is_done) {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t result = ncclCommGetAsyncError(comm_of(group), &state);
  *is_done = state != ncclInProgress;
  return words(is_error(result) ? result : state, comm_of(group));
}

void end(void* group, bool is_left) {
  if (!group) return;
  if (is_left) ncclCommDestroy(comm_of(group));
  else ncclCommAbort(comm_of(group));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const HeadroomNccl* headroom_start_nccl() {
  static HeadroomNccl calls{0, sizeof(ncclUniqueId), make_id, join, exchange, leave, ask, end};
  return ncclGetVersion(&calls.version) == ncclSuccess ? &calls : nullptr;
}
