#include "experiments/program/ranks/module.h"

#include <dlfcn.h>

#include <filesystem>

#include "engine/error.h"

namespace headroom::experiments {

Module::Module(const std::string& name) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  path = (program / name).string();
  if (!std::filesystem::exists(path, error)) path = (program / HEADROOM_MODULES / name).lexically_normal().string();
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle) problem = dlerror();
}

void* Module::symbol(const char* name) const {
  void* const found = dlsym(handle, name);
  require(found, "{}: is no module of this program", path);
  return found;
}

}  // namespace headroom::experiments
