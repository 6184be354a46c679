#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headroom::models {

class ModelFiles;
class Transformer;

/// What a converted model's matrices are written as.
enum class WeightType { f32, f16, bf16, q8_0 };
/// "f32", "q8_0", …
const char* name_of(WeightType type);
/// The type of that name. Throws Error that lists the known ones.
WeightType weight_type_named(const std::string& name);

/// Throws Error where no file of that name in another program's format holds weights of that type: q8_0 is GGUF's.
void check_type(const std::filesystem::path& to, std::optional<WeightType> type);

/// What a conversion did.
struct Conversion {
  std::string written;             ///< "272 tensors (61 in F32, 211 in Q8_0)"
  std::vector<std::string> notes;  ///< what the new files say less exactly than the old, or leave out
  bool rounded = false;            ///< some numbers are not those of the source
  uint64_t bytes = 0;              ///< of the new files, as model_bytes() counts them
  double logit_error = 0;          ///< largest difference between the two models' logits of a few tokens
  double largest_logit = 0;
};

struct ConvertOptions {
  /// Nullopt: nothing is rounded. A GGUF file then keeps every matrix as the source has it, a folder its one dtype
  /// where all matrices share one, else f32.
  std::optional<WeightType> type{};
  bool force = false;                                 ///< what has the name may be replaced
  uint64_t shard_bytes = 5'000'000'000;               ///< of a folder's safetensors files
  std::function<void(size_t, size_t)> progress = {};  ///< told after each tensor: how many are done, of how many
  /// What the written model's logits must equal; none: those of the source itself.
  std::function<std::unique_ptr<Transformer>()> reference = {};
  /// Which of the source's tensors `type` is for; empty: all. A folder, which has one dtype, takes it for all.
  std::function<bool(const std::string&)> is_retyped = {};
  /// Text of the model card that lies beside the weights: README.md in a folder, NAME.md beside NAME.gguf; "" = none.
  /// Called when the new files are whole and compared.
  std::function<std::string(const Conversion&)> card = {};
};

/// Writes the model at `from` (a GGUF file or a Hugging Face folder) to `to`: a GGUF file where its name ends in
/// ".gguf", else a folder. Tensors are made and written one by one. Then the new files are read and compared with the
/// old: every string of a list must have the same token ids, and the logits of a few tokens must be equal but for the
/// order of sums (1e-4 of their norm) where nothing was rounded. Only then they take the name `to`; whatever happens
/// before, `to` stays what it was. Throws Error for what the other format cannot say, naming it, for a `to` that exists
/// without `force` or is neither a file nor a folder of model files, and for what the file system refuses.
Conversion convert_model(const std::filesystem::path& from, const std::filesystem::path& to,
                         const ConvertOptions& options = {});
/// The same of a model that is open, and whose layers are all of one shape.
Conversion write_model(const ModelFiles& source, const std::filesystem::path& to, const ConvertOptions& options = {});

/// The bytes of the tensors that write_model() would write. Throws Error as check_type().
int64_t tensor_bytes(const ModelFiles& source, const std::filesystem::path& to, const ConvertOptions& options = {});

/// The bytes of a model on disk: of its GGUF file, or of weights, config and tokenizer in its folder.
uint64_t model_bytes(const std::filesystem::path& path);

/// Whether a model may be written under that name: throws Error as write_model() does for a `to` that exists without
/// `force`, that is no file of a model's, or that is the model at `from` itself; and for a folder of `to` that is not
/// there, or that cannot be written to. Leaves nothing behind.
void check_target(const std::filesystem::path& from, const std::filesystem::path& to, bool force);
/// Whether a model card may lie beside it: throws Error for one that is there without `force`.
void check_card(const std::filesystem::path& to, bool force);

}  // namespace headroom::models
