#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "engine/error.h"
#include "experiments/output/units.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/models/model_arguments.h"
#include "experiments/studies/run/memory_limit.h"
#include "models/costs.h"
#include "models/files/mapped_file.h"
#include "models/files/utf8.h"
#include "models/generation/batch_generator.h"
#include "models/generation/chat_template.h"
#include "models/generation/generator.h"
#include "tasks/measure/text_tokens.h"

namespace headroom::experiments {
namespace {

struct GenerateArguments {
  ModelArguments model;
  std::string prompt, prompt_file, system;
  models::GenerationOptions options;
  int64_t seed = 0, rounds = 1, parallel = 1;
  bool json = false, stats = false;
};

/// A model that is ready to generate.
struct LoadedModel {
  explicit LoadedModel(const ModelArguments& arguments)
      : files(models::ModelFiles::open(arguments.path)),
        tokenizer(files->tokenizer()),
        transformer(arguments.load(*files)),
        generator(
            *transformer, *tokenizer, files->description(),
            [](const std::string& line) { write_note("headroom: " + line); },
            arguments.cache_types(transformer->config())),
        cache(fmt::format("{} bytes per token in {}",
                          models::cache_bytes(transformer->config(), arguments.cache_types(transformer->config())),
                          arguments.cache_name(transformer->config()))) {}
  std::unique_ptr<models::ModelFiles> files;
  std::unique_ptr<models::Tokenizer> tokenizer;
  std::unique_ptr<models::Transformer> transformer;
  models::Generator generator;
  std::string cache;  ///< size of a token in it
};

/// A generator's callback: always goes on.
bool print_now(std::string_view text) {
  write_output(text);
  return true;
}

double rate(int64_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

/// New tokens that count towards the time of decoding: all but the first.
int64_t decoded(const models::Generation& g) { return std::max<int64_t>(0, static_cast<int64_t>(g.tokens.size()) - 1); }

std::string rates_of(const models::Generation& g, const std::string& cache) {
  return fmt::format("prompt {} tokens, {:.1f}/s; {} new, {:.1f}/s; cache {}; ended: {}", g.prompt_tokens,
                     rate(g.prompt_tokens, g.prompt_seconds), g.tokens.size(), rate(decoded(g), g.decode_seconds),
                     cache, models::name_of(g.ending));
}

std::string rates_of(const models::BatchGeneration& g, const std::string& cache) {
  int64_t made = 0, later = 0;
  for (const models::Generation& text : g.texts)
    made += static_cast<int64_t>(text.tokens.size()), later += decoded(text);
  return fmt::format("prompt {} tokens, {:.1f}/s; {} texts, {} new, {:.1f}/s in all; cache {} and text",
                     g.prompt_tokens, rate(g.prompt_tokens, g.prompt_seconds), g.texts.size(), made,
                     rate(later, g.decode_seconds), cache);
}

std::string prompt_of(const GenerateArguments& arguments, bool has_prompt) {
  if (has_prompt) return arguments.prompt;
  std::string text = arguments.prompt_file.empty() || arguments.prompt_file == "-"
                         ? std::string{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()}
                         : std::string(models::MappedFile(arguments.prompt_file).text());
  require(models::valid_utf8(text) == text.size(), "the prompt is not UTF-8 from byte {} on", models::valid_utf8(text));
  return text;
}

/// Throws Error, with what would fit, if memory cannot hold the caches of all texts.
void check_memory(const GenerateArguments& a, const models::ModelDescription& model, size_t prompt) {
  const int64_t tokens = std::min(model.context, static_cast<int64_t>(prompt) + a.options.max_tokens);
  // Layers with a window keep less than the text; their number does not matter for a lower bound.
  const int64_t window = model.config.window, kept = window > 0 ? std::min(tokens, window) : tokens;
  const double each = static_cast<double>(models::cache_bytes(model.config, a.model.cache_types(model.config)) * kept);
  const engine::Device device = engine::device_of(a.model.device);
  const MemoryLimit limit = device.is_cpu() ? memory_limit() : device_memory_limit(device);
  if (each * static_cast<double>(a.parallel) <= limit.bytes) return;
  fail(
      "--parallel {}: keys and values of {} texts of up to {} tokens need at least {} of memory, and {} is {}: "
      "--parallel {} at most, a lower --max-tokens or a smaller --cache-dtype",
      a.parallel, a.parallel, tokens, bytes_text(each * static_cast<double>(a.parallel)), limit.source,
      bytes_text(limit.bytes), static_cast<int64_t>(limit.bytes / each));
}

/// Runs f() and turns logits that are not finite into an Error with the likely reason.
template <class F>
auto explained(const ModelArguments& arguments, const LoadedModel& model, const F& f) {
  try {
    return f();
  } catch (const models::NoLogit& error) {
    fail("{}: {}", error.what(), arguments.overflow(model.files->description().config));
  }
}

/// Generates --parallel texts from one prompt.
void generate_batch(const GenerateArguments& a, const LoadedModel& model, const std::vector<int32_t>& prompt) {
  const models::BatchGenerator generator(*model.transformer, *model.tokenizer, model.files->description(),
                                         a.model.cache_types(model.files->description().config));
  const std::vector<std::vector<int32_t>> prompts(static_cast<size_t>(a.parallel), prompt);
  for (int64_t round = 0; round < a.rounds; ++round) {
    const models::BatchGeneration g = explained(a.model, model, [&] { return generator.generate(prompts, a.options); });
    nlohmann::ordered_json texts;
    int64_t seed = a.seed;
    for (const models::Generation& text : g.texts) {
      if (a.json)
        texts.push_back(
            {{"seed", seed}, {"text", text.text}, {"tokens", text.tokens}, {"ending", models::name_of(text.ending)}});
      else
        print_now(fmt::format("--- {} of {}, seed {}\n{}{}", seed - a.seed + 1, a.parallel, seed, text.text,
                              text.text.ends_with('\n') ? "" : "\n"));
      ++seed;
    }
    if (a.json)
      print_json({{"texts", texts},
                  {"prompt_tokens", g.prompt_tokens},
                  {"prompt_seconds", g.prompt_seconds},
                  {"decode_seconds", g.decode_seconds}});
    if (a.stats) fmt::print(stderr, "{}\n", rates_of(g, model.cache));
  }
}

void generate(GenerateArguments& arguments, bool has_prompt) {
  const ModelScope scope(arguments.model);
  LoadedModel model(arguments.model);
  const std::vector<int32_t> prompt =
      model.files->description().with_begin(model.tokenizer->encode(prompt_of(arguments, has_prompt)));
  if (const std::string note = tasks::begins_twice(model.files->description(), prompt); !note.empty())
    write_note("headroom: " + note);
  arguments.options.sampling.seed = static_cast<uint64_t>(arguments.seed);
  if (arguments.parallel > 1) {
    check_memory(arguments, model.files->description(), prompt.size());
    if (arguments.options.sampling.temperature == 0)
      write_note("headroom: the texts are all the same, as --temperature 0 takes the likeliest token each time");
    return generate_batch(arguments, model, prompt);
  }
  for (int64_t round = 0; round < arguments.rounds; ++round) {
    model.generator.reset();
    const models::Generation g = explained(arguments.model, model, [&] {
      return arguments.json ? model.generator.generate(prompt, arguments.options)
                            : model.generator.generate(prompt, arguments.options, print_now);
    });
    if (arguments.json)
      print_json({{"text", g.text},
                  {"tokens", g.tokens},
                  {"ending", models::name_of(g.ending)},
                  {"prompt_tokens", g.prompt_tokens},
                  {"prompt_seconds", g.prompt_seconds},
                  {"decode_seconds", g.decode_seconds}});
    else if (!g.text.ends_with('\n')) print_now("\n");
    if (arguments.stats) fmt::print(stderr, "{}\n", rates_of(g, model.cache));
  }
}

/// Chats in turns until the input ends, or a terminal sends an empty line.
void chat(GenerateArguments& arguments) {
  const ModelScope scope(arguments.model);
  const bool is_terminal = isatty(STDIN_FILENO) != 0;
  LoadedModel model(arguments.model);
  const models::ModelDescription& description = model.files->description();
  const models::ChatTemplate chat_template(description.chat_template);
  arguments.options.sampling.seed = static_cast<uint64_t>(arguments.seed);
  std::vector<models::ChatMessage> messages;
  if (!arguments.system.empty()) messages.push_back({"system", arguments.system});
  if (is_terminal) print_now(fmt::format("{}. An empty line ends the conversation.\n", description.name));
  std::string line;
  while ((is_terminal ? print_now("> ") : true) && std::getline(std::cin, line) && !line.empty()) {
    require(models::valid_utf8(line) == line.size(), "the line is not UTF-8 from byte {} on", models::valid_utf8(line));
    messages.push_back({"user", line});
    const std::vector<int32_t> prompt =
        chat_template.encode(messages, *model.tokenizer, description.bos, description.eos);
    const models::Generation g = explained(
        arguments.model, model, [&] { return model.generator.generate(prompt, arguments.options, print_now); });
    print_now("\n");
    messages.push_back({"assistant", g.text});
    if (arguments.stats) fmt::print(stderr, "{}\n", rates_of(g, model.cache));
  }
}

/// Returns the repetition penalty's; `usual`: its default, for the help.
Option add_generation_options(Command command, GenerateArguments& a, const char* usual) {
  models::SamplingOptions& s = a.options.sampling;
  command.option("--max-tokens N", a.options.max_tokens, "new tokens at most");
  command.option("--temperature T", s.temperature, "0: the likeliest token each time").show_default();
  command.option("--top-k K", s.top_k, "only the K likeliest tokens; 0: all").show_default();
  command.option("--top-p P", s.top_p, "only the likeliest tokens that together have this probability");
  command.option("--min-p P", s.min_p, "only tokens of this share of the likeliest's probability").show_default();
  const Option penalty =
      command
          .option("--repetition-penalty X", s.repetition_penalty,
                  fmt::format("above 1: tokens that occurred become less likely (default: {})", usual))
          .hide_default();
  command.option("--seed N", a.seed, "of the random choices").show_default();
  command.option("--stop", a.options.stops, "end before this text (may be given again)").one_value_each();
  command.flag("--stats", a.stats, "tokens per second, on standard error");
  return penalty;
}

}  // namespace

void add_generate_commands(Command app) {
  const auto g = std::make_shared<GenerateArguments>(), c = std::make_shared<GenerateArguments>();
  const Command generating = app.command("generate", "continue a text with a trained model"),
                chatting = app.command("chat", "talk with a trained model on the terminal");
  for (const auto& [command, arguments] : {std::pair(generating, g), {chatting, c}}) {
    add_model_options(command, arguments->model);
    add_exact_option(command, arguments->model);
    arguments->model.cache_dtype = "";
    add_cache_option(command, arguments->model);
  }
  const Option prompt =
      generating.option("--prompt TEXT", g->prompt, "the text; standard input without it").one_value();
  generating.option("--prompt-file FILE", g->prompt_file, "a file that holds the text").excludes(prompt);
  add_generation_options(generating, *g, "1");
  generating.flag("--ignore-eos", g->options.ignore_eos, "go on after the model's end token");
  generating
      .option("--parallel N", g->parallel,
              "continue the prompt N times, decoded together; text i has the seed --seed + i - 1")
      .range(1, 4096)
      .hide_default();
  generating.flag("--json", g->json, "text, token ids and times as one JSON object, at the end");
  generating.option("--rounds N", g->rounds, "generate N times, each from the start, for timing")
      .range(1, 1000)
      .hide_default();
  generating.action([g, prompt] { generate(*g, prompt.is_given()); });
  c->options.max_tokens = 1024;
  chatting.option("--system TEXT", c->system, "the system message (default: the model's own)");
  const Option penalty = add_generation_options(chatting, *c, "1.1; 1 with --exact");
  chatting.action([c, penalty] {
    if (!penalty.is_given() && !c->model.exact)
      c->options.sampling.repetition_penalty = 1.1;  // else small ones repeat themselves
    chat(*c);
  });
}

}  // namespace headroom::experiments
