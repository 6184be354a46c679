#pragma once
#include <stddef.h>

/// The MPI that the program needs, as plain functions. Only mpi_module.cpp, a library of its own, is linked with MPI;
/// it is loaded only if the program was started under MPI.
struct HeadroomMpi {
  int rank, size;
  /// Sends and receives at once; skips a direction with 0 bytes. Returns 0; 1 after a timeout of `seconds`; 2 for an
  /// error in MPI.
  int (*exchange)(int peer, const void* out, size_t out_bytes, void* in, size_t in_bytes, double seconds);
  /// Call once, on the thread that started it, when all ranks are done.
  void (*finish)();
};

/// The module's export: starts MPI; null if that fails.
using HeadroomStartMpi = const HeadroomMpi* (*)();
inline constexpr const char* headroom_start_mpi_name = "headroom_start_mpi";
