#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/var.h"
#include "engine/error.h"

namespace headroom::models {

using autograd::Var;
using engine::Shape;
using engine::Tensor;

/// A leaf to train, with its dotted path ("blocks.2.attention.0.q_proj.weight") and whether weight decay applies to it.
struct Parameter {
  std::string name;
  Var var;
  bool decays = true;  ///< matrices; biases, norms, positions and slopes do not
};

/// A part of a model that owns parameters and other parts. Copying is forbidden: a Var in a copy would be the same
/// leaf.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Every parameter below this module, in the order of registration, names prefixed by their path.
  std::vector<Parameter> parameters() const;
  int64_t parameter_count() const;
  /// Where it is below the outermost module: "blocks[2].attention"; "" for the outermost.
  std::string path() const;
  /// One line: "linear 256 -> 1024, bias".
  virtual std::string describe() const = 0;

 protected:
  /// f(), an Error of which gets this module's path as a further line.
  template <class F>
  auto located(const F& f) const {
    try {
      return f();
    } catch (const Error& error) {
      throw error.in(path());
    }
  }
  Var add_parameter(std::string name, Tensor value, bool decays);
  /// Registers a child that lives as long as this module (a member, or behind a unique_ptr).
  void add_child(std::string name, Module& child);

 private:
  std::vector<Parameter> own_;
  std::vector<std::pair<std::string, Module*>> children_;
  const Module* parent_ = nullptr;
  std::string name_;
};

}  // namespace headroom::models
