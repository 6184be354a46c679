#include "models/checkpoints/source.h"

#include "engine/context.h"
#include "engine/error.h"
#include "engine/finite.h"
#include "engine/ops/elementwise/binary.h"
#include "models/files/json.h"
#include "models/gguf/types.h"

namespace headroom::models {
namespace {

using engine::DType;
using engine::QuantizedMatrix;

/// Equal run `part` of `parts` of the rows of a matrix, or of a vector's elements.
StoredTensor rows_of(const StoredTensor& stored, int part, int parts) {
  if (parts == 1) return stored;
  const int64_t rows = shape_of(stored)[0] / parts;
  if (const auto* tensor = std::get_if<Tensor>(&stored)) return tensor->slice(0, part * rows, (part + 1) * rows);
  return std::get<QuantizedMatrix>(stored).rows_between(part * rows, (part + 1) * rows);
}

/// The numbers themselves, in a dtype that computes.
Tensor values_of(const StoredTensor& stored, DType dtype) {
  if (const auto* matrix = std::get_if<QuantizedMatrix>(&stored)) return matrix->dequantize(dtype);
  return std::get<Tensor>(stored).to(dtype).contiguous();
}

/// A matrix of 16-bit numbers, to be multiplied in place.
QuantizedMatrix as_blocks(const Tensor& matrix) {
  const auto numbers = std::make_shared<const Tensor>(matrix.contiguous());
  const Tensor bytes = Tensor::over(numbers->raw(), numbers, {2 * matrix.numel()}, DType::u8);
  return {*gguf_form(matrix.dtype()), matrix.dim(0), matrix.dim(1), bytes};
}

}  // namespace

PretrainedWeights::PretrainedWeights(std::shared_ptr<const TensorStore> store, NameScheme scheme, Keep keep,
                                     WeightOptions options, bool fused_qkv)
    : store_(std::move(store)), scheme_(scheme), keep_(keep), options_(std::move(options)), fused_qkv_(fused_qkv) {
  require(options_.dtype == DType::f32 || options_.dtype == DType::f64, "weights: computing in {} is not supported",
          engine::name_of(options_.dtype));
  for (const std::string& name : store_->names()) unused_.insert(name);
}

StoredTensor PretrainedWeights::found(const std::string& name, const WeightPlace& place, const Shape& shape) {
  const std::string& theirs = place.name;
  require(store_->contains(theirs), "{}: has no tensor {}, which is {} of the model", store_->place(theirs),
          quoted_name(theirs), name);
  unused_.erase(theirs);
  Shape wanted = shape;
  if (place.transposed) wanted = {shape[1], shape[0]};
  if (place.parts > 1) wanted = wanted.with(place.transposed ? -1 : 0, wanted[place.transposed ? -1 : 0] * place.parts);
  const Shape have = store_->shape(theirs);
  require(have == wanted, "{}: tensor {} is {} {}, the model needs {}", store_->place(theirs), quoted_name(theirs),
          store_->type(theirs), have.str(), wanted.str());
  StoredTensor stored = store_->read(theirs);
  const auto bad =
      place.part > 0 ? std::nullopt : std::visit([](const auto& x) { return first_not_finite(x); }, stored);
  require(!bad, "{}: tensor {} holds {}, so that all results would be nan: fetch or make the file again",
          store_->place(theirs), quoted_name(theirs), bad.value_or(""));
  if (const auto* tensor = std::get_if<Tensor>(&stored)) {
    require(engine::is_floating(tensor->dtype()), "{}: tensor {} is {}, expected real numbers", store_->place(theirs),
            quoted_name(theirs), tensor->str());
    if (place.transposed) stored = tensor->permute({1, 0});
  }
  return rows_of(stored, place.part, place.parts);
}

Weight PretrainedWeights::matrix(const std::string& name, int64_t out, int64_t in, const Draw& draw) {
  const bool is_trained = !options_.is_trained || options_.is_trained(name);
  if (is_trained || keep_ == Keep::computed) return Weight(tensor(name, {out, in}, draw));
  const WeightPlace place = place_of(scheme_, name, fused_qkv_);
  const StoredTensor stored = found(name, place, {out, in});
  const auto* const numbers = std::get_if<Tensor>(&stored);
  const auto kept = [&](const QuantizedMatrix& matrix) {
    const QuantizedMatrix there = matrix.to(engine::context().device);
    if (!there.device().is_cpu()) release(place);
    return Weight(there);
  };
  if (!numbers && keep_ == Keep::stored) return kept(std::get<QuantizedMatrix>(stored));
  if (numbers && numbers->dtype() == DType::bf16) return kept(as_blocks(*numbers));
  if (keep_ == Keep::bf16) {
    const Tensor rounded = values_of(stored, DType::bf16);  // (out, in)
    release(place);
    return kept(as_blocks(rounded));
  }
  if (numbers->dtype() == DType::f16) return kept(as_blocks(*numbers));
  return Weight(Var(values_of(stored, options_.dtype).to(engine::context().device), false));
}

Var PretrainedWeights::tensor(const std::string& name, const Shape& shape, const Draw&) {
  const bool is_trained = !options_.is_trained || options_.is_trained(name);
  const WeightPlace place = place_of(scheme_, name, fused_qkv_);
  const StoredTensor stored = found(name, place, shape);
  const auto* given = std::get_if<Tensor>(&stored);
  Tensor values = values_of(stored, options_.dtype).to(engine::context().device);
  if (const double added = added_to(scheme_, place.name); added != 0)
    values = engine::add(values, Tensor::full({1}, added, values.dtype(), values.device()));
  if (given && values.shares_storage(*given)) {
    if (!is_trained) return Var(values, false);
    values = values.clone();
  }
  release(place);
  return Var(values, is_trained);
}

void PretrainedWeights::finish() const {
  for (const std::string& name : unused_)
    require(is_buffer(scheme_, name), "{}: tensor {} is no weight of this model", store_->place(name),
            quoted_name(name));
}

}  // namespace headroom::models
