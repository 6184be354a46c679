#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/tensor.h"

namespace headroom::models {

class ModelFiles;
class Transformer;

/// The form of a converted model's matrices.
enum class WeightType { f32, f16, bf16, q8_0, q6_k, q5_k, q4_k };
/// "f32", "q8_0", …
const char* name_of(WeightType type);
/// The type with that name. Throws Error that lists the known ones.
WeightType weight_type_named(const std::string& name);

/// Throws Error if a file with that name cannot hold weights of that type: only GGUF has blocks.
void check_type(const std::filesystem::path& to, std::optional<WeightType> type);

/// The result of a conversion.
struct Conversion {
  std::string written;             ///< "272 tensors (61 in F32, 211 in Q8_0)"
  std::vector<std::string> notes;  ///< losses: what the new files say less exactly, or leave out
  bool rounded = false;            ///< some numbers differ from the source's
  uint64_t bytes = 0;              ///< of the new files, counted as in model_bytes()
  double logit_error = 0;          ///< largest difference between the two models' logits of a few tokens
  double largest_logit = 0;
};

/// How much the columns of a source's matrix (its inputs) matter, by its name there: the mean square of each, f32 or
/// f64 (cols), cols being those of the matrix as written. Undefined: unknown.
using ImportanceOf = std::function<engine::Tensor(const std::string&)>;

struct ConvertOptions {
  /// Nullopt: rounds nothing. A GGUF file then keeps every matrix as stored; a folder keeps its single dtype if all
  /// matrices share one, else f32.
  std::optional<WeightType> type{};
  ImportanceOf importance = {};                       ///< for matrices that become blocks of 4 to 6 bits; empty: none
  bool force = false;                                 ///< an existing `to` may be replaced
  uint64_t shard_bytes = 5'000'000'000;               ///< of a folder's safetensors files
  std::function<void(size_t, size_t)> progress = {};  ///< called after each tensor with (done, total)
  /// The model whose logits the written one must match; none: the source.
  std::function<std::unique_ptr<Transformer>()> reference = {};
  /// The source's tensors that `type` applies to; empty: all. A folder has one dtype and uses it for all.
  std::function<bool(const std::string&)> is_retyped = {};
  /// Makes the model card's text: README.md in a folder, NAME.md next to NAME.gguf; "" = none. Called once the new
  /// files are complete and compared.
  std::function<std::string(const Conversion&)> card = {};
};

/// Converts the model at `from` (a GGUF file or a Hugging Face folder) to `to`: a GGUF file if the name ends in
/// ".gguf", else a folder. Makes and writes tensors one by one, then reads the new files back and compares them: a list
/// of strings must give the same token ids, and the logits of a few tokens must be equal but for the order of sums
/// (1e-4 of their norm) if nothing was rounded. Only then does it put the files at `to`; until then `to` stays
/// unchanged. Throws Error naming anything the other format cannot express, for a `to` that exists without `force` or
/// is neither a file nor a folder of model files, and for file-system errors.
Conversion convert_model(const std::filesystem::path& from, const std::filesystem::path& to,
                         const ConvertOptions& options = {});
/// The same for an open model whose layers all have one shape.
Conversion write_model(const ModelFiles& source, const std::filesystem::path& to, const ConvertOptions& options = {});

/// The bytes of the tensors write_model() would write. Throws Error as check_type().
int64_t tensor_bytes(const ModelFiles& source, const std::filesystem::path& to, const ConvertOptions& options = {});

/// A model's bytes on disk: its GGUF file, or the weights, config and tokenizer in its folder.
uint64_t model_bytes(const std::filesystem::path& path);

/// Throws Error unless a model may be written to `to`: as write_model() does for a `to` that exists without `force`,
/// that is not a model's file, or that is the model at `from`; and for a parent folder that is missing or not writable.
/// Leaves nothing behind.
void check_target(const std::filesystem::path& from, const std::filesystem::path& to, bool force);
/// Throws Error if a model card already lies next to it and `force` is false.
void check_card(const std::filesystem::path& to, bool force);

}  // namespace headroom::models
