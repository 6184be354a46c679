#pragma once
#include <cstdint>
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

}  // namespace headroom::experiments
