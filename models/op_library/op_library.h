#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "autograd/var.h"

namespace headroom::models {

/// An elementwise op of a shared library (engine/op_library.h). It lives as long as the program.
class LibraryOp {
 public:
  struct Parts;
  explicit LibraryOp(std::unique_ptr<const Parts> parts);
  ~LibraryOp();

  const std::string& name() const;
  /// f(x), of any shape and strides; f32 and f64 on the CPU, the same bits on any number of threads. Throws Error
  /// naming the op for another dtype or device.
  autograd::Var operator()(const autograd::Var& x) const;

 private:
  std::unique_ptr<const Parts> parts_;
};

/// The names of a library's ops. It is loaded at the first call for its file, and stays loaded. Throws Error naming the
/// file: not a regular file, no shared library of this machine, without the symbol, of another ABI or another
/// major.minor version of headroom, or with ops that have no proper name, functions or portable kernel.
std::vector<std::string> library_ops(const std::filesystem::path& file);

/// One of them. Throws Error as library_ops() does, and when it has none of that name.
const LibraryOp& library_op(const std::filesystem::path& file, const std::string& name);

/// Lower-case letters, digits and _, a letter first, at most 64 characters: what an op of a library may be called.
bool is_op_name(const std::string& name);

}  // namespace headroom::models
