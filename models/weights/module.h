#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/parameter.h"
#include "engine/exception.h"
#include "models/weights/weight.h"

namespace headroom::models {

using autograd::Parameter;

/// A part of a model that owns weights and other parts. Neither copied nor moved: a Var in a copy would be the same
/// leaf, and parts know their parent by address. Threads: several may run forward passes on a model that is not being
/// trained; training takes one thread.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Every trainable leaf below this module, in order of registration, with its path in the name.
  std::vector<Parameter> parameters() const;
  /// Every weight below this module, trained or frozen, as write_safetensors() and NamedWeights take them. Throws Error
  /// naming a quantised matrix, which is not a tensor.
  std::vector<std::pair<std::string, Tensor>> weights() const;
  /// The number of weights below this module, trained or not: factors count as stored, quantised matrices in full.
  int64_t parameter_count() const;
  /// The bytes of these weights: fewer than 4 per number for quantised matrices.
  int64_t weight_bytes() const;
  /// True if some matrix below this module is kept in 32- or 64-bit numbers.
  bool has_wide_matrices() const;
  /// The device of the weights; the CPU if there are only quantised ones.
  engine::Device device() const;
  /// Its path below the outermost module: "blocks[2].attention"; "" for the outermost.
  std::string path() const;
  /// Writes tensors under the names of weights() into these, converted to their dtype. Throws Error, changing nothing,
  /// for a weight without a tensor, a tensor without a weight, another shape, and a bf16 copy of an optimizer's f32
  /// one.
  void load(const std::vector<std::pair<std::string, Tensor>>& tensors);
  /// Var::set_requires_grad() of every weight below this module that is not quantised.
  void set_requires_grad(bool required);
  /// One line: "linear 256 -> 1024, bias"; unless it says more, how many weights there are.
  virtual std::string describe() const;

 protected:
  /// Calls f() and adds this module's path to any Error.
  template <class F>
  auto located(const F& f) const {
    try {
      return f();
    } catch (const Error& error) {
      throw error.in(path());
    }
  }
  /// Registers a leaf, trainable or frozen.
  Var add_parameter(const std::string& name, Var leaf, bool decays, autograd::Placement placement = {});
  /// Registers a matrix in any form; factors as NAME_a and NAME_b, an adapter's as NAME.lora_a and NAME.lora_b.
  Weight add_weight(const std::string& name, Weight weight, bool decays, autograd::Placement placement = {});
  /// Registers a child that lives as long as this module (a member, or in a unique_ptr).
  void add_child(std::string name, Module& child);
  /// Makes a part with the weights of that name in the scope, and registers it.
  template <class Part, class Scope, class... Args>
  std::unique_ptr<Part> make_child(const Scope& scope, const std::string& name, Args&&... args) {
    auto part = std::make_unique<Part>(std::forward<Args>(args)..., scope.at(name));
    add_child(name, *part);
    return part;
  }

 private:
  struct Entry {
    Parameter leaf;  ///< its Var is undefined for a quantised matrix
    int64_t numel, bytes;
  };
  void add_entry(Entry entry);
  const Tensor* first_weight() const;  ///< null if all are quantised
  /// Every leaf below this module, trained or frozen.
  std::vector<Parameter> leaves() const;

  std::vector<Entry> own_;
  std::vector<std::pair<std::string, Module*>> children_;
  const Module* parent_ = nullptr;
  std::string name_;
};

}  // namespace headroom::models
