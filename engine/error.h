#pragma once
#include <fmt/core.h>

#include <utility>

#include "engine/exception.h"

namespace headroom {

/// Throws Error with a fmt-formatted message.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

/// Throws Error unless `ok`. The arguments are formatted only on failure.
template <class... Args>
void require(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) throw Error(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace headroom
