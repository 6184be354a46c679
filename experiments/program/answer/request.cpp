#include "experiments/program/answer/protocol.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/generation/chat_template.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::json;

constexpr int64_t most_chat_bytes = int64_t{1} << 21, most_texts = 1024, most_scores = int64_t{1} << 22, most_top = 20;

template <class... Parts>
[[noreturn]] void refuse(const std::string& param, fmt::format_string<Parts...> form, Parts&&... parts) {
  throw BadRequest(param, fmt::format(form, std::forward<Parts>(parts)...));
}

/// Reads the keys of one object. A null is as good as no key.
class Keys {
 public:
  explicit Keys(const Json& object, std::string path = "") : object_(object), path_(std::move(path)) {
    if (!object.is_object()) refuse(path_, "expected an object, got {}", models::shown(object));
  }

  const Json* find(const std::string& key) {
    known_.insert(key);
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  int64_t integer(const std::string& key, int64_t usual, int64_t least, int64_t most) {
    const Json* const value = find(key);
    if (value == nullptr) return usual;
    // A float such as 16.0 is no count; an unsigned one above 2^63 is none that fits.
    const bool fits =
        value->is_number_integer() && (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX);
    if (!fits || value->get<int64_t>() < least || value->get<int64_t>() > most)
      refuse(path_ + key, "{}{} is {}; expected a whole number from {} to {}", path_, key, models::shown(*value), least,
             most);
    return value->get<int64_t>();
  }
  double number(const std::string& key, double usual, double least, double most) {
    const Json* const value = find(key);
    if (value == nullptr) return usual;
    if (!value->is_number() || !(value->get<double>() >= least && value->get<double>() <= most))
      refuse(path_ + key, "{}{} is {}; expected a number from {} to {}", path_, key, models::shown(*value), least,
             most);
    return value->get<double>();
  }
  bool flag(const std::string& key) {
    const Json* const value = find(key);
    if (value != nullptr && !value->is_boolean())
      refuse(path_ + key, "{}{} is {}; expected true or false", path_, key, models::shown(*value));
    return value != nullptr && value->get<bool>();
  }
  std::string text(const std::string& key) {
    const Json* const value = find(key);
    if (value == nullptr || !value->is_string()) refuse(path_ + key, "{}{}: expected a text", path_, key);
    return value->get<std::string>();
  }
  /// A key that changes nothing here.
  void ignore(const std::string& key) { known_.insert(key); }
  /// A key that is taken only with the value that changes nothing.
  void only(const std::string& key, const Json& value) {
    const Json* const given = find(key);
    if (given != nullptr && *given != value) refuse(path_ + key, "{}{} is not supported", path_, key);
  }
  void refuse_others() const {
    for (const auto& [key, value] : object_.items())
      if (!known_.contains(key))
        refuse(path_ + key, "{}{} is not a key of this request", path_, models::quoted_name(key));
  }

 private:
  const Json& object_;
  std::string path_;
  std::set<std::string> known_;
};

std::vector<int32_t> ids_of(const Json& list) {
  std::vector<int32_t> ids;
  for (const Json& id : list) {
    if (!id.is_number_integer() || id < 0 || id > INT32_MAX)
      refuse("prompt", "prompt: {} is no token id", models::shown(id));
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

/// A text, a list of texts, a list of ids, or a list of lists of ids.
std::vector<std::vector<int32_t>> prompts_of(const Json& prompt, const models::ModelDescription& model,
                                             const models::Tokenizer& tokenizer) {
  const auto encoded = [&](const Json& text) {
    if (!text.is_string()) refuse("prompt", "prompt: {} is no text", models::shown(text));
    return model.with_begin(tokenizer.encode(text.get<std::string>()));
  };
  if (prompt.is_string()) return {encoded(prompt)};
  if (!prompt.is_array() || prompt.empty())
    refuse("prompt", "prompt: expected a text, a list of texts, a list of token ids, or a list of such lists");
  if (prompt[0].is_number()) return {ids_of(prompt)};
  std::vector<std::vector<int32_t>> prompts;
  for (const Json& one : prompt) prompts.push_back(prompt[0].is_array() && one.is_array() ? ids_of(one) : encoded(one));
  return prompts;
}

/// A message's content: a text, or a list of parts that are all texts.
std::string content_of(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) refuse("messages", "messages: content is {}; expected a text", models::shown(content));
  std::string text;
  for (const Json& part : content) {
    Keys keys(part, "messages.content.");
    keys.only("type", "text");
    text += keys.text("text");
    keys.refuse_others();
  }
  return text;
}

std::vector<int32_t> chat_prompt(const Json* messages, const Json* variables, const models::ModelDescription& model,
                                 const models::Tokenizer& tokenizer) {
  if (messages == nullptr || !messages->is_array() || messages->empty())
    refuse("messages", "messages: expected a list of messages");
  if (std::ssize(*messages) > model.context)
    refuse("messages", "messages: {} of them, and the model's context has {} tokens", messages->size(), model.context);
  std::vector<models::ChatMessage> turns;
  for (const Json& message : *messages) {
    Keys keys(message, "messages.");
    const Json* const content = keys.find("content");
    turns.push_back({keys.text("role"), content_of(content == nullptr ? Json() : *content)});
    keys.ignore("name");
    keys.refuse_others();
  }
  if (turns.back().role != "user" && turns.back().role != "tool")
    refuse("messages", "messages: the last one must be the user's, or a tool's");
  if (variables != nullptr && !variables->is_object())
    refuse("chat_template_kwargs", "chat_template_kwargs: expected an object");
  try {
    models::ChatTemplate chat_template(model.chat_template);
    if (variables != nullptr) chat_template.set(*variables);
    return chat_template.encode(turns, tokenizer, model.bos, model.eos);
  } catch (const Error& error) {
    refuse("messages", "{}", error.what());
  }
}

std::vector<std::string> stops_of(const Json* stop) {
  if (stop == nullptr) return {};
  std::vector<std::string> stops;
  for (const Json& one : stop->is_array() ? *stop : Json::array({*stop})) {
    if (!one.is_string() || one.get<std::string>().empty() || stops.size() == 16)
      refuse("stop", "stop: expected a text or a list of up to 16, none of them empty");
    stops.push_back(one.get<std::string>());
  }
  return stops;
}

models::SamplingOptions sampling_of(Keys& keys) {
  models::SamplingOptions out;
  out.temperature = keys.number("temperature", 1, 0, 100);
  out.top_p = keys.number("top_p", 1, 1e-9, 1);
  out.min_p = keys.number("min_p", 0, 0, 1);
  out.top_k = keys.integer("top_k", 0, 0, INT32_MAX);
  out.repetition_penalty = keys.number("repetition_penalty", 1, 0.01, 100);
  std::random_device source;
  const auto drawn = static_cast<int64_t>(source());
  out.seed = static_cast<uint64_t>(keys.integer("seed", drawn, INT64_MIN, INT64_MAX));
  return out;
}

/// The number of likeliest tokens to note: `logprobs` of a completion, or `top_logprobs` where `logprobs` is set.
std::optional<int64_t> top_of(Keys& keys, bool is_chat) {
  if (is_chat) {
    const bool wanted = keys.flag("logprobs");
    const int64_t top = keys.integer("top_logprobs", 0, 0, most_top);
    if (top > 0 && !wanted) refuse("top_logprobs", "top_logprobs needs logprobs = true");
    return wanted ? std::optional(top) : std::nullopt;
  }
  return keys.find("logprobs") == nullptr ? std::nullopt : std::optional(keys.integer("logprobs", 0, 0, most_top));
}

void refuse_what_is_not_done(Keys& keys, bool is_chat) {
  for (const char* key :
       {"model", "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"})
    keys.ignore(key);
  keys.only("frequency_penalty", 0);
  keys.only("presence_penalty", 0);
  keys.only("logit_bias", Json::object());
  if (is_chat) {
    keys.only("tools", Json::array());
    keys.only("tool_choice", "none");
    keys.only("response_format", Json{{"type", "text"}});
    keys.only("modalities", Json::array({"text"}));
  } else {
    keys.only("best_of", 1);
    keys.only("suffix", "");
  }
}

}  // namespace

CompletionRequest read_request(const std::string& body, bool is_chat, const models::ModelDescription& model,
                               const models::Tokenizer& tokenizer) {
  if (is_chat && std::ssize(body) > most_chat_bytes)
    refuse("messages", "the body has {} bytes; that of a chat may have {}", body.size(), most_chat_bytes);
  // One at a time: as JSON, and filled into a template, a request of many short texts takes many times its bytes.
  static std::mutex reading;
  const std::lock_guard lock(reading);
  Json root;
  try {
    root = models::parse_json(body);
  } catch (const Error& error) {
    refuse("", "the body: {}", error.what());
  }
  Keys keys(root);
  CompletionRequest out;
  out.is_chat = is_chat;
  TextOrder order;
  order.options.sampling = sampling_of(keys);
  order.options.stops = stops_of(keys.find("stop"));
  order.options.max_tokens = keys.integer("max_tokens", is_chat ? model.context : 16, is_chat ? 1 : 0, INT32_MAX);
  if (is_chat) order.options.max_tokens = keys.integer("max_completion_tokens", order.options.max_tokens, 1, INT32_MAX);
  order.top = top_of(keys, is_chat);
  out.scores = order.top.has_value();
  out.echoes = !is_chat && keys.flag("echo");
  order.scores_prompt = out.echoes && out.scores;
  out.is_stream = keys.flag("stream");
  if (const Json* const options = keys.find("stream_options")) {
    Keys of_stream(*options, "stream_options.");
    out.wants_usage = of_stream.flag("include_usage");
    of_stream.refuse_others();
  }
  const int64_t copies = keys.integer("n", 1, 1, 128);
  std::vector<std::vector<int32_t>> prompts;
  if (is_chat) {
    prompts.push_back(chat_prompt(keys.find("messages"), keys.find("chat_template_kwargs"), model, tokenizer));
  } else {
    const Json* const prompt = keys.find("prompt");
    if (prompt == nullptr) refuse("prompt", "prompt is missing");
    prompts = prompts_of(*prompt, model, tokenizer);
  }
  refuse_what_is_not_done(keys, is_chat);
  keys.refuse_others();
  if (std::ssize(prompts) * copies > most_texts)
    refuse("prompt", "prompt: {} texts; one request may have {}", std::ssize(prompts) * copies, most_texts);
  out.seed = order.options.sampling.seed;
  int64_t scored = 0;
  for (std::vector<int32_t>& prompt : prompts) {
    order.prompt = std::move(prompt);
    if (std::ssize(order.prompt) > model.context)  // before it is copied
      refuse("prompt", "the prompt has {} tokens, the model's context is {}", order.prompt.size(), model.context);
    const int64_t tokens =
        (order.scores_prompt ? std::ssize(order.prompt) : 0) + std::min(order.options.max_tokens, model.context);
    if (out.scores) scored += copies * tokens * (1 + *order.top);
    for (int64_t copy = 0; copy < copies; ++copy) {
      out.orders.push_back(order);
      ++order.options.sampling.seed;
    }
  }
  if (scored > most_scores)
    refuse("prompt", "the answer could have {} log-probabilities; one request may have {}: send fewer prompts", scored,
           most_scores);
  return out;
}

}  // namespace headroom::experiments
