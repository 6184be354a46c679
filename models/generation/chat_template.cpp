#include "models/generation/chat_template.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/error.h"
#include "models/files/json.h"

namespace headroom::models {
namespace {

/// Marks by which templates of other software are known, with their names; the first that is found counts.
constexpr std::array<std::pair<const char*, const char*>, 5> foreign_templates{{{"<start_of_turn>", "Gemma's"},
                                                                                {"<|user|>", "Zephyr's"},
                                                                                {"[AVAILABLE_TOOLS]", "Mistral's"},
                                                                                {"[INST]", "Mistral's"},
                                                                                {"<|channel|>", "Harmony's"}}};

/// A literal of Jinja in quotes without them, its escapes resolved.
std::string unescaped(std::string_view literal) {
  std::string text;
  for (size_t i = 0; i < literal.size(); ++i) {
    const bool is_escape = literal[i] == '\\' && i + 1 < literal.size();
    if (is_escape) ++i;
    text += is_escape && literal[i] == 'n' ? '\n' : is_escape && literal[i] == 't' ? '\t' : literal[i];
  }
  return text;
}

/// The system message that a ChatML template writes where a conversation has none: of those that begin as one does, the
/// first that is a text from end to end, be it a literal in quotes or the template's own text. Others are put together
/// of parts, as with tools.
std::string default_system_of(std::string_view jinja) {
  constexpr std::string_view mark = "<|im_start|>system", end = "<|im_end|>";
  for (size_t at = jinja.find(mark); at != std::string_view::npos; at = jinja.find(mark, at + 1)) {
    const char quote = at > 0 ? jinja[at - 1] : ' ';
    const bool is_literal = quote == '\'' || quote == '"';
    size_t stop = at;
    while (stop < jinja.size() && (is_literal ? jinja[stop] != quote : !jinja.substr(stop).starts_with('{')))
      stop += jinja[stop] == '\\' ? 2 : 1;
    const std::string_view raw = jinja.substr(at, stop - at);
    const std::string text = is_literal ? unescaped(raw) : std::string(raw);
    const size_t last = text.find(end);
    if (text[mark.size()] == '\n' && last != std::string::npos && last > mark.size() + 1)
      return text.substr(mark.size() + 1, last - mark.size() - 1);
  }
  return "";
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n"), end = text.find_last_not_of(" \t\r\n");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

/// Builds ids from special tokens, which must each be one token, and ordinary text.
class Ids {
 public:
  explicit Ids(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  void special(const std::string& text) { id(tokenizer_.id_of(text), text.c_str()); }
  void id(std::optional<int64_t> id, const char* what) {
    require(id.has_value(), "chat: {} has no token {}", tokenizer_.name(), what);
    ids_.push_back(static_cast<int32_t>(*id));
  }
  void text(const std::string& text) {
    const std::vector<int32_t> ids = tokenizer_.encode(text, Specials::plain);
    ids_.insert(ids_.end(), ids.begin(), ids.end());
  }
  std::vector<int32_t> take() { return std::move(ids_); }

 private:
  const Tokenizer& tokenizer_;
  std::vector<int32_t> ids_;
};

/// A system message comes first, then user and assistant take turns, the user last.
void check_turns(const std::vector<ChatMessage>& messages) {
  size_t turn = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    require(role == "system" || role == "user" || role == "assistant",
            "chat: role {} is unknown (system, user and assistant are known)", quoted_name(role));
    require(role != "system" || i == 0, "chat: message {} is the system's; only the first may be", i + 1);
    if (role == "system") continue;
    require(role == (turn % 2 == 0 ? "user" : "assistant"), "chat: message {} is the {}'s, out of turn", i + 1, role);
    ++turn;
  }
  require(turn % 2 == 1, "chat: the last message must be the user's");
}

void encode_chatml(Ids& ids, const std::vector<ChatMessage>& messages) {
  for (const ChatMessage& message : messages) {
    ids.special("<|im_start|>");
    ids.text(message.role + "\n" + message.content);
    ids.special("<|im_end|>");
    ids.text("\n");
  }
  ids.special("<|im_start|>");
  ids.text("assistant\n");
}

/// Every conversation begins with the preamble, then, where there is one, the system message.
void encode_llama3(Ids& ids, const std::vector<ChatMessage>& messages, const std::string& preamble) {
  const auto header = [&](const std::string& role) {
    ids.special("<|start_header_id|>");
    ids.text(role);
    ids.special("<|end_header_id|>");
  };
  const auto turn = [&](const std::string& role, const std::string& content) {
    header(role);
    ids.text("\n\n" + content);
    ids.special("<|eot_id|>");
  };
  ids.special("<|begin_of_text|>");
  if (!preamble.empty() && messages[0].role != "system") turn("system", preamble);
  for (const ChatMessage& message : messages)
    turn(message.role, (message.role == "system" ? preamble : "") + trimmed(message.content));
  header("assistant");
  ids.text("\n\n");
}

void encode_llama2(Ids& ids, const std::vector<ChatMessage>& messages, std::optional<int64_t> bos,
                   const std::vector<int64_t>& eos) {
  std::string system;
  for (const ChatMessage& message : messages) {
    if (message.role == "system") {
      system = "<<SYS>>\n" + message.content + "\n<</SYS>>\n\n";
    } else if (message.role == "user") {
      ids.id(bos, "that begins a text");
      ids.text("[INST] " + trimmed(std::exchange(system, "") + message.content) + " [/INST]");
    } else {
      ids.text(" " + trimmed(message.content) + " ");
      ids.id(eos.empty() ? std::nullopt : std::optional(eos[0]), "that ends a text");
    }
  }
}

}  // namespace

const char* ChatTemplate::name_of(Kind kind) {
  return kind == Kind::chatml ? "ChatML" : kind == Kind::llama2 ? "Llama 2" : "Llama 3";
}

ChatTemplate::ChatTemplate(const std::string& jinja) {
  require(!jinja.empty(), "chat: the model has no chat template");
  const auto has = [&](const char* mark) { return jinja.find(mark) != std::string::npos; };
  if (has("<|im_start|>") && has("<|im_end|>")) {
    kind_ = Kind::chatml;
    default_system_ = default_system_of(jinja);
  } else if (has("<|start_header_id|>") && has("<|eot_id|>")) {
    kind_ = Kind::llama3;
    if (has("Cutting Knowledge Date: December 2023"))
      preamble_ = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
  } else if (has("[INST]") && has("<<SYS>>")) {
    kind_ = Kind::llama2;
  } else {
    for (const auto& [mark, name] : foreign_templates)
      require(!has(mark), "chat: {} template is not supported (ChatML, Llama 2's and Llama 3's are)", name);
    fail("chat: a template that begins {} is not supported (ChatML, Llama 2's and Llama 3's are)", quoted_name(jinja));
  }
}

std::vector<int32_t> ChatTemplate::encode(const std::vector<ChatMessage>& messages_in, const Tokenizer& tokenizer,
                                          std::optional<int64_t> bos, const std::vector<int64_t>& eos) const {
  check_turns(messages_in);
  std::vector<ChatMessage> messages = messages_in;
  if (messages[0].role != "system" && !default_system_.empty())
    messages.insert(messages.begin(), {"system", default_system_});
  Ids ids(tokenizer);
  if (kind_ == Kind::chatml) encode_chatml(ids, messages);
  else if (kind_ == Kind::llama3) encode_llama3(ids, messages, preamble_);
  else encode_llama2(ids, messages, bos, eos);
  return ids.take();
}

}  // namespace headroom::models
