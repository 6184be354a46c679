#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "models/files/regular_file.h"
#include "models/tokenizers/load.h"

namespace headroom::experiments {
namespace {

struct TokenizeArguments {
  std::string tokenizer, text, file;
  bool json = false, plain = false;
};

/// --text, else the bytes of --text-file, else those of standard input.
std::string input_of(const TokenizeArguments& arguments, bool has_text) {
  if (has_text) return arguments.text;
  if (!arguments.file.empty() && arguments.file != "-")
    return models::read_file(arguments.file, {"text file", uint64_t{1} << 32});
  return read_input();
}

void tokenize(const TokenizeArguments& arguments, bool has_text) {
  const auto tokenizer = models::load_tokenizer(arguments.tokenizer);
  const std::vector<int32_t> ids = tokenizer->encode(
      input_of(arguments, has_text), arguments.plain ? models::Specials::plain : models::Specials::tokens);
  const std::string list = fmt::format("{}", fmt::join(ids, arguments.json ? ", " : " "));
  write_output(arguments.json ? "[" + list + "]\n" : list + "\n");
}

}  // namespace

void add_tokenize_command(Command app) {
  const Command command = app.command("tokenize", "print the token ids of a text");
  const auto arguments = std::make_shared<TokenizeArguments>();
  command
      .option("--tokenizer", arguments->tokenizer,
              "a tokenizer's folder or file (GPT-2's, Llama 2's, Llama 3's, tokenizer.json), a GGUF file, or \"byte\"")
      .required()
      .value_name("PATH");
  const Option text =
      command.option("--text", arguments->text, "the text; standard input without it").value_name("TEXT").one_value();
  command.option("--text-file", arguments->file, "a file that holds the text").value_name("FILE").excludes(text);
  command.flag("--json", arguments->json, "as a JSON list");
  command.flag("--plain", arguments->plain, "special tokens in the text are ordinary text");
  command.action([arguments, text] { tokenize(*arguments, text.is_given()); });
}

}  // namespace headroom::experiments
