#include "experiments/program/answer/endpoint.h"

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "experiments/program/answer/protocol.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::json;

/// Requests that may wait for their texts in a thread each, of the server's 64: the others answer what takes no time.
constexpr int most_waiting = 48;
constexpr const char* json_type = "application/json; charset=utf-8";

HttpAnswer json_answer(std::string body) { return {200, json_type, std::move(body), ""}; }

}  // namespace

HttpAnswer protocol_error(int status, const std::string& why) {
  return {status, json_type, error_json(status, why), ""};
}

HttpAnswer Endpoint::check(const HttpRequest& request) const {
  if (!guard_.is_for_us(request)) return protocol_error(403, foreign_host);
  // A page of another origin may send forms and plain text here, but not JSON.
  const bool is_read = request.method == "GET" || request.method == "HEAD";
  if (!is_read && request.method != "POST") return protocol_error(405, "only GET, HEAD and POST are answered");
  if (!request.origin.empty() && request.origin != "http://" + request.host)
    return protocol_error(403, "pages of other servers are not answered");
  if (!is_read && !request.content_type.starts_with("application/json"))
    return protocol_error(415, "the header Content-Type must be application/json");
  return {};
}

HttpAnswer Endpoint::answer(const HttpRequest& request) {
  const bool is_chat = request.path == "/v1/chat/completions", is_text = request.path == "/v1/completions";
  if ((is_chat || is_text) && request.method == "POST") return complete(request, is_chat);
  if (is_chat || is_text) return protocol_error(405, request.path + " takes POST");
  if (request.path == "/health") return json_answer(R"({"status": "ok"})");
  const Json model = {
      {"id", model_.name}, {"object", "model"}, {"created", 0}, {"owned_by", "headroom"}, {"context", model_.context}};
  if (request.path == "/v1/models") return json_answer(Json{{"object", "list"}, {"data", {model}}}.dump());
  if (request.path == "/v1/models/" + model_.name) return json_answer(model.dump());
  return protocol_error(404, "there are POST /v1/completions and /v1/chat/completions, GET /v1/models and /health");
}

HttpAnswer Endpoint::complete(const HttpRequest& request, bool is_chat) {
  const auto place = place_among(waiting_, most_waiting);
  if (!place) return protocol_error(503, "too many requests are waiting; ask again in a few seconds");
  CompletionRequest wanted;
  std::shared_ptr<TextBatch> texts;  // cancelled when nobody reads them any more
  try {
    wanted = read_request(request.body, is_chat, model_, tokenizer_);
    const std::shared_ptr<TextBatch> batch = service_.add(wanted.orders);
    if (!batch) return protocol_error(503, "too many texts are waiting; ask again in a few seconds");
    texts.reset(batch.get(), [batch](TextBatch* unread) { unread->cancel(); });
  } catch (const BadRequest& error) {
    return {400, json_type, error_json(400, error.what(), error.param()), ""};
  } catch (const Error& error) {
    return protocol_error(400, error.what());
  }
  const auto response = std::make_shared<Response>(wanted, model_.name, ++requests_, tokenizer_);
  if (wanted.is_stream) {
    HttpAnswer out;
    out.event_pause = std::chrono::milliseconds(0);
    out.next_event = [texts, response, has_failed = false]() mutable -> std::optional<std::string> {
      if (has_failed) return std::nullopt;
      try {
        texts->is_done();
        return response->events(*texts);
      } catch (const Error& error) {
        has_failed = true;
        return "data: " + error_json(500, error.what()) + "\n\n";
      }
    };
    return out;
  }
  wanted.orders.clear();
  try {
    while (!texts->wait()) {
      if (ends_) return protocol_error(503, "the server ends");
      if (request.has_left && request.has_left()) return {};  // nobody reads it
    }
  } catch (const Error& error) {
    return protocol_error(500, error.what());
  }
  return json_answer(response->whole(*texts));
}

}  // namespace headroom::experiments
