#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/checkpoints/model_files.h"
#include "models/gguf/types.h"
#include "models/write/convert.h"

namespace headroom::models {

/// Where a model's tensors go.
struct ConvertTarget {
  NameScheme scheme = NameScheme::gguf;
  bool rope_interleaved = false;  ///< query and key rows lie as GGUF's llama has them
};

/// One tensor on its way from a model's files to others.
struct TensorMove {
  std::string from, to;
  engine::Shape shape;       ///< as it is written, row-major
  GgufForm form;             ///< in which it is written
  int64_t turned_heads = 0;  ///< > 0: the rows of so many heads go to the other rotary layout
  bool transposed = false;
  double added = 0;  ///< to every number
};

/// How the numbers of all moved tensors differ from the source's.
struct Rounding {
  int64_t tensors = 0;     ///< that differ
  double worst = 0;        ///< largest difference, relative to its tensor's largest number
  std::string worst_name;  ///< in the source
};

/// The dtype of a form that is no block. Throws Error for others.
engine::DType dense_dtype(GgufForm form);

/// The bytes of a tensor as it is written.
int64_t bytes_of(const TensorMove& move);

/// Whether rows of so many numbers are whole blocks of Q8_0.
bool fills_blocks(int64_t row);
/// Notes that so many matrices are in F16 where Q8_0 was asked for; nothing for none.
void note_partial_blocks(int64_t matrices, std::vector<std::string>& notes);

/// Every tensor of `source` but buffers, in the source's order, in the form that the options' type asks for.
/// In GGUF files vectors and position tables are f32; a matrix whose rows are not whole blocks of 32 is f16 where q8_0
/// is asked for. Throws Error for a tensor without a name in the target.
std::vector<TensorMove> plan_moves(const ModelFiles& source, const ConvertTarget& target,
                                   const ConvertOptions& options);

/// The tensor as it is written. Throws Error naming it where a number does not fit the form.
StoredTensor moved(const TensorStore& store, const TensorMove& move, bool to_interleaved, Rounding& rounding);

}  // namespace headroom::models
