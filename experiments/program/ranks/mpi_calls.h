#pragma once
#include <stddef.h>

/// What the program needs of MPI, as plain functions: mpi_module.cpp, a library of its own, is all that is linked with
/// MPI, and is loaded only where the program was started under it.
struct HeadroomMpi {
  int rank, size;
  /// Sends and receives at once; 0 bytes: not that way. Returns 0; 1 where `seconds` were not enough; 2 for an error of
  /// MPI's.
  int (*exchange)(int peer, const void* out, size_t out_bytes, void* in, size_t in_bytes, double seconds);
  /// Once, by the thread that started it, when all ranks are done.
  void (*finish)();
};

/// What the module exports: starts MPI; null where that fails.
using HeadroomStartMpi = const HeadroomMpi* (*)();
inline constexpr const char* headroom_start_mpi_name = "headroom_start_mpi";
