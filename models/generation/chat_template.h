#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/tokenizers/tokenizer.h"

namespace headroom::models {

/// One turn of a conversation.
struct ChatMessage {
  std::string role;  ///< "system", "user" or "assistant"
  std::string content;
};

/// The format in which a model was trained to read a conversation. ChatML:
///
/// `<|im_start|>ROLE\nCONTENT<|im_end|>\n …` (SmolLM2, Qwen)
///
/// Llama 2: `BOS [INST] <<SYS>>\nSYSTEM\n<</SYS>>\n\nUSER [/INST] ASSISTANT EOS BOS [INST] …`
///
/// Llama 3: `<|begin_of_text|>` and for each `<|start_header_id|>ROLE<|end_header_id|>\n\nCONTENT<|eot_id|>`
class ChatTemplate {
 public:
  enum class Kind { chatml, llama2, llama3 };

  /// Recognises a model's Jinja template and its default system message. Throws Error naming the template if it is none
  /// of the three.
  explicit ChatTemplate(const std::string& jinja);
  /// "ChatML", "Llama 2", "Llama 3".
  static const char* name_of(Kind kind);
  Kind kind() const { return kind_; }

  /// The ids of a conversation up to the start of the model's answer. Special tokens' texts within a message are
  /// ordinary text. Throws Error if a role is unknown, a system message is not first, user and assistant do not
  /// alternate, or the vocabulary lacks the template's tokens.
  std::vector<int32_t> encode(const std::vector<ChatMessage>& messages, const Tokenizer& tokenizer,
                              std::optional<int64_t> bos, const std::vector<int64_t>& eos) const;

 private:
  Kind kind_;
  std::string default_system_;  ///< "" = none
  std::string preamble_;        ///< before every system message, including the default; "" = none
};

}  // namespace headroom::models
