#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/program/answer/request.h"

namespace headroom::experiments {

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
