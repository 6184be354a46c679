#include "models/hugging_face/known_keys.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "models/files/json.h"

namespace headroom::models {
namespace {

using nlohmann::json;
using Unread = std::map<std::string, json>;

/// What is known of keys that are not read.
struct KnownKeys {
  std::set<std::string_view> harmless;           ///< whatever they say
  std::map<std::string_view, json> harmless_at;  ///< at this value alone
};

/// Keys that any family may have: what transformers' PretrainedConfig writes, in versions 4 and 5, and what others add.
/// Keys of training (dropout), of storage (dtype), of how text is generated, of labels and of the tokenizer.
const KnownKeys& known_of_all() {
  static const KnownKeys known{{"_attn_implementation",
                                "_attn_implementation_autoset",
                                "_commit_hash",
                                "_flash_attn_2_enabled",
                                "_name_or_path",
                                "_num_labels",
                                "attention_dropout",
                                "attn_implementation",
                                "bad_words_ids",
                                "begin_suppress_tokens",
                                "bos_token_id",
                                "chunk_size_feed_forward",
                                "classifier_dropout",
                                "cls_token_id",
                                "decoder_start_token_id",
                                "diversity_penalty",
                                "do_sample",
                                "dtype",
                                "early_stopping",
                                "encoder_no_repeat_ngram_size",
                                "eos_token_id",
                                "exponential_decay_length_penalty",
                                "finetuning_task",
                                "forced_bos_token_id",
                                "forced_eos_token_id",
                                "gradient_checkpointing",
                                "id2label",
                                "initializer_range",
                                "is_decoder",
                                "is_llama_config",
                                "label2id",
                                "length_penalty",
                                "mask_token_id",
                                "max_length",
                                "max_new_tokens",
                                "max_sequence_length",
                                "min_length",
                                "neftune_noise_alpha",
                                "no_repeat_ngram_size",
                                "num_beam_groups",
                                "num_beams",
                                "num_labels",
                                "num_return_sequences",
                                "output_attentions",
                                "output_hidden_states",
                                "output_past",
                                "output_scores",
                                "pad_token_id",
                                "prefix",
                                "pretraining_tp",
                                "problem_type",
                                "remove_invalid_values",
                                "repetition_penalty",
                                "return_dict",
                                "return_dict_in_generate",
                                "sep_token_id",
                                "suppress_tokens",
                                "task_specific_params",
                                "temperature",
                                "tf_legacy_loss",
                                "tokenizer_class",
                                "top_k",
                                "top_p",
                                "torch_dtype",
                                "torchscript",
                                "transformers.js_config",
                                "transformers_version",
                                "typical_p",
                                "unk_token_id",
                                "unsloth_fixed",
                                "unsloth_version",
                                "use_bfloat16",
                                "use_cache",
                                "xla_device"},
                               {{"add_cross_attention", false},
                                {"alibi", false},
                                {"embedding_multiplier", 1},
                                {"is_encoder_decoder", false},
                                {"logit_scale", 1},
                                {"logits_scaling", 1},
                                {"num_experts", 0},
                                {"num_local_experts", 0},
                                {"partial_rotary_factor", 1},
                                {"pruned_heads", json::object()},
                                {"qk_layernorm", false},
                                {"residual_multiplier", 1},
                                {"rope_interleaved", false},
                                {"tie_encoder_decoder", false},
                                {"use_mrope", false},
                                {"use_qk_norm", false}}};
  return known;
}

/// The keys that one family adds.
KnownKeys known_of(const Family& family) {
  return {{family.harmless.begin(), family.harmless.end()}, {family.harmless_at.begin(), family.harmless_at.end()}};
}

/// Keys that none of the tables has, in one line however many they are.
std::string unknown(const std::vector<std::string>& keys) {
  constexpr size_t most = 5;
  std::string names;
  for (size_t i = 0; i < keys.size() && i < most; ++i) names += (i > 0 ? ", " : "") + quoted_name(keys[i]);
  if (keys.size() > most) names += fmt::format(" and {} more", keys.size() - most);
  return fmt::format("{}: not known here; take {} out of config.json if {} nothing that the model computes", names,
                     keys.size() == 1 ? "it" : "them", keys.size() == 1 ? "it changes" : "they change");
}

std::vector<std::string> doubtful(const Unread& unread, const std::vector<const KnownKeys*>& tables) {
  std::vector<std::string> reasons, unknown_keys;
  for (const auto& [key, value] : unread) {
    bool is_harmless = false;
    const json* wanted = nullptr;
    for (const KnownKeys* table : tables) {
      is_harmless = is_harmless || table->harmless.contains(key);
      if (const auto at = table->harmless_at.find(key); at != table->harmless_at.end()) wanted = &at->second;
    }
    if (is_harmless || (wanted && value == *wanted)) continue;
    if (!wanted) unknown_keys.push_back(key);
    else reasons.push_back(fmt::format("{}: {}, only {} is computed", key, shown(value), wanted->dump()));
  }
  if (!unknown_keys.empty()) reasons.push_back(unknown(unknown_keys));
  return reasons;
}

}  // namespace

std::vector<std::string> doubtful_keys(const Unread& unread, const Family& family) {
  const KnownKeys own = known_of(family);
  return doubtful(unread, {&known_of_all(), &own});
}

std::vector<std::string> doubtful_rope_keys(const Unread& unread) {
  // The other kinds alone use these two; "type" is an older name of rope_type.
  static const KnownKeys known{{"original_max_position_embeddings", "type"},
                               {{"attention_factor", 1}, {"partial_rotary_factor", 1}, {"factor", 1}}};
  return doubtful(unread, {&known});
}

}  // namespace headroom::models
