#include "experiments/program/answer/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "models/files/utf8.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::json;

/// Bytes that are not UTF-8, as in half a character, become U+FFFD.
std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

const char* finish_reason(models::Ending ending) {
  return ending == models::Ending::end_token || ending == models::Ending::stop_string ? "stop" : "length";
}

int64_t characters_in(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](unsigned char byte) { return (byte & 0xC0) != 0x80; });
}

std::string event(const Json& json) { return "data: " + dumped(json) + "\n\n"; }

}  // namespace

std::string error_json(int status, const std::string& why, const std::string& param) {
  return dumped({{"error",
                  {{"message", why},
                   {"type", status < 500 ? "invalid_request_error" : "server_error"},
                   {"param", param.empty() ? Json() : Json(param)},
                   {"code", status}}}});
}

Response::Response(const CompletionRequest& request, std::string model, uint64_t number,
                   const models::Tokenizer& tokenizer)
    : is_chat_(request.is_chat),
      echoes_(request.echoes),
      scores_(request.scores),
      wants_usage_(request.wants_usage),
      id_(fmt::format("{}-{}", request.is_chat ? "chatcmpl" : "cmpl", number)),
      model_(std::move(model)),
      created_(std::time(nullptr)),
      seed_(static_cast<int64_t>(request.seed)),
      tokenizer_(tokenizer),
      sent_(request.orders.size()) {
  if (echoes_)
    for (const TextOrder& order : request.orders) prompts_.push_back(order.prompt);
}

Json Response::head(const char* object) const {
  return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}, {"seed", seed_}};
}

/// A token's text: half a character as "bytes:\xe2\x82", a padding id of the model's matrix as "".
std::string Response::text_of(int32_t token) const {
  if (token >= tokenizer_.vocab_size()) return "";
  const std::string& bytes = tokenizer_.token_bytes(token);
  if (models::valid_utf8(bytes) == bytes.size()) return bytes;
  std::string text = "bytes:";
  for (const char byte : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string Response::prompt_text(size_t index) const { return echoes_ ? tokenizer_.decode(prompts_[index]) : ""; }

/// The parallel lists of /v1/completions, from what was sent before.
Json Response::scores_of(const TextOutput& output, size_t index, const Sent& after) const {
  Json tokens = Json::array(), log_p = Json::array(), top = Json::array(), offsets = Json::array();
  int64_t offset = 0;
  const auto add = [&](int32_t token, const tasks::TokenScore* score, bool is_sent) {
    const std::string text = text_of(token);
    if (!is_sent) {
      tokens.push_back(text);
      offsets.push_back(offset);
      log_p.push_back(score == nullptr ? Json() : Json(score->log_p));
      Json likeliest;
      // Two tokens may have one text: the likelier counts. The token itself is always there, as the protocol has it.
      if (score != nullptr) {
        for (const auto& [id, p] : score->top) likeliest.emplace(text_of(id), p);
        likeliest.emplace(text, score->log_p);
      }
      top.push_back(std::move(likeliest));
    }
    offset += characters_in(text);
  };
  if (echoes_) {
    add(prompts_[index].front(), nullptr, after.has_begun);
    for (const tasks::TokenScore& score : output.prompt_scores) add(score.token, &score, after.has_begun);
  }
  for (size_t i = 0; i < output.scores.size(); ++i) add(output.scores[i].token, &output.scores[i], i < after.scores);
  return {{"tokens", tokens}, {"token_logprobs", log_p}, {"top_logprobs", top}, {"text_offset", offsets}};
}

Json Response::chat_scores_of(const TextOutput& output, const Sent& after) const {
  const auto one = [&](int32_t token, double log_p) -> Json {
    Json bytes = Json::array();
    if (token < tokenizer_.vocab_size())
      for (const char byte : tokenizer_.token_bytes(token)) bytes.push_back(static_cast<unsigned char>(byte));
    return {{"token", text_of(token)}, {"logprob", log_p}, {"bytes", bytes}};
  };
  Json content = Json::array();
  for (size_t i = after.scores; i < output.scores.size(); ++i) {
    Json own = one(output.scores[i].token, output.scores[i].log_p);
    own["top_logprobs"] = Json::array();
    for (const auto& [id, p] : output.scores[i].top) own["top_logprobs"].push_back(one(id, p));
    content.push_back(std::move(own));
  }
  return {{"content", content}};
}

/// One text's answer, or the part of it that was not sent yet.
Json Response::choice(const TextOutput& output, size_t index, const Sent& after, bool is_part) const {
  std::string text = output.text.substr(after.text);
  if (!after.has_begun) text = prompt_text(index) + text;
  Json out = {{"index", index},
              {"finish_reason", output.is_done ? Json(finish_reason(output.ending)) : Json()},
              {"logprobs", !scores_   ? Json()
                           : is_chat_ ? chat_scores_of(output, after)
                                      : scores_of(output, index, after)}};
  if (!is_chat_) out["text"] = text;
  else if (!is_part) out["message"] = {{"role", "assistant"}, {"content", text}};
  else if (after.has_begun) out["delta"] = {{"content", text}};
  else out["delta"] = {{"role", "assistant"}, {"content", text}};
  return out;
}

Json Response::usage(const TextBatch& batch) const {
  int64_t prompts = 0, made = 0;
  batch.read([&](const TextOutput& output, size_t) {
    prompts += output.prompt_tokens;
    made += output.new_tokens;
  });
  return {{"prompt_tokens", prompts}, {"completion_tokens", made}, {"total_tokens", prompts + made}};
}

std::string Response::whole(const TextBatch& batch) const {
  Json out = head(is_chat_ ? "chat.completion" : "text_completion");
  batch.read([&](const TextOutput& output, size_t i) { out["choices"].push_back(choice(output, i, {}, false)); });
  out["usage"] = usage(batch);
  return dumped(out);
}

std::optional<std::string> Response::events(const TextBatch& batch) {
  if (has_ended_) return std::nullopt;
  std::string text;
  bool all_done = true;
  const char* const object = is_chat_ ? "chat.completion.chunk" : "text_completion";
  batch.read([&](const TextOutput& output, size_t i) {
    Sent& sent = sent_[i];
    all_done = all_done && output.is_done;
    const bool is_scored = !echoes_ || !scores_ || output.is_done || output.new_tokens > 0;
    const bool is_new = output.text.size() > sent.text || output.scores.size() > sent.scores || output.is_done;
    if (sent.is_done || !is_new || !is_scored) return;
    Json chunk = head(object);
    chunk["choices"] = Json::array({choice(output, i, sent, true)});
    text += event(chunk);
    sent = {output.text.size(), output.scores.size(), true, output.is_done};
  });
  if (!all_done) return text;
  if (wants_usage_) {
    Json chunk = head(object);
    chunk["choices"] = Json::array();
    chunk["usage"] = usage(batch);
    text += event(chunk);
  }
  has_ended_ = true;
  return text + "data: [DONE]\n\n";
}

}  // namespace headroom::experiments
