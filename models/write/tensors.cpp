#include "models/write/tensors.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/quantized/quantize.h"
#include "models/files/json.h"

namespace headroom::models {
namespace {

using engine::BlockFormat;
using engine::DType;
using engine::QuantizedMatrix;
using engine::Shape;
using engine::Tensor;

GgufForm form_of(WeightType type) {
  return type == WeightType::f32 ? GgufForm() : engine::block_format_named(name_of(type));
}

/// The form of a tensor in its file.
GgufForm stored_form(const TensorStore& store, const std::string& name) {
  const StoredTensor stored = store.read(name);
  if (const auto* matrix = std::get_if<QuantizedMatrix>(&stored)) return matrix->format();
  return gguf_form(std::get<Tensor>(stored).dtype());
}

/// The one dtype of a folder that rounds nothing of these tensors' matrices.
GgufForm common_form(const TensorStore& store, const std::vector<TensorMove>& moves) {
  std::optional<GgufForm> common;
  for (const TensorMove& move : moves) {
    if (move.shape.rank() < 2) continue;
    const GgufForm form = stored_form(store, move.from);
    if (!dtype_of(form) || (common && *common != form)) return std::nullopt;
    common = form;
  }
  return common.value_or(std::nullopt);
}

GgufForm gguf_form_of(const TensorStore& store, const TensorMove& move, std::optional<WeightType> type) {
  if (move.shape.rank() < 2 || move.to == "position_embd.weight") return std::nullopt;
  if (!type) return stored_form(store, move.from);
  return matrix_form(*type, move.shape[-1]);
}

QuantizedMatrix turned(const QuantizedMatrix& matrix, int64_t heads, bool to_interleaved) {
  const Tensor bytes = matrix.blocks().reshape({matrix.rows(), matrix.row_bytes()});  // (R, bytes)
  return {matrix.format(), matrix.rows(), matrix.cols(), models::turned(bytes, heads, to_interleaved).reshape({-1})};
}

/// Rows [begin, end) as written, in f32.
Tensor rows_of_written(const StoredTensor& written, int64_t begin, int64_t end) {
  if (const auto* matrix = std::get_if<QuantizedMatrix>(&written)) return matrix->dequantize(begin, end);
  return std::get<Tensor>(written).slice(0, begin, end).to(DType::f32).contiguous();
}

/// Counts where `written` differs from `values`, f32 (R, …), some rows at a time. Throws Error where a finite number
/// became infinite.
void count_rounding(const TensorMove& move, const Tensor& values, const StoredTensor& written, Rounding& rounding) {
  const float* x = values.data<float>();
  const auto refuse = [&](float number) {
    require(std::isfinite(number), "tensor {}: holds {}", quoted_name(move.from), number);
    fail("tensor {}: holds {}, which {} cannot: use bf16 or f32", quoted_name(move.from), number, gguf_name(move.form));
  };
  double worst = 0, largest = 0;
  const int64_t rows = values.dim(0);
  constexpr int64_t step = 256;
  for (int64_t begin = 0; begin < rows; begin += step) {
    const Tensor read = rows_of_written(written, begin, std::min(rows, begin + step));
    const float* y = read.data<float>();
    for (int64_t i = 0; i < read.numel(); ++i, ++x) {
      if (!std::isfinite(y[i])) refuse(*x);
      worst = std::max(worst, std::abs(double{*x} - double{y[i]}));
      largest = std::max(largest, std::abs(double{*x}));
    }
  }
  if (worst == 0) return;
  ++rounding.tensors;
  if (worst / largest <= rounding.worst) return;
  rounding.worst = worst / largest, rounding.worst_name = move.from;
}

}  // namespace

// Of a head's d rows, (i, i + d/2) become (2i, 2i + 1), or back.
Tensor turned(const Tensor& rows, int64_t heads, bool to_interleaved) {
  const int64_t half = rows.dim(0) / heads / 2;
  const Shape pairs = to_interleaved ? Shape{heads, 2, half, -1} : Shape{heads, half, 2, -1};
  return rows.contiguous().reshape(pairs).transpose(1, 2).contiguous().reshape(rows.shape());  // (R, …)
}

DType dense_dtype(GgufForm form) {
  const std::optional<DType> dtype = dtype_of(form);
  require(dtype.has_value(), "{} is no dtype", gguf_name(form));
  return *dtype;
}

int64_t bytes_of(const TensorMove& move) {
  if (!move.form) return move.shape.numel() * engine::size_of(DType::f32);
  const engine::BlockTraits& traits = engine::traits_of(*move.form);
  return move.shape.numel() / traits.elements * traits.bytes;
}

GgufForm matrix_form(WeightType type, int64_t cols) {
  const auto fills = [&](GgufForm form) { return !form || cols % engine::traits_of(*form).elements == 0; };
  GgufForm form = form_of(type);
  if (!fills(form))
    form = type == WeightType::q4_k   ? BlockFormat::q5_0
           : type == WeightType::q5_k ? BlockFormat::q5_1
                                      : BlockFormat::q8_0;
  return fills(form) ? form : BlockFormat::f16;
}

StoredTensor in_form(const Tensor& values, GgufForm form, const Tensor& importance) {
  if (const std::optional<DType> dtype = dtype_of(form)) return values.to(*dtype);
  return engine::quantize(values, *form, importance);
}

void note_partial_blocks(std::optional<WeightType> type, const std::vector<std::pair<GgufForm, Shape>>& written,
                         std::vector<std::string>& notes) {
  std::map<GgufForm, int64_t> others;
  for (const auto& [form, shape] : written)
    if (type && shape.rank() > 1 && form != form_of(*type) && form == matrix_form(*type, shape[-1])) ++others[form];
  for (const auto& [form, matrices] : others)
    notes.push_back(fmt::format("the rows of {} matrices do not fill {}'s blocks of {} numbers: these are in {}",
                                matrices, gguf_name(form_of(*type)), engine::traits_of(*form_of(*type)).elements,
                                gguf_name(form)));
}

std::vector<TensorMove> plan_moves(const ModelFiles& source, const ConvertTarget& target,
                                   const ConvertOptions& options) {
  const TensorStore& store = source.tensors();
  const NameScheme from = source.scheme();
  const int64_t head_dim = first_group(source.description().config).qk_dim;
  const bool turns = source.description().config.rope_interleaved != target.rope_interleaved;
  std::vector<TensorMove> moves;
  for (const std::string& name : store.names()) {
    if (is_buffer(from, name)) continue;
    TensorMove move{.from = name, .to = renamed(from, target.scheme, name), .shape = store.shape(name), .form = {}};
    move.transposed = is_transposed(from, name) != is_transposed(target.scheme, move.to);
    if (move.transposed) move.shape = {move.shape[1], move.shape[0]};
    move.added = added_to(from, name) - added_to(target.scheme, move.to);
    if (turns && has_turned_rows(from, name)) move.turned_heads = move.shape[0] / head_dim;
    moves.push_back(std::move(move));
  }
  const bool is_folder = target.scheme != NameScheme::gguf;
  const std::optional<WeightType>& type = options.type;
  const auto type_of = [&](const TensorMove& move) {
    return options.is_retyped && !options.is_retyped(move.from) ? std::nullopt : type;
  };
  const GgufForm folder_form = type ? form_of(*type) : is_folder ? common_form(store, moves) : std::nullopt;
  for (TensorMove& move : moves) move.form = is_folder ? folder_form : gguf_form_of(store, move, type_of(move));
  return moves;
}

StoredTensor moved(const TensorStore& store, const TensorMove& move, bool to_interleaved,
                   const ImportanceOf& importance, Rounding& rounding) {
  const StoredTensor stored = store.read(move.from);
  const auto* blocks = std::get_if<QuantizedMatrix>(&stored);
  if (blocks && move.form == blocks->format() && !move.transposed && move.added == 0)
    return move.turned_heads > 0 ? turned(*blocks, move.turned_heads, to_interleaved) : *blocks;
  Tensor values = blocks ? blocks->dequantize().reshape(store.shape(move.from)) : std::get<Tensor>(stored);
  require(engine::is_floating(values.dtype()), "tensor {}: is {}, expected real numbers", quoted_name(move.from),
          values.str());
  if (move.transposed) values = values.transpose(0, 1);
  if (move.turned_heads > 0) values = turned(values, move.turned_heads, to_interleaved);
  if (move.added != 0) values = engine::add(values.to(DType::f32), Tensor::full({1}, move.added));
  if (dtype_of(move.form) == values.dtype()) return values.contiguous();
  values = values.to(DType::f32).contiguous();  // of an f64 one, too: it is computed in f32
  if (!move.form) return values;
  const StoredTensor written = naming("tensor " + quoted_name(move.from), [&] {
    return in_form(values, move.form, importance ? importance(move.from) : Tensor());
  });
  count_rounding(move, values, written, rounding);
  return written;
}

}  // namespace headroom::models
