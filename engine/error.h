#pragma once
#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace headroom {

/// The one exception of the whole project. The first line says what is wrong and what was wanted; each further line
/// ("  in decoder.block[2].attention_norm") says where, outermost last.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  /// The same error with one more line of context.
  Error in(const std::string& where) const { return Error(std::string(what()) + "\n  in " + where); }
};

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
