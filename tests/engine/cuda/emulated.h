#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "engine/cuda/launch.cuh"
#include "engine/error.h"
#include "tests/cuda/emulator/control.h"

// For tests of the emulator, and for tests of kernels against it.
namespace headroom::testing {

/// Device memory of exactly as many elements.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) { HEADROOM_CUDA(cudaMalloc(&data_, count * sizeof(T))); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    HEADROOM_CUDA(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> copy(count_);
    HEADROOM_CUDA(cudaMemcpy(copy.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return copy;
  }

 private:
  size_t count_;
  T* data_ = nullptr;
};

/// What goes wrong on the card when `f` queues its work, "" when nothing does. The card works again afterwards.
template <class F>
std::string device_error(const F& f) {
  std::string what;
  try {
    f();
    HEADROOM_CUDA(cudaDeviceSynchronize());
  } catch (const Error& error) {
    what = error.what();
  }
  engine::cuda::emulator::find_card_again();
  return what;
}

/// What `f` prints to standard error in a process of its own, "" when it ends as it should.
template <class F>
std::string death_of(const F& f) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(STDOUT_FILENO);
    signal(SIGSEGV, SIG_DFL);  // not the test framework's handler
    f();
    _exit(0);
  }
  close(ends[1]);
  std::string printed;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    printed.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status == 0) return "";
  return "died: " + printed;
}

/// Several orders of threads, blocks and streams.
inline const std::vector<uint64_t> seeds{0, 1, 2, 3, 4};

}  // namespace headroom::testing
