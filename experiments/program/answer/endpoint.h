#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "experiments/program/answer/text_service.h"
#include "experiments/program/serve/guard.h"
#include "models/checkpoints/description.h"

namespace headroom::experiments {

/// A model behind the protocol of OpenAI's API: POST /v1/completions and /v1/chat/completions, GET /v1/models and
/// /health. Safe to call from several threads.
class Endpoint {
 public:
  /// All must outlive it. `address`: the one listened on, for the guard against foreign pages.
  Endpoint(TextService& service, const models::ModelDescription& model, const models::Tokenizer& tokenizer,
           std::string address)
      : service_(service), model_(model), tokenizer_(tokenizer), guard_{"", std::move(address), true} {}

  /// Refuses requests by their headers; status 200 otherwise.
  HttpAnswer check(const HttpRequest& request) const;
  /// Waits until the texts of a request are done, its client has left, or the server ends; a stream is returned at
  /// once.
  HttpAnswer answer(const HttpRequest& request);
  /// Lets waiting requests go.
  void end() { ends_ = true; }

 private:
  HttpAnswer complete(const HttpRequest& request, bool is_chat);

  TextService& service_;
  const models::ModelDescription& model_;
  const models::Tokenizer& tokenizer_;
  const Guard guard_;
  std::atomic<uint64_t> requests_{0};
  std::atomic<int> waiting_{0};
  std::atomic<bool> ends_{false};
};

/// An answer of status 400 or above in the protocol's form.
HttpAnswer protocol_error(int status, const std::string& why);

}  // namespace headroom::experiments
