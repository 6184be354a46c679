#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace headroom::models {

/// Whose names a model's files use for its tensors.
/// `headroom`: our own, of compact folders.
/// `hugging_face_classifier`: hugging_face_llama's, but for the readout, which is "score" there and not "lm_head".
/// `hugging_face_gemma`: hugging_face_llama's with four norms a layer, whose weights are stored less 1.
enum class NameScheme {
  hugging_face_llama,
  hugging_face_classifier,
  hugging_face_gemma,
  hugging_face_gpt2,
  gguf,
  headroom
};

/// What a family's blocks are made of, and what its files call their sizes.
enum class Stack {
  llama,  ///< RMS norms, RoPE, a network gated by silu; "hidden_size", "num_attention_heads", …
  gemma,  ///< llama's with norms behind each branch too, gated by gelu_tanh, scaled embeddings, windows in a pattern
  gpt2,   ///< layer norms, learned positions, a bias on every projection; "n_embd", "n_head", …
};

/// Which projections of attention have a bias, as config.json says it.
enum class BiasRule {
  none,
  qkv,   ///< Q, K and V, always
  said,  ///< all four, where attention_bias is true
};

/// What config.json says of a sliding window.
enum class WindowRule {
  none,      ///< nothing
  always,    ///< sliding_window holds for every layer
  switched,  ///< sliding_window holds where use_sliding_window is true, and not for every layer
  pattern,   ///< sliding_window holds for all layers but every sixth, or as layer_types says
};

/// A class that reads tokenizers in transformers: what it takes where the files say nothing.
struct TokenizerClass {
  std::string_view name;        ///< without "Fast"
  std::string_view bos, eos;    ///< "" = none
  std::string_view splitter{};  ///< how it cuts the texts of vocab.json and merges.txt, as tokenizer.ggml.pre names it
};
/// The class of that name; Llama's for any other name.
const TokenizerClass& tokenizer_class(std::string_view name);

/// All that tells one family of trained models from the others in its files. The table is in family.cpp: a new family
/// is one row there.
struct Family {
  std::string_view name;         ///< model_type in config.json
  std::string_view gguf;         ///< general.architecture in GGUF files
  std::string_view transformer;  ///< the class in "architectures"
  Stack stack = Stack::llama;
  NameScheme tensors = NameScheme::hugging_face_llama;  ///< in folders
  BiasRule biases = BiasRule::none;
  bool ffn_bias = false;  ///< mlp_bias says whether the feed-forward network has biases
  bool qk_norm = false;   ///< every head's queries and keys are normalised
  WindowRule window = WindowRule::none;
  std::string_view with_window = name;       ///< the family whose config.json can say that such a model has a window
  std::string_view tokenizer{};              ///< transformers' class of it where no file names one
  bool owns_tokenizer = false;               ///< that class is taken whatever the files name
  bool divisors_in_gguf = false;             ///< readers of GGUF look for tensors of rotary divisors
  bool interleaved_in_gguf = false;          ///< rows of queries and keys lie in rotary pairs there (2i, 2i + 1)
  std::vector<std::string_view> harmless{};  ///< keys of config.json that change nothing that is computed

  /// Whether queries, keys and values are one matrix in the files of other software.
  bool is_fused() const { return tensors == NameScheme::hugging_face_gpt2; }
  /// Whether folders of this family may hold classifiers.
  bool holds_classifiers() const { return tensors == NameScheme::hugging_face_llama; }
};

/// The family of that name; null when there is none.
const Family* find_family(std::string_view name);
/// The same. Throws Error for an unknown name.
const Family& family_named(std::string_view name);
/// The general.architecture of llamas whose layers differ in heads and widths, or lack them (Llama-Nemotron).
inline constexpr std::string_view uneven_llama = "deci";
/// The first family whose GGUF files have that general.architecture; null when there is none.
const Family* find_gguf_family(std::string_view architecture);

/// "llama, mistral, …": every name, and every general.architecture.
std::string family_names();
std::string gguf_family_names();

}  // namespace headroom::models
