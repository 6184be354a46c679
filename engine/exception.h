#pragma once
#include <stdexcept>
#include <string>

namespace headroom {

/// The project's only exception. The first line says what is wrong and what was expected; each further line
/// ("  in decoder.block[2].attention_norm") says where, outermost last.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  /// The same error with one more context line.
  Error in(const std::string& where) const { return Error(std::string(what()) + "\n  in " + where); }
};

}  // namespace headroom
