#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// The command line of the program. Only arguments.cpp sees the parser behind it (CLI11), whose templates take the
/// compiler seconds in every file that includes them.
namespace headroom::experiments {

/// Invalid command-line arguments.
struct UsageError : Error {
  using Error::Error;
};

/// Thrown by a command's action: ends the program with this status, without a message.
struct Exit {
  int status;
};

/// Description of one argument in the help.
struct ArgumentDescription {
  std::vector<std::string> names;    ///< {"-o", "--out"}; {"STUDY"} of a positional one
  std::string value;                 ///< the word for its value, "TEXT" or "FILE"; "" for a flag
  std::vector<std::string> choices;  ///< of one_of()
  std::string fallback, help;        ///< its default, if the help shows it; its line
  bool is_list = false;
  bool is_positional() const { return !names[0].starts_with('-'); }
};

/// Description of a command in the help; completions are made from it. Hidden commands are left out.
struct CommandDescription {
  std::string name, help;
  std::vector<ArgumentDescription> arguments;
  std::vector<CommandDescription> commands;
};

/// One argument of a command. The setters return the argument itself.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option required() const;
  /// Shows the variable's initial value in the help, even 0; otherwise hides it.
  Option show_default() const;
  Option hide_default() const;
  /// Refuses values outside [least, most].
  Option range(int least, int most) const;
  Option range(double least, double most) const;
  /// Refuses all other values.
  Option one_of(const std::vector<std::string>& values) const;
  /// Marks a file that the command writes. Before the command begins, an existing file is refused without --force, and
  /// so is one that another argument names or holds (models::check_apart).
  Option output() const;
  /// Marks an output that the command writes by its own rules, but never over one that another argument names.
  Option output_apart() const;
  /// Refuses the two together.
  Option excludes(Option other) const;
  /// Reads path(value) instead of the value.
  Option path_by(std::string (*path)(const std::string& name)) const;
  /// Checks the value after the outputs and before the command begins; `check` throws Error.
  Option checked_by(void (*check)(const std::string& value)) const;
  /// Takes one value that may be empty.
  Option one_value() const;
  /// Takes one value of a list each time that the option is given, so that other arguments may follow the value.
  Option one_value_each() const;
  /// True if the user gave it. Only valid in an action.
  bool is_given() const;

 private:
  CLI::Option* option_;
};

/// A command of the program, such as `run`, or the program itself.
class Command {
 public:
  explicit Command(CLI::App* app, const char* heading = nullptr) : app_(app), heading_(heading) {}
  Command command(const char* name, const char* help) const;
  /// Leaves the command out of help, man pages and completions.
  Command hidden() const;
  /// The same command; options and commands added through it go under a heading of the help and the manual.
  Command under(const char* heading) const { return Command(app_, heading); }
  /// Adds an option ("-o,--out FILE") or, without dashes, a positional argument ("STUDY"), read into `value`, which
  /// must outlive the command line. A word after the names replaces the type's in the help. An initial value other than
  /// 0 or "" is shown there as the default. T is std::string, int, int64_t, double, std::optional<int64_t> or
  /// std::vector<std::string>.
  template <class T>
  Option option(const std::string& name, T& value, const std::string& help) const;
  /// Adds an option without a value, which sets `value`.
  Option flag(const std::string& name, bool& value, const std::string& help) const;
  /// Adds an option that prints a text and ends the program, whatever else is given.
  void shows(const std::string& name, const std::string& help, std::function<std::string()> text) const;
  /// Sets the function to run once the arguments are read.
  void action(std::function<void()> run) const;
  /// Requires one of the command's own commands.
  void require_command() const;

 private:
  CLI::App* app_;
  const char* heading_;  ///< null: none
};

/// The command that this process was given, as a shell reads it: "headroom convert a.gguf -o b.gguf"; "" before
/// CommandLine::run().
const std::string& command_as_given();

/// The program's command line.
class CommandLine {
 public:
  CommandLine(const char* name, const char* help, const std::string& version);
  ~CommandLine();
  /// The program itself: add commands to it.
  Command root() const;
  /// Every command that was added.
  CommandDescription description() const;
  /// The help of the command with these words ({"data", "fetch"}), or without any all of the program's. Throws
  /// UsageError with the nearest name if there is no such command.
  std::string help(const std::vector<std::string>& words) const;
  /// Reads the arguments and runs the action of the command that they name; without any, prints the help of one screen,
  /// in which the commands `first` have a line each. Returns the exit status: 0, or the one an action threw as Exit.
  /// Throws UsageError that says how to see the command's options, and passes on other errors of an action.
  int run(int argc, char** argv, const std::vector<std::string>& first);

 private:
  int run_command(int argc, char** argv);
  std::unique_ptr<CLI::App> app_;
};

}  // namespace headroom::experiments
