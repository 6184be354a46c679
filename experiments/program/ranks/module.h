#pragma once
#include <string>

namespace headroom::experiments {

/// A module of the program's own, from its folder, as in a build, or from where it is installed; null, and why, where
/// it cannot be loaded.
struct Module {
  std::string path, problem;
  void* handle = nullptr;

  explicit Module(const std::string& name);
  /// What it exports under a name. Throws Error where it does not.
  template <class Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;
};

}  // namespace headroom::experiments
