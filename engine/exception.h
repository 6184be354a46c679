#pragma once
#include <stdexcept>
#include <string>

namespace headroom {

/// The one exception of the whole project. The first line says what is wrong and what was wanted; each further line
/// ("  in decoder.block[2].attention_norm") says where, outermost last.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  /// The same error with one more line of context.
  Error in(const std::string& where) const { return Error(std::string(what()) + "\n  in " + where); }
};

}  // namespace headroom
