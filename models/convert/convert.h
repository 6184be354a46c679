#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headroom::models {

/// What a converted model's matrices are written as.
enum class WeightType { f32, f16, bf16, q8_0 };
/// "f32", "q8_0", …
const char* name_of(WeightType type);
/// The type of that name. Throws Error that lists the known ones.
WeightType weight_type_named(const std::string& name);

struct ConvertOptions {
  /// Nullopt: nothing is rounded. A GGUF file then keeps every matrix as the source has it, a folder its one dtype
  /// where all matrices share one, else f32.
  std::optional<WeightType> type{};
  bool force = false;                                 ///< what has the name may be replaced
  uint64_t shard_bytes = 5'000'000'000;               ///< of a folder's safetensors files
  std::function<void(size_t, size_t)> progress = {};  ///< told after each tensor: how many are done, of how many
};

/// What a conversion did.
struct Conversion {
  std::string written;             ///< "GGUF, 272 tensors, Q8_0 and F32, 144.8 MB"
  std::vector<std::string> notes;  ///< what the new files say less exactly than the old, or leave out
  bool rounded = false;            ///< some numbers are not those of the source
  double logit_error = 0;          ///< largest difference between the two models' logits of a few tokens
  double largest_logit = 0;
};

/// Writes the model at `from` (a GGUF file or a folder of Hugging Face's) to `to`: a GGUF file where its name ends in
/// ".gguf", else a folder. Tensors are made and written one by one. Then the new files are read and compared with the
/// old: every string of a list must have the same token ids, and the logits of a few tokens must be equal but for the
/// order of sums (1e-5 of the largest) where nothing was rounded. Only then they take the name `to`; whatever happens
/// before, `to` stays what it was. Throws Error for what the other format cannot say, naming it, for a `to` that exists
/// without `force` or is neither a file nor a folder of model files, and for what the file system refuses.
Conversion convert_model(const std::filesystem::path& from, const std::filesystem::path& to,
                         const ConvertOptions& options = {});

}  // namespace headroom::models
