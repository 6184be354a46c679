#include "autograd/optim/arena.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <unordered_set>

#include "engine/error.h"
#include "engine/ops/rows/padded_rows.h"
#include "engine/ops/scale/scale.h"
#include "engine/optim/update.h"

namespace headroom::autograd {
namespace {

/// The alignment of each parameter's start, in elements. On the CPU there are no gaps, so that sums over the whole
/// arena keep their order and bits.
int64_t alignment_on(engine::Device device) { return device.is_cpu() ? 1 : 64; }

/// The elements that the place of n has, in rows like the shape's. Products in bf16 want extents that are multiples of
/// 8, so that copies have room for as many rows; gaps of nothing but zeros are declared as padding.
int64_t room_for(int64_t n, const Shape& shape, bool is_padded) {
  if (!is_padded || shape.rank() == 0 || n == 0) return n;
  const int64_t eight_rows = 8 * shape.without(0).numel();
  return (n + eight_rows - 1) / eight_rows * eight_rows;
}

/// True if parameter i lies right behind the one before it. Those of a group share a room behind the last.
bool joins(const std::vector<Parameter>& parameters, size_t i) {
  if (i == 0 || !parameters[i].placement.joins_previous || parameters[i].decays != parameters[i - 1].decays)
    return false;
  const Shape &shape = parameters[i].var.shape(), &before = parameters[i - 1].var.shape();
  return shape.rank() > 0 && before.rank() > 0 && shape.without(0) == before.without(0);
}

/// From one row of a parameter to the next, if there are gaps between them; else 0.
int64_t row_of(const Parameter& parameter, engine::DType dtype, engine::Device device) {
  const Shape& shape = parameter.var.shape();
  if (device.is_cpu() || !parameter.placement.pads_rows || shape.rank() != 2) return 0;
  const int64_t row = engine::padded_width(shape[1], dtype);
  return row > shape[1] ? row : 0;
}

/// Throws Error, with the name, for a leaf that cannot be in the arena.
void check_parameters(const std::vector<Parameter>& parameters, bool has_copies) {
  require(!parameters.empty(), "parameter arena: no parameters");
  const Tensor& first = parameters[0].var.value();
  std::unordered_set<const Node*> seen;
  std::unordered_set<std::string_view> names;
  for (const Parameter& parameter : parameters) {
    const Tensor& value = parameter.var.value();
    require(value.dtype() == first.dtype() && value.device() == first.device(), "parameter arena: {} is {}, {} is {}",
            parameters[0].name, first, parameter.name, value);
    require(!has_copies || value.dtype() == engine::DType::f32,
            "parameter arena: {} is {}; bf16 copies are of f32 masters", parameter.name, value);
    require(parameter.var.requires_grad(), "parameter arena: {} {} does not require a gradient", parameter.name, value);
    require(seen.insert(parameter.var.node().get()).second, "parameter arena: {} was given twice", parameter.name);
    require(names.insert(parameter.name).second, "parameter arena: two parameters are named {}: rename one",
            parameter.name);
    require(!parameter.var.is_bound(), "parameter arena: {} {} is in another arena already", parameter.name, value);
  }
}

}  // namespace

ParameterArena::ParameterArena(std::vector<Parameter> parameters, const ArenaOptions& options)
    : parameters_(std::move(parameters)), identity_(std::make_shared<const char>()) {
  check_parameters(parameters_, options.has_copies);
  const Tensor& first = parameters_[0].var.value();
  const engine::DType dtype = first.dtype();
  const engine::Device device = options.device.value_or(first.device());
  std::stable_partition(parameters_.begin(), parameters_.end(), [](const Parameter& e) { return e.decays; });
  const int64_t alignment = alignment_on(device);
  const bool is_padded = options.has_copies && !device.is_cpu();
  int64_t first_of_joined = 0, last_end = 0, end = 0;  // `end`: with the room behind
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Shape& shape = parameters_[i].var.shape();
    const int64_t row = row_of(parameters_[i], options.has_copies ? engine::DType::bf16 : dtype, device);
    const bool has_gaps = row > 0;
    // Gaps repeat all over the storage, so that rows begin at their multiples.
    const int64_t step = has_gaps ? std::lcm(alignment, row) : alignment;
    if (has_gaps || !joins(parameters_, i)) first_of_joined = last_end = (end + step - 1) / step * step;
    offsets_.push_back(last_end);
    rows_.push_back(row);
    last_end += has_gaps ? shape[0] * row : shape.numel();
    end = has_gaps ? last_end : first_of_joined + room_for(last_end - first_of_joined, shape, is_padded);
    size_ += shape.numel();
    if (parameters_[i].decays) decayed_ = last_end, decayed_size_ = size_;
  }
  offsets_.push_back(end);
  values_ = size_ == end ? Tensor::empty({end}, dtype, device) : Tensor::zeros({end}, dtype, device);  // (N)
  gradients_ = Tensor::zeros({end}, dtype, device);                                                    // (N)
  if (options.has_copies) copies_ = Tensor::empty({end}, engine::DType::bf16, device);                 // (N)
  for (size_t i = 0; is_padded && i < parameters_.size(); ++i) {
    const Shape& shape = parameters_[i].var.shape();
    const int64_t begin = rows_[i] > 0 ? shape[1] : offsets_[i] + shape.numel();
    const int64_t until = rows_[i] > 0 ? rows_[i] : offsets_[i + 1];
    for (const Tensor& flat : {copies_, gradients_})
      if (begin < until) flat.declare_padding(begin, until, rows_[i], true);
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Var& var = parameters_[i].var;
    engine::copy_inplace(part(values_, i), var.value().to(device));
    var.bind(options.has_copies ? copies_ : values_, gradients_, offsets_[i], identity_, rows_[i]);
  }
  refresh_copies();
}

Tensor ParameterArena::part(const Tensor& flat, size_t i) const {
  return part_of(flat, offsets_[i], parameters_[i].var.shape(), rows_[i]);
}

const Tensor& ParameterArena::gradients() const {
  gradients(0, parameters_.size());
  return gradients_;
}

Tensor ParameterArena::gradients(size_t first, size_t end) const {
  for (size_t i = first; i < end; ++i) {
    // A leaf whose gradient is fresh got none: its part of the buffer is from an earlier step.
    if (parameters_[i].var.grad().defined()) continue;
    const Tensor stale = part(gradients_, i);
    engine::copy_inplace(stale, Tensor::zeros(stale.shape(), stale.dtype(), stale.device()));
  }
  return gradients_.slice(0, offsets_[first], offsets_[end]);
}

std::vector<std::pair<std::string, Tensor>> ParameterArena::named_values() const {
  std::vector<std::pair<std::string, Tensor>> named;
  for (size_t i = 0; i < parameters_.size(); ++i) named.emplace_back(parameters_[i].name, part(values_, i));
  return named;
}

Tensor ParameterArena::packed(const Tensor& flat) const {
  if (flat.numel() == size_) return flat.clone();
  const Tensor out = Tensor::empty({size_}, flat.dtype(), flat.device());
  int64_t begin = 0;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor piece = part(flat, i);
    engine::copy_inplace(out.slice(0, begin, begin + piece.numel()).reshape(piece.shape()), piece);
    begin += piece.numel();
  }
  return out;
}

void ParameterArena::unpack_inplace(const Tensor& flat, const Tensor& packed) const {
  const Tensor there = packed.to(flat.device());
  int64_t begin = 0;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor place = part(flat, i);
    engine::copy_inplace(place, there.slice(0, begin, begin + place.numel()).reshape(place.shape()));
    begin += place.numel();
  }
}

void ParameterArena::refresh_copies() const {
  if (copies_.defined()) engine::convert_inplace(copies_, values_);
}

void ParameterArena::zero_grad() const {
  for (const Parameter& parameter : parameters_) parameter.var.zero_grad();
}

void ParameterArena::keep_gradients() const {
  for (const Parameter& parameter : parameters_) parameter.var.keep_grad();
}

double ParameterArena::gradient_norm() const { return engine::norm(gradients()); }

double clip_gradients(const std::vector<ParameterArena>& arenas, double max_norm) {
  require(max_norm > 0, "clip_gradients: to a norm of {}", max_norm);
  double norm = 0;
  for (const ParameterArena& arena : arenas) norm = std::hypot(norm, arena.gradient_norm());
  require(std::isfinite(norm), "clip_gradients: the gradients' norm is {}", norm);
  if (norm > max_norm)
    for (const ParameterArena& arena : arenas)
      engine::copy_inplace(arena.gradients(), engine::scale(arena.gradients(), max_norm / norm));
  return norm;
}

}  // namespace headroom::autograd
