#pragma once
#include <stddef.h>

/// What the program needs of NCCL, as plain functions: nccl_module.cpp, a library of its own, is all that is made with
/// NCCL's header, and is loaded only where ranks train on GPUs. Functions that return text: null, or what went wrong,
/// in NCCL's words, until the next call. None of them waits for another rank.
struct HeadroomNccl {
  int version;  ///< 23007: 2.30.7
  size_t id_bytes;
  /// Of a new group; for all its ranks.
  const char* (*make_id)(void* id);
  /// The group's handle, with which this rank begins to join it, on the thread's GPU. end() it also after an error.
  const char* (*join)(int size, int rank, const void* id, void** group);
  /// Queues on the stream: sends and receives at once, 0 bytes: not that way.
  const char* (*exchange)(void* group, int peer, const void* out, size_t out_bytes, void* in, size_t in_bytes,
                          void* stream);
  /// Begins to leave the group, after all that this rank has sent.
  const char* (*leave)(void* group);
  /// Whether what was begun last is done; of an exchange, whether it is queued.
  const char* (*ask)(void* group, bool* is_done);
  /// Once, with the group left; or else breaking off whatever is under way.
  void (*end)(void* group, bool is_left);
};

/// What the module exports. It needs the functions of libnccl.so.2, which is loaded before.
using HeadroomStartNccl = const HeadroomNccl* (*)();
inline constexpr const char* headroom_start_nccl_name = "headroom_start_nccl";
