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
/// leaf, and a part knows its parent by address. Threads: forward passes in several threads may share one model while
/// it is not trained; a model that is trained has one thread.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Every leaf to train below this module, in the order of registration, names prefixed by their path.
  std::vector<Parameter> parameters() const;
  /// Every weight below this module, trained or frozen: what write_safetensors() and NamedWeights take. Throws Error
  /// naming a quantised matrix, which is not a tensor.
  std::vector<std::pair<std::string, Tensor>> weights() const;
  /// Numbers in all weights below this module, trained or not: of low-rank factors theirs, of quantised matrices all.
  int64_t parameter_count() const;
  /// Bytes that these take: fewer than 4 a number where a matrix is quantised.
  int64_t weight_bytes() const;
  /// Where the weights are; the CPU when there are none but quantised ones.
  engine::Device device() const;
  /// Where it is below the outermost module: "blocks[2].attention"; "" for the outermost.
  std::string path() const;
  /// One line: "linear 256 -> 1024, bias".
  virtual std::string describe() const = 0;

 protected:
  /// f(); an Error in it gets this module's path as a further line.
  template <class F>
  auto located(const F& f) const {
    try {
      return f();
    } catch (const Error& error) {
      throw error.in(path());
    }
  }
  /// Registers a leaf, to train or frozen.
  Var add_parameter(const std::string& name, Var leaf, bool decays);
  /// Registers a matrix in any form; factors as NAME_a and NAME_b.
  Weight add_weight(const std::string& name, Weight weight, bool decays);
  /// Registers a child that lives as long as this module (a member, or behind a unique_ptr).
  void add_child(std::string name, Module& child);

 private:
  struct Entry {
    Parameter leaf;  ///< its Var is undefined for a quantised matrix
    int64_t numel, bytes;
  };
  void add_entry(Entry entry);
  const Tensor* first_weight() const;  ///< null where all are quantised

  std::vector<Entry> own_;
  std::vector<std::pair<std::string, Module*>> children_;
  const Module* parent_ = nullptr;
  std::string name_;
};

}  // namespace headroom::models
