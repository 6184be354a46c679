#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "engine/philox.h"
#include "engine/tensor.h"

namespace headroom::engine {

/// Named random streams from one seed ("init", "data", "mask", "dropout"): drawing from one never moves another, and no
/// value is handed out twice. A copy, or another Rng of the same seed, repeats the same values. Its state, the next
/// offset of each stream, is part of a checkpoint. Threads: one at a time, since take() changes it; a key already taken
/// is a value, and any number of threads may use it.
class Rng {
 public:
  explicit Rng(uint64_t seed) : seed_(seed) {}

  /// Takes the key of a stream's next `count` values and moves the stream past them, to a multiple of four. Throws
  /// Error if the stream's name has the hash of another stream's, and so its values.
  RngKey take(const std::string& stream, int64_t count);
  /// Makes later keys of `stream` relative to *base, which holds `start` now and must outlive them; null ends this. The
  /// values drawn do not change.
  void set_base(const std::string& stream, const uint64_t* base, uint64_t start) {
    bases_[stream] = {base, base ? start : 0};
  }

  /// Draws `stream` from lane `lane` from now on: lanes share offsets but not values. Lane 0 is the stream itself.
  void set_lane(const std::string& stream, int64_t lane) { lanes_[stream] = lane; }
  /// Moves the stream to this offset, a multiple of four.
  void set_next(const std::string& stream, uint64_t offset) { offsets_[stream] = offset; }

  uint64_t seed() const { return seed_; }
  const std::map<std::string, uint64_t>& offsets() const { return offsets_; }
  /// The stream's next offset; 0 if nothing was drawn.
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
  std::map<uint32_t, std::pair<std::string, int64_t>>
      names_;  ///< the stream and lane behind each number that was taken
};

/// Throws Error, naming `op`, unless the key has `count` values and starts at a multiple of four. A base on `device`,
/// which only kernels read, must be one too.
void check_key(const char* op, const RngKey& key, int64_t count, Device device);

/// Uniform on [low, high), f32 or f64, on the context's device. Uses 24 bits per value in f32, 32 in f64. All three
/// fills give the same bits on every device. Throws Error unless both bounds are finite and low ≤ high, and the key has
/// a value for each element.
Tensor random_uniform(const Shape& shape, double low, double high, const RngKey& key, DType dtype = DType::f32);
/// Normal by Box–Muller on pairs of elements, computed in f64 and rounded.
/// Made on the CPU and moved, so that initial weights are the same everywhere. But a key with a base is evaluated on
/// the base's device, whose log, sin and cos may differ in the last bit of f64; rounding to f32 almost always hides
/// this. Throws Error unless both are finite and std ≥ 0.
Tensor random_normal(const Shape& shape, double mean, double std, const RngKey& key, DType dtype = DType::f32);
/// Integers uniform on [low, high), i64.
Tensor random_integers(const Shape& shape, int64_t low, int64_t high, const RngKey& key);

/// The same fills with the next values of a stream: they take as many as they need.
///
///     Tensor w = random_normal({64, 32}, rng, "init", 0, 0.02);
inline Tensor random_uniform(const Shape& shape, Rng& rng, const std::string& stream, double low = 0, double high = 1,
                             DType dtype = DType::f32) {
  return random_uniform(shape, low, high, rng.take(stream, shape.numel()), dtype);
}
inline Tensor random_normal(const Shape& shape, Rng& rng, const std::string& stream, double mean = 0, double std = 1,
                            DType dtype = DType::f32) {
  return random_normal(shape, mean, std, rng.take(stream, shape.numel()), dtype);
}
inline Tensor random_integers(const Shape& shape, Rng& rng, const std::string& stream, int64_t low, int64_t high) {
  return random_integers(shape, low, high, rng.take(stream, shape.numel()));
}

}  // namespace headroom::engine
