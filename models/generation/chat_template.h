#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/jinja/machine.h"
#include "models/tokenizers/tokenizer.h"

namespace headroom::models {

/// One turn of a conversation.
struct ChatMessage {
  std::string role;  ///< "system", "developer", "user", "assistant" or "tool"
  std::string content;
};

/// The format in which a model was trained to read a conversation: the Jinja template that its files carry.
class ChatTemplate {
 public:
  /// Throws Error naming the template's line if it cannot be read.
  explicit ChatTemplate(const std::string& jinja);

  /// Sets other variables of the template, such as enable_thinking, from an object of JSON.
  void set(const nlohmann::ordered_json& variables);

  /// A conversation as text up to the start of the model's answer, as transformers' apply_chat_template() has it, with
  /// the texts of the tokens that begin and end a text ("": none). Where a template leaves out a content that is a
  /// text, as some do that know images, each is given as a list of one text. Throws Error if a role is unknown, for
  /// what the template itself refuses, and if it leaves out what the last message says.
  jinja::Text render(const std::vector<ChatMessage>& messages, const std::string& bos, const std::string& eos) const;

  /// The ids of render()'s text. A special token's text within a message is ordinary text.
  std::vector<int32_t> encode(const std::vector<ChatMessage>& messages, const Tokenizer& tokenizer,
                              std::optional<int64_t> bos, const std::vector<int64_t>& eos) const;

 private:
  jinja::Template template_;
  jinja::Variables variables_;
};

}  // namespace headroom::models
