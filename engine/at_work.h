#pragma once

namespace headroom::engine {

/// The op this thread checked or ran last, for messages about memory; null before the first.
inline constinit thread_local const char* op_at_work = nullptr;

}  // namespace headroom::engine
