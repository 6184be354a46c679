#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/checkpoints/model_files.h"
#include "models/gguf/types.h"
#include "models/write/convert.h"

namespace headroom::models {

/// The target of a model's tensors.
struct ConvertTarget {
  NameScheme scheme = NameScheme::gguf;
  bool rope_interleaved = false;  ///< query and key rows ordered as in GGUF's llama
};

/// One tensor on its way from a model's files to others.
struct TensorMove {
  std::string from, to;
  engine::Shape shape;       ///< as written, row-major
  GgufForm form;             ///< as written
  int64_t turned_heads = 0;  ///< > 0: reorders this many heads' rows to the other rotary layout
  bool transposed = false;
  double added = 0;  ///< added to every number
};

/// The difference between the moved tensors' numbers and the source's.
struct Rounding {
  int64_t tensors = 0;     ///< tensors that differ
  double worst = 0;        ///< largest difference, relative to its tensor's largest number
  std::string worst_name;  ///< in the source
};

/// The dtype of a form without blocks. Throws Error for others.
engine::DType dense_dtype(GgufForm form);

/// A tensor's bytes as written.
int64_t bytes_of(const TensorMove& move);

/// The form of a matrix with rows of `cols` numbers: the type's, or if these are not whole blocks, the nearest larger
/// one whose blocks they fill: q5_0 for q4_k, q5_1 for q5_k and q8_0 for q6_k, as in llama.cpp; else f16.
GgufForm matrix_form(WeightType type, int64_t cols);
/// f32 numbers in a form; with blocks, a matrix, its columns weighted by their importance as engine::quantize() does.
StoredTensor in_form(const engine::Tensor& values, GgufForm form, const engine::Tensor& importance = {});
/// Notes how many matrices have another form than the type's because their rows do not fill its blocks. `written`: the
/// form and shape of all tensors.
void note_partial_blocks(std::optional<WeightType> type, const std::vector<std::pair<GgufForm, engine::Shape>>& written,
                         std::vector<std::string>& notes);

/// Plans the move of every tensor of `source` except buffers, in order, to the form that the options' type asks for. In
/// GGUF files vectors and position tables are f32, and other matrices have matrix_form(). Throws Error for a tensor
/// without a name in the target.
std::vector<TensorMove> plan_moves(const ModelFiles& source, const ConvertTarget& target,
                                   const ConvertOptions& options);

/// The rows (R, …) of `heads` heads of queries or keys in the other rotary layout: to pairs (2i, 2i + 1), or back.
engine::Tensor turned(const engine::Tensor& rows, int64_t heads, bool to_interleaved);

/// The tensor as written. Throws Error naming it if a number does not fit the form.
StoredTensor moved(const TensorStore& store, const TensorMove& move, bool to_interleaved,
                   const ImportanceOf& importance, Rounding& rounding);

}  // namespace headroom::models
