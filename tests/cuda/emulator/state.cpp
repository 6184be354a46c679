#include "tests/cuda/emulator/state.h"

#include <set>

#include "tests/cuda/emulator/card.h"
#include "tests/cuda/emulator/control.h"

namespace headroom::engine::cuda::emulator {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

struct Description {
  cudaError_t error;
  const char *name, *text;
};
#define HEADROOM_ERROR(NAME, TEXT) \
  { NAME, #NAME, TEXT }
constexpr Description descriptions[] = {
    HEADROOM_ERROR(cudaSuccess, "no error"),
    HEADROOM_ERROR(cudaErrorInvalidValue, "invalid argument"),
    HEADROOM_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    HEADROOM_ERROR(cudaErrorInitializationError, "initialization error"),
    HEADROOM_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    HEADROOM_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    HEADROOM_ERROR(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    HEADROOM_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    HEADROOM_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    HEADROOM_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    HEADROOM_ERROR(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    HEADROOM_ERROR(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    HEADROOM_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    HEADROOM_ERROR(cudaErrorNotReady, "device not ready"),
    HEADROOM_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    HEADROOM_ERROR(cudaErrorAssert, "device-side assert triggered"),
    HEADROOM_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    HEADROOM_ERROR(cudaErrorNotSupported, "operation not supported"),
    HEADROOM_ERROR(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    HEADROOM_ERROR(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    HEADROOM_ERROR(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
    HEADROOM_ERROR(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    HEADROOM_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    HEADROOM_ERROR(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    HEADROOM_ERROR(cudaErrorStreamCaptureImplicit,
                   "operation would make the legacy stream depend on a capturing blocking stream"),
    HEADROOM_ERROR(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    HEADROOM_ERROR(cudaErrorStreamCaptureWrongThread,
                   "attempt to terminate a thread-local capture sequence from another thread"),
    HEADROOM_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef HEADROOM_ERROR

const Description& description_of(cudaError_t error) {
  for (const Description& d : descriptions)
    if (d.error == error) return d;
  static constexpr Description none{cudaErrorUnknown, "unrecognized error code", "unrecognized error code"};
  return none;
}

}  // namespace

State::State() : random(card().seed) {}

State& state() {
  static auto* state = new State;  // never destroyed: static storages free their blocks later
  return *state;
}

Entry::Entry(const char* function) : lock_(state().mutex), error_(state().sticky) {
  if (error_ != cudaSuccess) return;
  error_ = injected_fault(function);
  if (error_ == cudaErrorUnknown) lose_card(error_, "the emulated card fell off the bus (HEADROOM_CUDA_FAULT)");
}

cudaError_t report(cudaError_t error, const std::string& explanation) {
  last_error = error;
  if (!explanation.empty()) {
    state().explained = error;
    state().explanation = explanation;
  }
  return error;
}

cudaError_t lose_card(cudaError_t error, const std::string& explanation) {
  state().sticky = error;
  return report(error, explanation);
}

void set_seed(uint64_t seed) {
  const std::lock_guard lock(state().mutex);
  state().random.seed(seed);
}

void find_card_again() {
  const std::lock_guard lock(state().mutex);
  state().sticky = state().explained = last_error = cudaSuccess;
}

}  // namespace headroom::engine::cuda::emulator

using namespace headroom::engine::cuda::emulator;

const char* cudaGetErrorName(cudaError_t error) { return description_of(error).name; }

const char* cudaGetErrorString(cudaError_t error) {
  const std::lock_guard lock(state().mutex);
  if (error == cudaSuccess || error != state().explained) return description_of(error).text;
  static auto* texts = new std::set<std::string>;  // kept: callers hold the pointers
  return texts->insert(std::string(description_of(error).text) + ": " + state().explanation).first->c_str();
}

cudaError_t cudaPeekAtLastError() {
  const std::lock_guard lock(state().mutex);
  return state().sticky != cudaSuccess ? state().sticky : last_error;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = cudaPeekAtLastError();
  last_error = cudaSuccess;
  return error;
}
