#include "experiments/program/command_line/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <type_traits>
#include <utility>

#include "engine/excerpt.h"
#include "engine/read_number.h"
#include "experiments/output/text.h"
#include "experiments/output/wrap.h"
#include "experiments/studies/toml/complaints.h"
#include "models/files/output.h"

namespace headroom::experiments {
namespace {

std::string given;  ///< of command_as_given()

/// Facts that CLI11 does not keep about an option of the process's one command line.
struct OptionExtra {
  std::vector<std::string> choices;
  bool is_output = false, must_be_new = false;
  void (*check)(const std::string& value) = nullptr;
};

OptionExtra& extra_of(const CLI::Option* option) {
  static std::map<const CLI::Option*, OptionExtra> extras;
  return extras[option];
}

/// The given values, or the default that the help shows.
std::vector<std::string> values_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};  // a flag
  if (option.count() > 0) return option.reduced_results();
  return {option.get_default_str()};
}

/// Throws Error if an output of the command is one of its inputs, or exists and must not be replaced.
void check_outputs(CLI::App& command) {
  std::vector<models::CommandInput> inputs;
  std::vector<CLI::Option*> outputs;
  for (CLI::Option* option : command.get_options(nullptr)) {
    if (extra_of(option).is_output) outputs.push_back(option);
    else
      for (const std::string& value : values_of(*option))
        if (!value.empty())
          inputs.push_back({option->get_positional() ? option->get_name(true) : option->get_name(), value});
  }
  const CLI::Option* force = command.get_option_no_throw("--force");
  std::map<std::filesystem::path, std::string> taken;
  for (CLI::Option* option : outputs) {
    if (option->count() == 0) continue;
    const std::filesystem::path path = option->reduced_results().at(0);
    models::check_apart(path, inputs);
    if (extra_of(option).must_be_new) models::check_new(path, force != nullptr && force->count() > 0);
    std::error_code error;
    const std::filesystem::path place = std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
    const auto [other, is_new] = taken.emplace(error ? path : place, option->get_name());
    require(is_new, "{}: {} and {} would write the same file; name another", path.string(), other->second,
            option->get_name());
  }
}

/// The problem with the text of a T or std::optional<T>; "" for none.
template <class T>
std::string number_problem(const std::string& text) {
  using Number = std::conditional_t<std::is_arithmetic_v<T>, T, int64_t>;
  const auto number = read_number<Number>(text);
  const bool is_whole = std::is_integral_v<Number>;  // CLI11 reads those as octal after a leading 0
  if (number && (!is_whole || fmt::format("{}", *number) == text)) return "";
  return fmt::format("'{}' is not a {}number of {} bits", excerpt(text, 40), is_whole ? "whole " : "",
                     8 * sizeof(Number));
}

}  // namespace

Option Option::required() const { return Option(option_->required()); }
Option Option::show_default() const { return Option(option_->capture_default_str()); }
Option Option::hide_default() const { return Option(option_->default_str("")); }
Option Option::range(int least, int most) const { return Option(option_->check(CLI::Range(least, most))); }
Option Option::range(double least, double most) const {
  // CLI::Range would let NaN pass.
  const auto check = [least, most](const std::string& text) {
    return read_number(text, least, most) ? std::string()
                                          : fmt::format("'{}' is not a number from {} to {}", text, least, most);
  };
  return Option(option_->check(CLI::Validator(check, fmt::format("FLOAT in [{} - {}]", least, most))));
}
Option Option::one_of(const std::vector<std::string>& values) const {
  extra_of(option_).choices = values;
  CLI::Validator member = CLI::IsMember(values);
  const bool has_comma = std::any_of(values.begin(), values.end(),
                                     [](const std::string& value) { return value.find(',') != std::string::npos; });
  if (has_comma) member.description(fmt::format("{{{}}}", fmt::join(values, " | ")));
  return Option(option_->check(member));
}
Option Option::output() const {
  extra_of(option_).must_be_new = true;
  return output_apart();
}
Option Option::output_apart() const {
  extra_of(option_).is_output = true;
  return *this;
}
Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }
Option Option::path_by(std::string (*path)(const std::string& name)) const {
  const auto replace = [path](std::string& value) {
    value = path(value);
    return std::string();
  };
  return Option(option_->transform(CLI::Validator(replace, "", "")));
}
Option Option::checked_by(void (*check)(const std::string& value)) const {
  extra_of(option_).check = check;
  return *this;
}
Option Option::one_value() const { return Option(option_->expected(1)); }
Option Option::one_value_each() const { return Option(option_->allow_extra_args(false)); }
bool Option::is_given() const { return option_->count() > 0; }

Command Command::command(const char* name, const char* help) const {
  CLI::App* const command = app_->add_subcommand(name, help);
  if (heading_ != nullptr) command->group(heading_);
  return Command(command);
}

Command Command::hidden() const { return Command(app_->group("")); }

template <class T>
Option Command::option(const std::string& name, T& value, const std::string& help) const {
  const size_t space = name.find(' ');
  CLI::Option* option = app_->add_option(name.substr(0, space), value, help);
  if (space != std::string::npos) option->type_name(name.substr(space + 1));
  else if constexpr (std::is_arithmetic_v<T>) option->type_name(std::is_integral_v<T> ? "N" : "X");
  if constexpr (std::is_arithmetic_v<T>) {
    if (value > T{} || value < T{}) option->capture_default_str();  // NaN stands for none
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.empty()) option->capture_default_str();
  }
  // CLI11 clamps numbers that do not fit, takes 010 for 8, and accepts infinity and NaN.
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::optional<int64_t>>)
    option->check(CLI::Validator(number_problem<T>, ""));
  if (heading_ != nullptr) option->group(heading_);
  return Option(option);
}
template Option Command::option(const std::string&, std::string&, const std::string&) const;
template Option Command::option(const std::string&, int&, const std::string&) const;
template Option Command::option(const std::string&, int64_t&, const std::string&) const;
template Option Command::option(const std::string&, double&, const std::string&) const;
template Option Command::option(const std::string&, std::optional<int64_t>&, const std::string&) const;
template Option Command::option(const std::string&, std::vector<std::string>&, const std::string&) const;

Option Command::flag(const std::string& name, bool& value, const std::string& help) const {
  CLI::Option* option = app_->add_flag(name, value, help);
  if (heading_ != nullptr) option->group(heading_);
  return Option(option);
}

void Command::shows(const std::string& name, const std::string& help, std::function<std::string()> text) const {
  const auto show = [text = std::move(text)] {
    std::fputs(text().c_str(), stdout);
    throw Exit{0};
  };
  CLI::Option* option = app_->add_flag_callback(name, show, help);
  if (heading_ != nullptr) option->group(heading_);
}

void Command::action(std::function<void()> run) const {
  app_->callback([app = app_, run = std::move(run)] {
    check_outputs(*app);
    for (const CLI::Option* option : app->get_options(nullptr))
      if (const auto check = extra_of(option).check)
        for (const std::string& value : values_of(*option)) check(value);
    run();
  });
}

void Command::require_command() const { app_->require_subcommand(1); }

namespace {

/// Finds a command by name below another; null if there is none.
const CLI::App* command_below(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_name() == name) return command;
  return nullptr;
}

/// Says that a word names no command below this one, with the nearest name; if none is near, with all of a few.
std::string no_command(const CLI::App& app, const std::string& word) {
  std::set<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) names.insert(command->get_name());
  std::string small = word;
  std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string near = nearest_path(small, names);
  constexpr size_t few = 8;
  const bool shows_all = near.empty() && !names.empty() && names.size() <= few;
  return fmt::format("no command '{}' in {}{}{}", excerpt(word), app.get_name(),
                     near.empty() ? "" : fmt::format("; did you mean {}?", near),
                     shows_all ? fmt::format(": there are {}", fmt::join(names, ", ")) : "");
}

/// The first word in place of a command's name that is none, with the nearest one.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_commands = !at->get_subcommands([](const CLI::App*) { return true; }).empty();
    if (!has_commands || word.empty() || word[0] == '-') return "";
    const CLI::App* next = command_below(*at, word);
    if (next == nullptr) return no_command(*at, word);
    at = next;
  }
  return "";
}

/// The long option that a mistyped one stands for: one with this beginning, or the fewest edits away; "" if none is
/// near.
std::string option_near(const CLI::App& command, const std::string& word) {
  constexpr size_t least = 5;  // two letters after the dashes are near to too many
  if (word.size() < least || !word.starts_with("--")) return "";
  std::set<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames())
      if (!option->get_group().empty()) names.insert("--" + name);
  const auto begins = names.lower_bound(word);
  return begins != names.end() && begins->starts_with(word) ? *begins : nearest_path(word, names);
}

/// The first mistyped option, with the right one; "" if there is none. Reported before anything missing: "--metod
/// plain" lacks --method.
std::string mistyped_option(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], name = word.substr(0, word.find('='));
    if (word == "--") return "";
    if (!word.starts_with("-")) {
      if (const CLI::App* next = command_below(*at, word)) at = next;
      continue;
    }
    if (at->get_option_no_throw(name) != nullptr) continue;
    if (const std::string near = option_near(*at, name); !near.empty())
      return fmt::format("no option '{}' for {}; did you mean {}?", excerpt(name), at->get_name(), near);
  }
  return "";
}

/// CLI11's messages for too few and too many values, shortened.
std::string in_words(const CLI::ParseError& error) {
  const std::string text = error.what();
  const size_t colon = text.find(':');
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr || colon == std::string::npos) return text;
  if (text.find(" missing", colon) != std::string::npos) return text.substr(0, colon) + ": expected a value";
  if (text.find("At Most 1 required", colon) != std::string::npos) return text.substr(0, colon) + ": is given twice";
  return text;
}

/// The problem with the arguments, as helpfully as possible.
std::string complaint(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (std::string unknown = unknown_command(app, argc, argv); !unknown.empty()) return unknown;
  const bool may_be_mistyped = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                               dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (std::string mistyped = may_be_mistyped ? mistyped_option(app, argc, argv) : ""; !mistyped.empty())
    return mistyped;
  return in_words(error);
}

/// The call that shows the options of the command named by the arguments.
std::string help_call(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  std::string words;
  for (int i = 1; i < argc; ++i) {
    const CLI::App* next = command_below(*at, argv[i]);
    if (next == nullptr) break;
    at = next;
    words += " " + at->get_name();
  }
  return app.get_name() + (words.empty() ? " --help" : " help" + words);
}

/// The letter or word that stands for an option's value; "" for a flag.
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const std::string type = option.get_type_name();  // "TEXT:{a,b}", "N:INT in [1 - 4096]"
  return type.substr(0, type.find(':', type == "A:B" ? 2 : 0));
}

/// The program's help on one screen of 80 × 24: the commands that most people need, and the names of the others.
class ShortHelp : public CLI::Formatter {
 public:
  explicit ShortHelp(std::vector<std::string> first) : first_(std::move(first)) {}

  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    std::string out = wrapped(app->get_description(), columns) + "\nUsage: headroom COMMAND [OPTIONS]\n";
    std::vector<std::string> headings;
    const auto shown = app->get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
    for (const CLI::App* command : shown)
      if (std::find(headings.begin(), headings.end(), command->get_group()) == headings.end())
        headings.push_back(command->get_group());
    for (const std::string& heading : headings) {
      std::vector<std::string> others;
      out += heading + ":\n";
      for (const CLI::App* command : shown) {
        if (command->get_group() != heading) continue;
        const std::string& name = command->get_name();
        if (std::find(first_.begin(), first_.end(), name) == first_.end()) others.push_back(name);
        else out += fmt::format("  {:<14}{}\n", name, command->get_description());
      }
      if (!others.empty())
        out += wrapped(fmt::format("  also          {}", fmt::join(others, ", ")), columns, 16) + "\n";
    }
    return out + "headroom help describes every command, headroom help COMMAND its options.\n";
  }

 private:
  static constexpr size_t columns = 80;
  std::vector<std::string> first_;
};

/// The help of a command: behind each option the letter or the choices that stand for its value, and its default.
class CommandHelp : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::vector<std::string>& choices = extra_of(option).choices;
    std::string value = choices.empty() ? value_of(*option) : fmt::format("{{{}}}", fmt::join(choices, " | "));
    if (option->get_positional() && choices.empty()) return "";
    if (!value.empty()) value.insert(0, " ");
    if (!option->get_default_str().empty()) value += "=" + option->get_default_str();
    if (option->get_required() && !option->get_positional()) value += " (required)";
    return value;
  }
};

/// The program's whole help: a line for each command in 80 columns.
std::shared_ptr<CLI::Formatter> whole_help() {
  const auto narrow = std::make_shared<CLI::Formatter>();
  narrow->column_width(16);
  return narrow;
}

ArgumentDescription describe(CLI::Option& option) {
  ArgumentDescription argument;
  for (const std::string& name : option.get_snames()) argument.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) argument.names.push_back("--" + name);
  if (argument.names.empty()) argument.names.push_back(option.get_name(true));
  argument.value = value_of(option);
  argument.choices = extra_of(&option).choices;
  argument.fallback = option.get_default_str();
  argument.help = option.get_description();
  argument.is_list = option.get_items_expected_max() > 1;
  return argument;
}

CommandDescription describe(CLI::App& app) {
  CommandDescription command{app.get_name(), app.get_description(), {}, {}};
  for (CLI::Option* option : app.get_options(nullptr))
    if (!option->get_group().empty()) command.arguments.push_back(describe(*option));
  for (CLI::App* below : app.get_subcommands([](CLI::App* one) { return !one->get_group().empty(); }))
    command.commands.push_back(describe(*below));
  return command;
}

}  // namespace

CommandLine::CommandLine(const char* name, const char* help, const std::string& version)
    : app_(std::make_unique<CLI::App>(help, name)) {
  app_->formatter(std::make_shared<CommandHelp>());  // commands inherit it when they are added
  app_->set_version_flag("--version", version);
  app_->require_subcommand(0, 1);  // none is an error below: CLI11 would take a misspelt one for none
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() const { return Command(app_.get()); }

CommandDescription CommandLine::description() const { return describe(*app_); }

std::string CommandLine::help(const std::vector<std::string>& words) const {
  const CLI::App* at = app_.get();
  std::string path = at->get_name();
  for (const std::string& word : words) {
    const CLI::App* next = command_below(*at, word);
    if (next == nullptr) throw UsageError(no_command(*at, word));
    at = next;
    path += " " + word;
  }
  // help() would go on to the command that was called: help itself.
  const auto formatter = words.empty() ? whole_help() : at->get_formatter();
  return formatter->make_help(at, path, CLI::AppFormatMode::Normal);
}

const std::string& command_as_given() { return given; }

int CommandLine::run(int argc, char** argv, const std::vector<std::string>& first) {
  given = app_->get_name();
  for (int i = 1; i < argc; ++i) given += " " + shell_word(argv[i]);
  // Set this late, because commands inherit it when they are added.
  app_->footer("headroom help COMMAND shows the options of a command.");
  // Commands have a formatter of their own by now.
  app_->formatter(std::make_shared<ShortHelp>(first));
  try {
    return run_command(argc, argv);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{} (see {})", error.what(), help_call(*app_, argc, argv)));
  }
}

int CommandLine::run_command(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const Exit& exit) {
    return exit.status;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw UsageError(excerpt(complaint(*app_, error, argc, argv), 500));
    std::ostringstream text;  // --help, --version
    const int status = app_->exit(error, text, text);
    std::fputs(text.str().c_str(), stdout);
    return status;
  }
  if (app_->get_subcommands().empty()) {
    // Options without a command: a word that should have been one comes first.
    if (argc > 1) throw UsageError("a command is required");
    std::fputs(app_->help().c_str(), stdout);
  }
  return 0;
}

}  // namespace headroom::experiments
