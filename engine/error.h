#pragma once
#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "engine/exception.h"

namespace headroom {

/// Throws Error with a fmt-formatted message.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

/// Throws Error unless `ok`. The arguments are formatted only on failure: pass a Shape or a Tensor, not its str().
template <class... Args>
void require(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) throw Error(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace headroom

/// @cond Lets {} format any type that has str(). Doxygen 1.9 finds no scope for it.
template <class T>
requires requires(const T& value) { std::string_view(value.str()); }
struct fmt::formatter<T> {
  constexpr auto parse(auto& context) { return context.begin(); }
  auto format(const T& value, auto& context) const {
    auto out = context.out();
    for (const char c : value.str()) *out++ = c;
    return out;
  }
};
/// @endcond
