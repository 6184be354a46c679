#pragma once
#include <stddef.h>

/// The NCCL that the program needs, as plain functions. Only nccl_module.cpp, a library of its own, uses NCCL's header;
/// it is loaded only if ranks train on GPUs. Functions that return text: null, or NCCL's error message, valid until the
/// next call. None of them waits for another rank.
struct HeadroomNccl {
  int version;  ///< 23007: 2.30.7
  size_t id_bytes;
  /// Makes the id of a new group, for all its ranks.
  const char* (*make_id)(void* id);
  /// Begins to join the group on the thread's GPU, and gives its handle. Call end() also after an error.
  const char* (*join)(int size, int rank, const void* id, void** group);
  /// Queues a send and a receive at once on the stream; skips a direction with 0 bytes.
  const char* (*exchange)(void* group, int peer, const void* out, size_t out_bytes, void* in, size_t in_bytes,
                          void* stream);
  /// Begins to leave the group, after everything this rank has sent.
  const char* (*leave)(void* group);
  /// Asks if the last operation is done; for an exchange, if it is queued.
  const char* (*ask)(void* group, bool* is_done);
  /// Call once, after leaving the group; otherwise it aborts pending operations.
  void (*end)(void* group, bool is_left);
};

/// The module's export. Needs the functions of libnccl.so.2, which is loaded before.
using HeadroomStartNccl = const HeadroomNccl* (*)();
inline constexpr const char* headroom_start_nccl_name = "headroom_start_nccl";
