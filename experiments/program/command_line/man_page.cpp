#include "experiments/program/command_line/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/output/wrap.h"
#include "experiments/version.h"

namespace headroom::experiments {
namespace {

/// A text that roff prints as it is: no escape, no request, and hyphens that can be searched for and pasted.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else if (c == '\'') out += "\\(aq";
    else if (c == '^') out += "\\(ha";
    else if (c == '~') out += "\\(ti";
    else if (c == '`') out += "\\(ga";
    else out += c;
  }
  return out;
}

/// The text in lines of at most 72 characters, as far as its words allow: man fills them to the width of the terminal.
std::string filled(const std::string& text) { return roff(wrapped(text, 72)); }

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string heading(const std::string& name) {
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  return fmt::format(".TH {} 1 \"\" \"headroom {}\" \"headroom\"\n", roff(title), version());
}

/// "headroom run [OPTIONS] STUDY", with the brackets of what may be left out.
std::string synopsis(const CommandDescription& command, const std::string& path) {
  std::string line = ".B " + roff(path) + "\n";
  const auto is_option = [](const ArgumentDescription& a) { return !a.is_positional(); };
  // \&: a line that ends with a full stop ends a sentence, which man follows by two spaces.
  if (std::any_of(command.arguments.begin(), command.arguments.end(), is_option)) line += ".RI [ OPTION ]...\\&\n";
  for (const ArgumentDescription& argument : command.arguments) {
    if (!argument.is_positional()) continue;
    const std::string name = roff(argument.names[0]), dots = argument.is_list ? "...\\&" : "";
    line += argument.is_required ? ".IR " + name + (dots.empty() ? "\n" : " " + dots + "\n")
                                 : ".RI [ " + name + " ]" + dots + "\n";
  }
  if (!command.commands.empty()) line += ".I COMMAND\n";
  return line;
}

std::string entry_of(const ArgumentDescription& argument) {
  std::string names;
  for (const std::string& name : argument.names)
    names += (names.empty() ? "" : ", ") + (argument.is_positional() ? italic(name) : bold(name));
  if (!argument.is_positional() && !argument.value.empty()) names += " " + italic(argument.value);
  std::string text = argument.help;
  if (!argument.choices.empty()) text += fmt::format(" ({})", fmt::join(argument.choices, ", "));
  if (!argument.fallback.empty()) text += fmt::format(" [default: {}]", argument.fallback);
  if (argument.is_required && !argument.is_positional()) text += " [required]";
  return ".TP\n" + names + "\n" + filled(text) + "\n";
}

std::string arguments_of(const CommandDescription& command) {
  std::string positional;
  std::vector<std::pair<std::string, std::string>> headings;  // in the order of the help, with their options
  for (const ArgumentDescription& argument : command.arguments) {
    if (argument.is_positional()) {
      positional += entry_of(argument);
      continue;
    }
    auto own =
        std::find_if(headings.begin(), headings.end(), [&](const auto& h) { return h.first == argument.heading; });
    if (own == headings.end()) own = headings.insert(own, {argument.heading, ""});
    own->second += entry_of(argument);
  }
  std::string options;
  for (const auto& [name, entries] : headings) options += (name.empty() ? "" : ".SS " + roff(name) + "\n") + entries;
  return (positional.empty() ? "" : ".SH ARGUMENTS\n" + positional) +
         (options.empty() ? "" : ".SH OPTIONS\n" + options);
}

std::string commands_of(const CommandDescription& command) {
  if (command.commands.empty()) return "";
  std::string out = ".SH COMMANDS\n";
  for (const CommandDescription& below : command.commands) {
    out += ".TP\n" + bold(below.name) + "\n" + filled(below.help) + "\n";
    std::string own;
    for (const ArgumentDescription& argument : below.arguments)
      if (argument.names.back() != "--help") own += entry_of(argument);
    if (!own.empty()) out += ".RS\n" + own + ".RE\n";
  }
  return out;
}

/// The exit statuses of a command; empty: of the program.
std::string statuses(std::string_view command) {
  const bool judges = command == "verify" || command.empty(), resumes = command == "run" || command.empty();
  return fmt::format(
             ".SH EXIT STATUS\n.TP\n.B 0\nDone.\n.TP\n.B 1\nIt failed{};\none line on standard error says why.\n",
             judges ? ", or a claim that was verified does not hold" : "") +
         fmt::format(".TP\n.B 2\nThe arguments are wrong.\n.TP\n.B 130\nStopped by a signal{}.\n",
                     resumes ? "; the same command goes on with a run" : "");
}

constexpr const char* environment = R"(.SH ENVIRONMENT
.TP
.B HEADROOM_DATA
The folder that holds data/ and models/, where
.B \-\-data
is not given.
.TP
.B HEADROOM_THREADS
The number of threads. Results do not depend on it.
.TP
.B HEADROOM_ISA
.BR portable ", " avx2 " or " avx512 :
holds the kernels at a lower level than the processor has.
.TP
.B XDG_CACHE_HOME
Data sets are fetched into
.I headroom
below it (default: ~/.cache).
.TP
.B HEADROOM_SHARE
The folder whose
.I experiments
holds the studies that come with the program (default: as installed beside it).
.TP
.B NO_COLOR
Where it is set and not empty, nothing on the terminal is coloured.
.TP
.B BROWSER
What
.B headroom report \-\-open
shows a page with.
.SH FILES
.TP
.I PREFIX/share/headroom/experiments
The studies that come with the program.
A study is named by its file or by its id, for which the working folder and its
.I experiments
are searched first.
.TP
.I runs/STUDY/PROFILE
What a run keeps: its store, its report.
)";

}  // namespace

std::string program_page(const CommandDescription& program) {
  std::string out = heading("headroom") + ".SH NAME\nheadroom \\-\n" + filled(program.help) + "\n";
  out += ".SH SYNOPSIS\n.B headroom\n.I COMMAND\n.RI [ ARGUMENT ]...\n";
  out += ".SH DESCRIPTION\n" +
         filled(
             "Trains small Transformers with attention heads of any number and width as a study file says, judges the "
             "claims of the study, and writes a report.") +
         "\nEach command has a page of its own:\n"
         ".BR headroom\\-run (1)\nand so on.\n";
  out += ".SH COMMANDS\n";
  for (const CommandDescription& command : program.commands)
    out += ".TP\n" + bold(command.name) + "\n" + filled(command.help) + "\n";
  out += ".SH OPTIONS\n";
  for (const ArgumentDescription& argument : program.arguments) out += entry_of(argument);
  out += environment + statuses("") + ".SH SEE ALSO\n";
  for (const CommandDescription& command : program.commands)
    out += fmt::format(".BR \\%headroom\\-{} (1){}\n", roff(command.name),
                       &command == &program.commands.back() ? "" : ",");
  return out;
}

std::string command_page(const CommandDescription& command) {
  const std::string name = "headroom-" + command.name;
  return heading(name) + ".SH NAME\n" + roff(name) + " \\-\n" + filled(command.help) + "\n.SH SYNOPSIS\n" +
         synopsis(command, "headroom " + command.name) + arguments_of(command) + commands_of(command) +
         statuses(command.name) + ".SH SEE ALSO\n.BR headroom (1)\n";
}

}  // namespace headroom::experiments
