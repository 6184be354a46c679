#include <mpi.h>
#include <time.h>

#include <algorithm>

#include "experiments/program/ranks/mpi_calls.h"

namespace {

/// MPI counts in int, and large messages need as much memory again.
constexpr size_t most_at_once = size_t{1} << 28;

/// Tests both requests until they are done: first in a busy loop, as most answers come within microseconds, then
/// yielding the core to others, which may be the peers.
int wait(MPI_Request* requests, double seconds) {
  constexpr int eager_tests = 500;
  const double end = MPI_Wtime() + seconds;
  for (int tests = 0;; ++tests) {
    int is_done = 0;
    if (MPI_Testall(2, requests, &is_done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return 2;
    if (is_done) return 0;
    if (tests < eager_tests) continue;
    if (MPI_Wtime() > end) return 1;
    const timespec pause{0, 20000};
    nanosleep(&pause, nullptr);
  }
}

int exchange(int peer, const void* out, size_t out_bytes, void* in, size_t in_bytes, double seconds) {
  for (size_t at = 0; at < out_bytes || at < in_bytes; at += most_at_once) {
    const auto piece = [&](size_t bytes) { return static_cast<int>(std::min(bytes - at, most_at_once)); };
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int problem = MPI_SUCCESS;
    if (at < in_bytes)
      problem =
          MPI_Irecv(static_cast<char*>(in) + at, piece(in_bytes), MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[0]);
    if (problem == MPI_SUCCESS && at < out_bytes)
      problem = MPI_Isend(static_cast<const char*>(out) + at, piece(out_bytes), MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                          &requests[1]);
    if (problem != MPI_SUCCESS) return 2;
    if (const int status = wait(requests, seconds)) return status;
  }
  return 0;
}

void finish() { MPI_Finalize(); }

HeadroomMpi calls{0, 1, exchange, finish};

}  // namespace

extern "C" __attribute__((visibility("default"))) const HeadroomMpi* headroom_start_mpi() {
  int level = 0;  // a worker's thread trains while another sums, one at a time
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS) return nullptr;
  if (level < MPI_THREAD_SERIALIZED) return nullptr;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &calls.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &calls.size);
  return &calls;
}
