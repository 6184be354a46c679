#pragma once
#include <cstdint>
#include <filesystem>

#include "models/adapters/adapter.h"

namespace headroom::models {

/// Reads an adapter of the base: a folder as PEFT writes it (adapter_config.json, adapter_model.safetensors), or a GGUF
/// file as llama.cpp's convert_lora_to_gguf.py does. Throws Error naming file and tensor for factors that do not fit
/// the base, and file and key for whatever else the adapter is to do: DoRA, ranks of its own for some matrices, biases,
/// whole modules.
Adapter read_adapter(const std::filesystem::path& path, const ModelFiles& base);

/// Writes the adapter in f32: a GGUF file if the name ends in ".gguf", else a folder as PEFT has it. Reads it back and
/// compares before `to` appears. Returns its bytes. Throws Error as check_target(), and for file-system errors.
uint64_t write_adapter(const std::filesystem::path& to, const Adapter& adapter, const ModelFiles& base, bool force);

/// The form of an adapter's files, and how it relates to the base's tensors.
struct AdapterForm {
  NameScheme scheme;                         ///< of the matrices' names
  bool rope_interleaved = false;             ///< B's rows of queries and keys are ordered as in GGUF's llama
  const char *prefix, *suffix_a, *suffix_b;  ///< around a matrix's name: before it, and after it without ".weight"
};
/// The form of a folder, or of a GGUF file, for the base's family.
AdapterForm adapter_form(const ModelFiles& base, bool is_gguf);
/// The general.architecture of the base's GGUF files.
std::string adapter_architecture(const ModelFiles& base);
/// B (out, rank) of our matrix `name` between the base's row order and the form's; `to_form` says which way.
Tensor rows_in(const AdapterForm& form, const ModelFiles& base, const std::string& name, const Tensor& b, bool to_form);

}  // namespace headroom::models
