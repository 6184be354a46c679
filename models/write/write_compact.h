#pragma once
#include "models/checkpoints/model_edit.h"
#include "models/write/convert.h"

namespace headroom::models {

/// Writes the edited model as a compact folder (see models/checkpoints/compact_model.h). The base's matrices stay as
/// stored, in their blocks, and so do those of which an edit only picks rows; the edit's other matrices and factors are
/// f32, or of the options' type. Throws Error as write_model().
Conversion write_compact(const ModelFiles& base, const ModelEdit& edit, const std::filesystem::path& to,
                         const ConvertOptions& options);

/// The edit with its matrices as a compact folder of that type holds them; those of which rows are the base's, too.
ModelEdit rounded(ModelEdit edit, WeightType type);

/// The bytes of the tensors write_compact() would write with that type.
int64_t compact_bytes(const ModelFiles& base, const ModelEdit& edit, std::optional<WeightType> type);

}  // namespace headroom::models
