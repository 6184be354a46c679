#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/exception.h"
#include "experiments/program/answer/text_service.h"
#include "models/checkpoints/description.h"

namespace headroom::experiments {

/// A request that is not answered, and why, as the protocol words it.
class BadRequest : public Error {
 public:
  BadRequest(std::string param, const std::string& why) : Error(why), param_(std::move(param)) {}
  const std::string& param() const { return param_; }  ///< the key at fault; "" = none

 private:
  std::string param_;
};

/// A request for completions, of texts or of a chat.
struct CompletionRequest {
  bool is_chat = false, is_stream = false, wants_usage = false, echoes = false;
  bool scores = false;  ///< log-probabilities are wanted
  uint64_t seed = 0;    ///< of the first text; text i has seed + i
  std::vector<TextOrder> orders;
};

/// Reads the body of a request to /v1/completions or, `is_chat`, to /v1/chat/completions. Keys have the protocol's
/// meanings and defaults; `top_k`, `min_p` and `repetition_penalty` are headroom's own. Throws BadRequest for what is
/// unknown, out of range, or known and not done here: nothing is left out in silence.
CompletionRequest read_request(const std::string& body, bool is_chat, const models::ModelDescription& model,
                               const models::Tokenizer& tokenizer);

/// {"error": {…}}, as the protocol has it: what a client of status 400 and above reads.
std::string error_json(int status, const std::string& why, const std::string& param = "");

/// Words the answers to one request: whole, or in events.
class Response {
 public:
  /// `number`: makes its id. The tokenizer must outlive it.
  Response(const CompletionRequest& request, std::string model, uint64_t number, const models::Tokenizer& tokenizer);

  /// The answer, when all texts are done.
  std::string whole(const TextBatch& batch) const;
  /// What is new since the last call, as server-sent events; the last ends with [DONE], and none follows.
  std::optional<std::string> events(const TextBatch& batch);

 private:
  /// How much of a text's answer was sent.
  struct Sent {
    size_t text = 0, scores = 0;
    bool has_begun = false, is_done = false;
  };
  nlohmann::json head(const char* object) const;
  nlohmann::json choice(const TextOutput& output, size_t index, const Sent& after, bool is_part) const;
  nlohmann::json scores_of(const TextOutput& output, size_t index, const Sent& after) const;
  nlohmann::json chat_scores_of(const TextOutput& output, const Sent& after) const;
  std::string text_of(int32_t token) const;
  std::string prompt_text(size_t index) const;
  nlohmann::json usage(const TextBatch& batch) const;

  bool is_chat_, echoes_, scores_, wants_usage_;
  std::vector<std::vector<int32_t>> prompts_;  ///< with echo
  std::string id_, model_;
  int64_t created_, seed_;
  const models::Tokenizer& tokenizer_;
  std::vector<Sent> sent_;
  bool has_ended_ = false;
};

}  // namespace headroom::experiments
