#include "models/generation/chat_template.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "engine/error.h"
#include "models/files/json.h"

namespace headroom::models {
namespace {

// In bytes written, of which a step counts as 16: templates write a text a few times, and some look through all
// messages at each. The most takes seconds.
constexpr int64_t least_work = int64_t{1} << 26, work_per_byte = 32, work_per_message = int64_t{1} << 17,
                  most_work = int64_t{1} << 28, most_variables = int64_t{1} << 20;
/// The marks of what a message says.
constexpr char earlier = 1, last = 2;

jinja::Template parsed(const std::string& source) {
  require(!source.empty(), "chat: the model has no chat template");
  try {
    return jinja::Template(source);
  } catch (const Error& error) {
    fail("chat: the model's template, {}", error.what());
  }
}

/// The role as the template's own word: templates make tokens of it, such as <|user|>.
std::string_view known_role(const std::string& role) {
  constexpr std::array<std::string_view, 5> known{"system", "developer", "user", "assistant", "tool"};
  const auto* const found = std::find(known.begin(), known.end(), role);
  require(found != known.end(), "chat: role {} is unknown (system, developer, user, assistant and tool are known)",
          quoted_name(role));
  return *found;
}

jinja::Value messages_value(const std::vector<ChatMessage>& messages, bool as_parts, jinja::Limits& limits) {
  using jinja::Text, jinja::Value;
  const Value role = Text("role"), content_key = Text("content");  // one for all: a request may have many messages
  std::vector<Value> turns;
  for (const ChatMessage& message : messages) {
    Value content = Text(message.content, &message == &messages.back() ? last : earlier);
    if (as_parts)
      content =
          make_list({make_dict({{Text("type"), Text("text")}, {Text("text"), std::move(content)}}, limits)}, limits);
    turns.push_back(make_dict({{role, Text(known_role(message.role))}, {content_key, std::move(content)}}, limits));
  }
  return make_list(std::move(turns), limits);
}

}  // namespace

ChatTemplate::ChatTemplate(const std::string& jinja) : template_(parsed(jinja)) {}

void ChatTemplate::set(const nlohmann::ordered_json& variables) {
  jinja::Limits limits(most_variables);
  for (const auto& [name, value] : variables.items()) variables_.emplace_back(name, from_json(value, limits));
}

jinja::Text ChatTemplate::render(const std::vector<ChatMessage>& messages, const std::string& bos,
                                 const std::string& eos) const {
  require(!messages.empty(), "chat: there is no message");
  int64_t work = least_work + work_per_message * std::ssize(messages);
  for (const ChatMessage& message : messages) work += work_per_byte * std::ssize(message.content);
  const bool says_something = jinja::stripped(jinja::Text(messages.back().content), true, true).size() > 0;
  for (const bool as_parts : {false, true}) {
    jinja::Limits limits(std::min(work, most_work));
    jinja::Variables all{{"add_generation_prompt", true}, {"tools", jinja::None{}}, {"documents", jinja::None{}}};
    if (!bos.empty()) all.emplace_back("bos_token", jinja::Text(bos));
    if (!eos.empty()) all.emplace_back("eos_token", jinja::Text(eos));
    all.insert(all.end(), variables_.begin(), variables_.end());
    all.emplace_back("messages", messages_value(messages, as_parts, limits));
    try {
      jinja::Text text = template_.render(all, limits);
      if (!says_something || text.marks.find(last) != std::string::npos) return text;
    } catch (const Error& error) {
      fail("chat: the model's template, {}", error.what());
    }
  }
  fail("chat: the model's template leaves out what the last message says");
}

std::vector<int32_t> ChatTemplate::encode(const std::vector<ChatMessage>& messages, const Tokenizer& tokenizer,
                                          std::optional<int64_t> bos, const std::vector<int64_t>& eos) const {
  const jinja::Text text =
      render(messages, bos ? tokenizer.token_bytes(*bos) : "", eos.empty() ? "" : tokenizer.token_bytes(eos[0]));
  return tokenizer.encode(text.bytes, Specials(std::string_view(text.marks)));
}

}  // namespace headroom::models
