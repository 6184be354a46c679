#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <system_error>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "models/config.h"
#include "models/files/regular_file.h"
#include "models/op_library/parts.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using engine::OpLibrary, engine::OpLibraryLevel, engine::OpLibraryOp;

/// Refuses what the system's loader would not: it maps the segments that the header names, and reading one that lies
/// beyond the file's end would end the program.
void check_shared_object(const std::string& file) {
  RegularFile in(file, {"library of ops", uint64_t{1} << 32});
  ElfW(Ehdr) header{};
  const bool is_elf = in.read(reinterpret_cast<char*>(&header), sizeof header) == sizeof header &&
                      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  require(
      is_elf && header.e_type == ET_DYN && header.e_phoff == sizeof header && header.e_phentsize == sizeof(ElfW(Phdr)),
      "{}: is no shared library of this system", file);
  for (int i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    const bool is_there = in.read(reinterpret_cast<char*>(&segment), sizeof segment) == sizeof segment;
    require(is_there && segment.p_offset <= in.size() && segment.p_filesz <= in.size() - segment.p_offset,
            "{}: is a shared library that was cut off", file);
  }
}

/// "0.1" of "0.1.7".
std::string release_of(const std::string& version) {
  return version.substr(0, version.find('.', version.find('.') + 1));
}

/// The kernels of an op, or an Error that names the file and the op.
LibraryKernels kernels_of(const std::string& file, const OpLibraryOp& op) {
  LibraryKernels kernels{.given = op};
  const bool has_loops = op.forward_f32 && op.backward_f32 && op.forward_f64 && op.backward_f64;
  require(has_loops && op.level_count <= OpLibraryOp::most_levels && op.reads_x <= 1 && op.reads_y <= 1,
          "{}: its op {} lacks loops, or its levels are wrong", file, op.name);
  for (const OpLibraryLevel& level : std::span(op.levels, op.level_count)) {
    require(level.isa && level.forward && level.backward, "{}: a level of its op {} lacks functions", file, op.name);
    const std::string isa = level.isa;
    const bool is_known = isa == "portable" || isa == "avx2" || isa == "avx512";
    require(is_known, "{}: its op {} has kernels for '{}'; known are portable, avx2 and avx512", file, op.name,
            excerpt(isa));
    (isa == "portable" ? kernels.forward.portable
     : isa == "avx2"   ? kernels.forward.avx2
                       : kernels.forward.avx512) = level.forward;
    (isa == "portable" ? kernels.backward.portable
     : isa == "avx2"   ? kernels.backward.avx2
                       : kernels.backward.avx512) = level.backward;
  }
  require(kernels.forward.portable, "{}: its op {} has no portable kernel", file, op.name);
  return kernels;
}

bool is_built_in(const std::string& name) {
  for (int i = 0; i < static_cast<int>(Activation::library); ++i)
    if (name == name_of(static_cast<Activation>(i))) return true;
  return false;
}

using LibraryOps = std::map<std::string, std::unique_ptr<LibraryOp>>;

/// `path` is absolute: the system's loader would look for other names in its own folders.
LibraryOps loaded(const std::string& file, const std::string& path) {
  check_shared_object(file);
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // and never closed: tapes point into it
  if (!handle) {
    const char* const why = dlerror();
    fail("{}: cannot be loaded: {}", file, why ? why : "unknown error");
  }
  const auto function = reinterpret_cast<engine::OpLibraryFunction>(dlsym(handle, engine::op_library_symbol));
  require(function, "{}: is no library of ops: it has no {}(), which HEADROOM_OP_LIBRARY makes", file,
          engine::op_library_symbol);
  const OpLibrary* const library = function();
  require(library, "{}: its {}() gives nothing", file, engine::op_library_symbol);
  require(library->abi == engine::op_library_abi,
          "{}: was built for version {} of the interface of op libraries, this headroom has {}: build it again", file,
          library->abi, engine::op_library_abi);
  const std::string version = library->version ? library->version : "";
  require(release_of(version) == release_of(HEADROOM_VERSION),
          "{}: was built with headroom {}, this is {}: build it again", file, excerpt(version), HEADROOM_VERSION);
  constexpr uint32_t most_ops = 1024;
  require(library->ops && library->op_count > 0 && library->op_count <= most_ops, "{}: has {} ops; expected 1 to {}",
          file, library->ops ? library->op_count : 0, most_ops);
  std::map<std::string, LibraryKernels> all;
  for (const OpLibraryOp& op : std::span(library->ops, library->op_count)) {
    const std::string name = op.name ? op.name : "";
    require(is_op_name(name), "{}: '{}' is no name for an op: lower-case letters, digits and _, a letter first", file,
            excerpt(name));
    require(!is_built_in(name), "{}: its op {} has the name of a built-in activation", file, name);
    require(all.emplace(name, kernels_of(file, op)).second, "{}: has two ops with the name {}", file, name);
  }
  LibraryOps ops;
  for (const auto& [name, kernels] : all)
    ops[name] = std::make_unique<LibraryOp>(std::make_unique<const LibraryOp::Parts>(name, kernels));
  return ops;
}

/// Each file is loaded once: what it holds later is not looked at.
const LibraryOps& ops_of(const fs::path& file) {
  static std::mutex& mutex = *new std::mutex;
  static auto& known = *new std::map<std::string, LibraryOps>;  // outlives every graph
  std::error_code error;
  const fs::path absolute = fs::absolute(file, error);
  const std::string path = error ? file.string() : absolute.lexically_normal().string();
  const std::lock_guard lock(mutex);
  const auto found = known.find(path);
  return found != known.end() ? found->second : known.emplace(path, loaded(file.string(), path)).first->second;
}

}  // namespace

bool is_op_name(const std::string& name) {
  constexpr size_t longest = 64;
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= longest && name[0] >= 'a' && name[0] <= 'z' &&
         std::all_of(name.begin(), name.end(), fits);
}

std::vector<std::string> library_ops(const fs::path& file) {
  std::vector<std::string> names;
  for (const auto& [name, op] : ops_of(file)) names.push_back(name);
  return names;
}

const LibraryOp& library_op(const fs::path& file, const std::string& name) {
  const LibraryOps& ops = ops_of(file);
  const auto found = ops.find(name);
  require(found != ops.end(), "{}: has no op '{}'", file.string(), excerpt(name));
  return *found->second;
}

}  // namespace headroom::models
