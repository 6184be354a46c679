#pragma once
#include <string>

namespace headroom::experiments {

/// A module of the program, from its own folder, as in a build, or from where it is installed. Null, with the reason,
/// if it cannot be loaded.
struct Module {
  std::string path, problem;
  void* handle = nullptr;

  explicit Module(const std::string& name);
  /// Looks up an exported function. Throws Error if there is none.
  template <class Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;
};

}  // namespace headroom::experiments
