#pragma once
#include "models/checkpoints/description.h"
#include "models/checkpoints/safetensors_folder.h"

namespace headroom::models {

/// Opens the tensors of a folder by the names that its family's class has in transformers: what wraps a model
/// (torch.compile's "_orig_mod.", "module.", whatever else stands before every name) is removed, and the "model." of a
/// base model's files is put before theirs. A head beside an embedding that config.json calls tied is left out where it
/// is the same; where it is not, the head counts and `model` is not tied, as transformers 5 has it. Warnings of `model`
/// say what was removed and what is not read; not_run, that an untied model has no head.
std::shared_ptr<const SafetensorsFolder> folder_tensors(const std::filesystem::path& folder, ModelDescription& model);

}  // namespace headroom::models
