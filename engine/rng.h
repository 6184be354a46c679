#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "engine/philox.h"
#include "engine/tensor.h"

namespace headroom::engine {

/// Named streams of one seed ("init", "data", "mask", "dropout"): drawing from one never moves another. Its state (the
/// next offset of each stream) is part of a checkpoint. Threads: one at a time, as it changes with every take(); a key
/// that was taken is a value, and any number of threads may make its numbers.
class Rng {
 public:
  explicit Rng(uint64_t seed) : seed_(seed) {}

  /// The key of the next `count` values of a stream; the stream moves past them, to a multiple of four.
  RngKey take(const std::string& stream, int64_t count);
  /// Keys of `stream` are relative to *base from now on, which holds `start` at this moment and must outlive them; with
  /// null they are relative to nothing again. The values drawn are the same as without.
  void set_base(const std::string& stream, const uint64_t* base, uint64_t start) {
    bases_[stream] = {base, base ? start : 0};
  }

  /// Values of `stream` come from its lane `lane` from now on: offsets are common to all lanes, the values are not.
  /// Lane 0 is the stream itself.
  void set_lane(const std::string& stream, int64_t lane) { lanes_[stream] = lane; }
  /// The stream goes on from this offset, a multiple of four.
  void set_next(const std::string& stream, uint64_t offset) { offsets_[stream] = offset; }

  uint64_t seed() const { return seed_; }
  const std::map<std::string, uint64_t>& offsets() const { return offsets_; }
  /// The stream's next offset; 0 for one that was never drawn from.
  uint64_t next(const std::string& stream) const;
  void set_offsets(std::map<std::string, uint64_t> offsets) { offsets_ = std::move(offsets); }

 private:
  struct Base {
    const uint64_t* address = nullptr;
    uint64_t value = 0;
  };

  uint64_t seed_;
  std::map<std::string, uint64_t> offsets_;
  std::map<std::string, Base> bases_;
  std::map<std::string, int64_t> lanes_;
};

/// Uniform on [low, high), f32 or f64. Throws Error unless both are finite and low ≤ high. All three fills have the
/// same bits on every device, and the result is on the context's. Uses 24 bits per value in f32, 32 in f64.
Tensor random_uniform(const Shape& shape, double low, double high, const RngKey& key, DType dtype = DType::f32);
/// Normal by Box–Muller on pairs of elements, computed in f64 and rounded. `key` must cover numel rounded up to even.
/// Made on the CPU and moved, so that first weights are the same everywhere; but a key with a base is read where the
/// base is, and there the vendor's log, sin and cos may differ from the CPU's in the last bit of f64, which in f32 is
/// almost always rounded away. Throws Error unless both are finite and std ≥ 0.
Tensor random_normal(const Shape& shape, double mean, double std, const RngKey& key, DType dtype = DType::f32);
/// Integers uniform on [low, high), i64.
Tensor random_integers(const Shape& shape, int64_t low, int64_t high, const RngKey& key);

}  // namespace headroom::engine
