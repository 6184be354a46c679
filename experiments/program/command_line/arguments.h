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

/// Arguments that the program does not take.
struct UsageError : Error {
  using Error::Error;
};

/// Thrown by a command's action: ends the program with this status, without a message.
struct Exit {
  int status;
};

/// What the help says of one argument.
struct ArgumentDescription {
  std::vector<std::string> names;    ///< {"-o", "--out"}; {"STUDY"} of a positional one
  std::string value;                 ///< the word for its value, "TEXT" or "FILE"; "" of a flag
  std::vector<std::string> choices;  ///< of one_of()
  std::string fallback, help;        ///< its default, where the help shows it; its line
  bool is_list = false;
  bool is_positional() const { return !names[0].starts_with('-'); }
};

/// What the help says of a command: completions are made from it. Hidden commands are left out.
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
  /// Shows the variable's initial value in the help also where it is 0; hides it where it is not.
  Option show_default() const;
  Option hide_default() const;
  /// Refuses values outside [least, most].
  Option range(int least, int most) const;
  Option range(double least, double most) const;
  /// Refuses other values than these.
  Option one_of(const std::vector<std::string>& values) const;
  /// A file that the command writes. Before the command begins, an existing one is refused without its --force, and so
  /// is what another argument names or holds (models::check_apart).
  Option output() const;
  /// A file or folder that the command writes by rules of its own, but never over what another argument names.
  Option output_apart() const;
  /// Refuses the two together.
  Option excludes(Option other) const;
  /// Reads path(value) in place of the value.
  Option path_by(std::string (*path)(const std::string& name)) const;
  /// Checks the value, once the outputs are checked and before the command begins; `check` throws Error.
  Option checked_by(void (*check)(const std::string& value)) const;
  /// Takes one value that may be empty.
  Option one_value() const;
  /// A list's option takes one value each time that it is given, so that other arguments may follow the value.
  Option one_value_each() const;
  /// Whether the user gave it. Asked in an action.
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
  /// The same command, through which options and commands are added under a heading of the help and the manual.
  Command under(const char* heading) const { return Command(app_, heading); }
  /// An option ("-o,--out FILE") or, without dashes, a positional argument ("STUDY"), read into `value`, which must
  /// live as long as the command line. A word behind the names stands for the value in the help, in place of its
  /// type's. An initial value other than 0 or "" is shown there as the default. T is std::string, int, int64_t, double,
  /// std::optional<int64_t> or std::vector<std::string>.
  template <class T>
  Option option(const std::string& name, T& value, const std::string& help) const;
  /// An option without a value, which sets `value`.
  Option flag(const std::string& name, bool& value, const std::string& help) const;
  /// What the command does, once its arguments are read.
  void action(std::function<void()> run) const;
  /// The command needs one of its own commands.
  void require_command() const;

 private:
  CLI::App* app_;
  const char* heading_;  ///< null: none
};

/// What the program is called with.
class CommandLine {
 public:
  CommandLine(const char* name, const char* help, const std::string& version);
  ~CommandLine();
  /// The program itself: add commands to it.
  Command root() const;
  /// Every command that was added.
  CommandDescription description() const;
  /// The help of the command of these words ({"data", "fetch"}); of the program, of none. Throws UsageError with the
  /// nearest name where there is no such command.
  std::string help(const std::vector<std::string>& words) const;
  /// Reads the arguments and runs the action of the command that they name; without any, prints the help. Returns the
  /// program's exit status: 0, or what an action threw as Exit. Throws UsageError that says what shows the command's
  /// options, and whatever else an action throws.
  int run(int argc, char** argv);

 private:
  int run_command(int argc, char** argv);
  std::unique_ptr<CLI::App> app_;
};

}  // namespace headroom::experiments
