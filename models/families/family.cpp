#include "models/families/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/error.h"

namespace headroom::models {
namespace {

const std::array table{
    Family{.name = "llama",
           .gguf = "llama",
           .transformer = "LlamaForCausalLM",
           .biases = BiasRule::said,
           .ffn_bias = true,
           .with_window = "mistral",
           .divisors_in_gguf = true,
           .interleaved_in_gguf = true},
    Family{.name = "mistral",
           .gguf = "llama",
           .transformer = "MistralForCausalLM",
           .window = WindowRule::always,
           .tokenizer = "TokenizersBackend",
           .owns_tokenizer = true,
           .divisors_in_gguf = true,
           .interleaved_in_gguf = true},
    Family{.name = "qwen2",
           .gguf = "qwen2",
           .transformer = "Qwen2ForCausalLM",
           .biases = BiasRule::qkv,
           .window = WindowRule::switched,
           .tokenizer = "Qwen2Tokenizer",
           .owns_tokenizer = true},
    Family{.name = "qwen3",
           .gguf = "qwen3",
           .transformer = "Qwen3ForCausalLM",
           .biases = BiasRule::said,
           .qk_norm = true,
           .window = WindowRule::switched,
           .tokenizer = "Qwen2Tokenizer"},
    Family{.name = "gemma3_text",
           .gguf = "gemma3",
           .transformer = "Gemma3ForCausalLM",
           .stack = Stack::gemma,
           .tensors = NameScheme::hugging_face_gemma,
           .biases = BiasRule::said,
           .qk_norm = true,
           .window = WindowRule::pattern,
           .tokenizer = "GemmaTokenizer",
           .harmless = {"cache_implementation"}},
    // The order and precision of reorder_and_upcast_attn change what rounding does, and no more; only the models with
    // two heads use summary_*.
    Family{.name = "gpt2",
           .gguf = "gpt2",
           .transformer = "GPT2LMHeadModel",
           .stack = Stack::gpt2,
           .tensors = NameScheme::hugging_face_gpt2,
           .tokenizer = "GPT2Tokenizer",
           .harmless = {"attn_pdrop", "embd_pdrop", "predict_special_tokens", "reorder_and_upcast_attn", "resid_pdrop",
                        "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
                        "summary_use_proj"}},
};

constexpr std::array tokenizer_classes{TokenizerClass{"Qwen2Tokenizer", "", "<|endoftext|>", "qwen2"},
                                       TokenizerClass{"GPT2Tokenizer", "<|endoftext|>", "<|endoftext|>", "gpt-2"},
                                       TokenizerClass{"GemmaTokenizer", "<bos>", "<eos>"},
                                       TokenizerClass{"LlamaTokenizer", "<s>", "</s>"}};

const Family* find(std::string_view Family::*key, std::string_view wanted) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Family& f) { return f.*key == wanted; });
  return found == table.end() ? nullptr : &*found;
}

/// Each once, in the table's order.
std::string listed(std::string_view Family::*key) {
  std::vector<std::string_view> names;
  for (const Family& family : table)
    if (std::find(names.begin(), names.end(), family.*key) == names.end()) names.push_back(family.*key);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

const TokenizerClass& tokenizer_class(std::string_view name) {
  const auto found = std::find_if(tokenizer_classes.begin(), tokenizer_classes.end() - 1,
                                  [&](const TokenizerClass& known) { return known.name == name; });
  return *found;
}

const Family* find_family(std::string_view name) { return find(&Family::name, name); }

const Family& family_named(std::string_view name) {
  const Family* found = find_family(name);
  require(found != nullptr, "{} is no family of models ({} are)", name, family_names());
  return *found;
}

const Family* find_gguf_family(std::string_view architecture) {
  return find(&Family::gguf, architecture == uneven_llama ? "llama" : architecture);
}

std::string family_names() { return listed(&Family::name); }
std::string gguf_family_names() { return fmt::format("{}, {}", listed(&Family::gguf), uneven_llama); }

}  // namespace headroom::models
