#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace headroom::models {

/// The naming scheme of a model file's tensors.
/// `headroom`: our own, in compact folders.
/// `hugging_face_classifier`: hugging_face_llama's, but with the readout named "score" instead of "lm_head".
/// `hugging_face_gemma`: hugging_face_llama's with four norms per layer, whose weights are stored minus 1.
enum class NameScheme {
  hugging_face_llama,
  hugging_face_classifier,
  hugging_face_gemma,
  hugging_face_gpt2,
  gguf,
  headroom
};

/// The kind of a family's blocks, and its files' names for their sizes.
enum class Stack {
  llama,  ///< RMS norms, RoPE, a network gated by silu; "hidden_size", "num_attention_heads", …
  gemma,  ///< llama's, plus norms after each branch, gelu_tanh gates, scaled embeddings, and a window pattern
  gpt2,   ///< layer norms, learned positions, a bias on every projection; "n_embd", "n_head", …
};

/// The attention projections with a bias, according to config.json.
enum class BiasRule {
  none,
  qkv,   ///< Q, K and V, always
  said,  ///< all four, if attention_bias is true
};

/// How config.json describes a sliding window.
enum class WindowRule {
  none,      ///< it does not
  always,    ///< sliding_window applies to every layer
  switched,  ///< sliding_window applies if use_sliding_window is true, and not to every layer
  pattern,   ///< sliding_window applies to all but every sixth layer, or as layer_types says
};

/// A tokenizer class of transformers, with its defaults.
struct TokenizerClass {
  std::string_view name;        ///< without "Fast"
  std::string_view bos, eos;    ///< "" = none
  std::string_view splitter{};  ///< how it splits texts with vocab.json and merges.txt, as named in tokenizer.ggml.pre
};
/// The class with that name; Llama's for any other name.
const TokenizerClass& tokenizer_class(std::string_view name);

/// Everything in the files that distinguishes one family of trained models. To add a family, add a row to the table in
/// family.cpp.
struct Family {
  std::string_view name;         ///< model_type in config.json
  std::string_view gguf;         ///< general.architecture in GGUF files
  std::string_view transformer;  ///< the class in "architectures"
  Stack stack = Stack::llama;
  NameScheme tensors = NameScheme::hugging_face_llama;  ///< in folders
  BiasRule biases = BiasRule::none;
  bool ffn_bias = false;  ///< mlp_bias decides if the feed-forward network has biases
  bool qk_norm = false;   ///< each head's queries and keys are normalised
  WindowRule window = WindowRule::none;
  std::string_view with_window = name;       ///< the family whose config.json describes such a model with a window
  std::string_view tokenizer{};              ///< its class in transformers, if no file names one
  bool owns_tokenizer = false;               ///< use that class whatever the files name
  bool divisors_in_gguf = false;             ///< GGUF readers look for tensors of rotary divisors
  bool interleaved_in_gguf = false;          ///< rows of queries and keys are in rotary pairs (2i, 2i + 1) there
  std::vector<std::string_view> harmless{};  ///< config.json keys that do not change the computation

  /// True if other software's files hold queries, keys and values in one matrix.
  bool is_fused() const { return tensors == NameScheme::hugging_face_gpt2; }
  /// True if folders of this family may hold classifiers.
  bool holds_classifiers() const { return tensors == NameScheme::hugging_face_llama; }
};

/// The family with that name; null if there is none.
const Family* find_family(std::string_view name);
/// The same. Throws Error for an unknown name.
const Family& family_named(std::string_view name);
/// The general.architecture of llamas whose layers differ in heads and widths, or have none (Llama-Nemotron).
inline constexpr std::string_view uneven_llama = "deci";
/// The first family with that general.architecture in its GGUF files; null if there is none.
const Family* find_gguf_family(std::string_view architecture);

/// "llama, mistral, …": every name and every general.architecture.
std::string family_names();
std::string gguf_family_names();

}  // namespace headroom::models
