#include "models/tokenizers/splitter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "engine/error.h"

namespace headroom::models {

const char* const gpt2_pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char* const llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
const char* const qwen2_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Frees what PCRE2 made. Not in the namespace below: a class of the header has a member with it.
struct FreePcre2 {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};

namespace {

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

/// One thread's state for matching: PCRE2's compiled code is shared, these are not.
struct Matcher {
  std::unique_ptr<pcre2_match_data, FreePcre2> data{pcre2_match_data_create(1, nullptr)};
  std::unique_ptr<pcre2_match_context, FreePcre2> context{pcre2_match_context_create(nullptr)};
  // The machine's stack, which is the default, is too small for a pattern that backtracks over a megabyte.
  std::unique_ptr<pcre2_jit_stack, FreePcre2> stack{
      pcre2_jit_stack_create(size_t{64} << 10, size_t{64} << 20, nullptr)};

  Matcher() {
    require(data && context && stack, "tokenizer: no memory for the matcher");
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }
};

}  // namespace

struct Splitter::Compiled {
  std::unique_ptr<pcre2_code, FreePcre2> code;
};

Splitter::Splitter(const std::string& pattern) : compiled_(std::make_unique<Compiled>()), pattern_(pattern) {
  const std::string text = with_unicode_spaces(pattern);
  int code = 0;
  PCRE2_SIZE at = 0;
  compiled_->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                      PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &code, &at, nullptr));
  require(compiled_->code != nullptr, "split pattern {}: {} at offset {}", text, message_of(code), at);
  // Without a JIT compiler for this machine, PCRE2 interprets: the same pieces, slower.
  pcre2_jit_compile(compiled_->code.get(), PCRE2_JIT_COMPLETE);
}

Splitter::~Splitter() = default;
Splitter::Splitter(Splitter&&) noexcept = default;
Splitter& Splitter::operator=(Splitter&&) noexcept = default;

void Splitter::split(std::string_view text, std::vector<std::string_view>& pieces) const {
  thread_local const Matcher matcher;
  size_t done = 0;  // bytes that are in pieces
  while (done < text.size()) {
    const int found = pcre2_match(compiled_->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), done,
                                  PCRE2_NOTEMPTY, matcher.data.get(), matcher.context.get());
    if (found == PCRE2_ERROR_NOMATCH) break;
    require(found >= 0, "tokenizer: splitting text at byte {} of {}: {}", done, text.size(), message_of(found));
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(matcher.data.get());
    require(range[0] >= done && range[1] > range[0], "tokenizer: the split pattern's match is not in the text (\\K?)");
    if (range[0] > done) pieces.push_back(text.substr(done, range[0] - done));
    pieces.push_back(text.substr(range[0], range[1] - range[0]));
    done = range[1];
  }
  if (done < text.size()) pieces.push_back(text.substr(done));
}

std::string with_unicode_spaces(const std::string& pattern) {
  const std::string spaces = R"(\t-\r\x{85}\p{Z})";
  std::string out;
  bool in_brackets = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      if (escaped == 's') out += in_brackets ? spaces : "[" + spaces + "]";
      else if (escaped == 'S' && !in_brackets) out += "[^" + spaces + "]";
      else out += {c, escaped};
      continue;
    }
    if (c == '[') in_brackets = true;
    if (c == ']') in_brackets = false;
    out += c;
  }
  return out;
}

}  // namespace headroom::models
