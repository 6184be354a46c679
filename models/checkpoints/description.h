#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/config.h"

namespace headroom::models {

/// What the files of a trained model say of it, before a weight is read.
struct ModelDescription {
  std::string name;    ///< the file's own, else the folder's
  std::string family;  ///< its name in models/families/family.h
  TransformerConfig config;
  int64_t context = 0;  ///< longest text of its training, in tokens
  /// What our Transformer would compute otherwise than the model does: such a model is described, and not run.
  std::vector<std::string> not_run;
  /// What the files say and cannot mean, and what only some uses of the model need: a special token that it lacks.
  std::vector<std::string> warnings;
  std::optional<int64_t> bos;       ///< the token called so; begins a text, where add_bos
  std::vector<int64_t> eos;         ///< end an answer
  std::string eos_text;             ///< so does the token of this text, as the tokenizer names it; "" = it names none
  bool add_bos = false;             ///< the tokenizer puts bos before a text
  std::optional<int64_t> text_end;  ///< what the tokenizer puts after a text
  std::string chat_template;        ///< Jinja, as the file has it; "" = none

  /// The token that stands before every text; none where the tokenizer puts none there.
  std::optional<int64_t> text_begin() const { return add_bos ? bos : std::nullopt; }
  /// The ids of a text that goes on, as the model sees it: behind text_begin().
  std::vector<int32_t> with_begin(std::vector<int32_t> ids) const {
    if (const auto begin = text_begin()) ids.insert(ids.begin(), static_cast<int32_t>(*begin));
    return ids;
  }
  /// The ids of a whole text: between text_begin() and text_end.
  std::vector<int32_t> whole_text(std::vector<int32_t> ids) const {
    if (text_end) ids.push_back(static_cast<int32_t>(*text_end));
    return with_begin(std::move(ids));
  }
};

}  // namespace headroom::models
