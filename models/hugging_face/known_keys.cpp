#include "models/hugging_face/known_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>

#include "engine/excerpt.h"
#include "models/files/json.h"

namespace headroom::models {
namespace {

using nlohmann::json;

/// Keys that any family may have: what transformers' PretrainedConfig writes, in versions 4 and 5, and what others add.
/// Keys of training (dropout), of storage (dtype), of how text is generated, of labels and of the tokenizer.
const std::set<std::string>& harmless_in_all() {
  static const std::set<std::string> known = [] {
    std::istringstream words(
        "_attn_implementation _attn_implementation_autoset _commit_hash _flash_attn_2_enabled _name_or_path "
        "_num_labels attention_dropout attn_implementation bad_words_ids begin_suppress_tokens bos_token_id "
        "chunk_size_feed_forward classifier_dropout cls_token_id decoder_start_token_id diversity_penalty do_sample "
        "dtype early_stopping encoder_no_repeat_ngram_size eos_token_id exponential_decay_length_penalty "
        "finetuning_task forced_bos_token_id forced_eos_token_id gradient_checkpointing id2label initializer_range "
        "is_decoder is_llama_config label2id length_penalty mask_token_id max_length max_new_tokens "
        "max_sequence_length min_length neftune_noise_alpha no_repeat_ngram_size num_beam_groups num_beams "
        "num_labels num_return_sequences output_attentions output_hidden_states output_past output_scores "
        "pad_token_id prefix pretraining_tp problem_type remove_invalid_values repetition_penalty return_dict "
        "return_dict_in_generate sep_token_id suppress_tokens task_specific_params temperature tf_legacy_loss "
        "tokenizer_class top_k top_p torch_dtype torchscript transformers.js_config transformers_version typical_p "
        "unk_token_id unsloth_fixed unsloth_version use_bfloat16 use_cache xla_device");
    return std::set<std::string>(std::istream_iterator<std::string>(words), {});
  }();
  return known;
}

/// A key that says that a model is computed otherwise, unless it has that value: by the code that it came with, as few
/// of these are read by transformers. Some stand in rope_parameters.
struct Change {
  json harmless;
  const char* what;
};
const std::map<std::string_view, Change>& changes() {
  static const json no = false, one = 1, zero = 0, none;
  static const std::map<std::string_view, Change> known{
      {"add_cross_attention", {no, "attention to an encoder"}},
      {"alibi", {no, "ALiBi's slopes"}},
      {"alpha", {none, "a base that grows by alpha"}},
      {"attention_chunk_size", {none, "attention in chunks"}},
      {"attention_multiplier", {none, "another scale of the scores"}},
      {"attention_out_multiplier", {one, "a scale of attention's output"}},
      {"attn_logit_softcapping", {none, "a cap on the scores"}},
      {"attn_temperature_tuning", {no, "a temperature that grows with the position"}},
      {"clip_qkv", {none, "clipped queries, keys and values"}},
      {"dim_model_base", {none, "a scale of the logits by the width"}},
      {"embedding_multiplier", {one, "a scale of the embedding"}},
      {"final_logit_softcapping", {none, "a cap on the logits"}},
      {"full_attention", {none, "positions of one kind of layers"}},
      {"is_encoder_decoder", {no, "an encoder"}},
      {"key_multiplier", {one, "a scale of the keys"}},
      {"lm_head_multiplier", {one, "a scale of the logits"}},
      {"logit_scale", {one, "a scale of the logits"}},
      {"logits_scaling", {one, "a scale of the logits"}},
      {"moe_intermediate_size", {none, "a mixture of experts"}},
      {"mrope_section", {none, "positions in several dimensions"}},
      {"mup_embeddings_multiplier", {one, "a scale of the embedding"}},
      {"mup_use_scaling", {no, "scales of muP"}},
      {"mup_width_multiplier", {one, "a scale of the logits by the width"}},
      {"n_routed_experts", {zero, "a mixture of experts"}},
      {"no_rope_layers", {none, "layers without positions"}},
      {"num_experts", {zero, "a mixture of experts"}},
      {"num_experts_per_tok", {zero, "a mixture of experts"}},
      {"num_local_experts", {zero, "a mixture of experts"}},
      {"num_nextn_predict_layers", {zero, "layers that predict further tokens"}},
      {"partial_rotary_factor", {one, "heads that turn in part"}},
      {"pruned_heads", {json::object(), "heads that were taken out"}},
      {"qk_layernorm", {no, "norms of queries and keys"}},
      {"qk_norm", {no, "norms of queries and keys"}},
      {"residual_multiplier", {one, "a scale of what a branch adds"}},
      {"rope_interleaved", {no, "rotary pairs of neighbours"}},
      {"scale_attn_by_inverse_layer_idx", {no, "a scale of the scores by layer"}},
      {"scale_attn_weights", {true, "scores without a scale"}},
      {"scale_depth", {none, "a scale of what a branch adds"}},
      {"scale_emb", {one, "a scale of the embedding"}},
      {"sliding_attention", {none, "positions of one kind of layers"}},
      {"tie_encoder_decoder", {no, "an encoder"}},
      {"use_alibi", {no, "ALiBi's slopes"}},
      {"use_attention_sinks", {no, "attention sinks"}},
      {"use_bidirectional_attention", {no, "attention to later positions"}},
      {"use_mrope", {no, "positions in several dimensions"}},
      {"use_mup", {no, "scales of muP"}},
      {"use_parallel_residual", {no, "branches side by side"}},
      {"use_qk_norm", {no, "norms of queries and keys"}}};
  return known;
}

/// True if a value says that something is off.
bool is_off(const json& value) {
  return value.is_null() || value == json(false) || value == json(0) ||
         ((value.is_string() || value.is_structured()) && value.empty());
}

/// Who made the numbers of a quantised folder, and from how many bits: "gptq, 4 bits".
std::string quantisation_of(const json& value) {
  if (!value.is_object()) return shown(value);
  const json &method = member(value, "quant_method"), &bits = member(value, "bits");
  std::string name = method.is_string() ? excerpt(method.get<std::string>()) : "";
  if (name.empty()) name = value.contains("load_in_4bit") ? "bitsandbytes" : value.contains("group_size") ? "MLX" : "";
  if (!bits.is_number_integer()) return name.empty() ? "by no named method" : name;
  return fmt::format("{}{}{} bits", name, name.empty() ? "" : ", ", shown(bits));
}

}  // namespace

UnreadKeys judged_keys(const std::map<std::string, json>& unread, const std::vector<std::string_view>& harmless) {
  UnreadKeys keys;
  for (const auto& [key, value] : unread) {
    const auto change = changes().find(key);
    const bool is_known = change != changes().end();
    const bool is_harmless = harmless_in_all().contains(key) || std::ranges::find(harmless, key) != harmless.end();
    if (is_harmless || (is_known && value == change->second.harmless)) continue;
    if (is_off(value) && (!is_known || is_off(change->second.harmless))) continue;
    if (key == "quantization_config" || key == "quantization" || key == "compression_config")
      keys.refused.push_back(
          fmt::format("{}: the weights are quantised ({}), and folders are read unquantised: fetch the model's folder "
                      "before quantisation, or a GGUF file of it",
                      key, quantisation_of(value)));
    else if (!is_known) keys.ignored.push_back(key);
    else
      keys.refused.push_back(fmt::format("{}: {}: {} is not computed here: run it with the software that it came with",
                                         key, shown(value), change->second.what));
  }
  return keys;
}

std::string ignored_text(const std::string& source, const UnreadKeys& keys, const char* reader) {
  constexpr size_t most = 5;  // are named
  std::string names;
  for (size_t i = 0; i < std::min(most, keys.ignored.size()); ++i)
    names += (i > 0 ? ", " : "") + quoted_name(keys.ignored[i]);
  if (keys.ignored.size() > most) names += fmt::format(" and {} more", keys.ignored.size() - most);
  return fmt::format("{}: {}: not read; {} does not read {} either", source, names, reader,
                     keys.ignored.size() == 1 ? "it" : "them");
}

}  // namespace headroom::models
