#include "experiments/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <sstream>
#include <utility>

#include "engine/excerpt.h"

namespace headroom::experiments {

Option Option::required() const { return Option(option_->required()); }
Option Option::show_default() const { return Option(option_->capture_default_str()); }
Option Option::value_name(const char* name) const { return Option(option_->type_name(name)); }
Option Option::range(int least, int most) const { return Option(option_->check(CLI::Range(least, most))); }
Option Option::range(double least, double most) const { return Option(option_->check(CLI::Range(least, most))); }
Option Option::one_of(const std::vector<std::string>& values) const {
  return Option(option_->check(CLI::IsMember(values)));
}
Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }
Option Option::one_value() const { return Option(option_->expected(1)); }
Option Option::one_value_each() const { return Option(option_->allow_extra_args(false)); }
bool Option::is_given() const { return option_->count() > 0; }

Command Command::command(const char* name, const char* help) const { return Command(app_->add_subcommand(name, help)); }

template <class T>
Option Command::option(const char* name, T& value, const char* help) const {
  return Option(app_->add_option(name, value, help));
}
template Option Command::option(const char*, std::string&, const char*) const;
template Option Command::option(const char*, int&, const char*) const;
template Option Command::option(const char*, int64_t&, const char*) const;
template Option Command::option(const char*, double&, const char*) const;
template Option Command::option(const char*, std::optional<int64_t>&, const char*) const;
template Option Command::option(const char*, std::vector<std::string>&, const char*) const;

Option Command::flag(const char* name, bool& value, const char* help) const {
  return Option(app_->add_flag(name, value, help));
}

void Command::action(std::function<void()> run) const { app_->callback(std::move(run)); }

void Command::require_command() const { app_->require_subcommand(1); }

CommandLine::CommandLine(const char* name, const char* help, const std::string& version)
    : app_(std::make_unique<CLI::App>(help, name)) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(0, 1);  // none is an error below: CLI11 would take a misspelt one for none
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() const { return Command(app_.get()); }

int CommandLine::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const Exit& exit) {
    return exit.status;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw UsageError(excerpt(error.what(), 500));
    std::ostringstream text;  // --help, --version
    const int status = app_->exit(error, text, text);
    std::fputs(text.str().c_str(), stdout);
    return status;
  }
  if (app_->get_subcommands().empty()) throw UsageError("a subcommand is required");
  return 0;
}

}  // namespace headroom::experiments
