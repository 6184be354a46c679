#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/output/file.h"
#include "experiments/output/wrap.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/version.h"

namespace headroom::experiments {
namespace {

/// Escapes text for roff, which prints it verbatim and fills lines; hyphens can be searched for and pasted.
std::string roff(const std::string& text) {
  static const std::map<char, const char*> escapes{{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"},
                                                   {'^', "\\(ha"}, {'~', "\\(ti"}, {'`', "\\(ga"}};
  std::string out;
  for (const char c : wrapped(text, 72)) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    const auto escape = escapes.find(c);
    out += escape == escapes.end() ? std::string(1, c) : escape->second;
  }
  return out;
}

/// Prints the first word of a term in bold.
std::string entry(const std::string& term, const std::string& text) {
  const size_t end = std::min(term.find(' '), term.size());
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(term.substr(0, end)), roff(term.substr(end)), roff(text));
}

/// A command's help as roff: its usage, and an entry for each argument and command below. Leaves out the first line,
/// the description.
std::string body_of(const std::string& help, const char* heading) {
  static const std::map<std::string, const char*> sections{
      {"Positionals:", "ARGUMENTS"}, {"Options:", "OPTIONS"}, {"Subcommands:", "COMMANDS"}};
  std::string out, term, text, line;
  const auto end_entry = [&] {
    if (!term.empty()) out += entry(std::exchange(term, ""), std::exchange(text, ""));
  };
  std::istringstream lines(help);
  for (std::getline(lines, line); std::getline(lines, line);) {
    const size_t indent = line.find_first_not_of(' ');
    if (indent == std::string::npos) continue;
    if (indent <= 2) end_entry();
    if (indent == 0) {
      if (line.starts_with("Usage: ")) out += fmt::format("{} SYNOPSIS\n{}\n", heading, roff(line.substr(7)));
      else if (sections.contains(line)) out += fmt::format("{} {}\n", heading, sections.at(line));
      else if (line.ends_with(':'))  // the program's commands are in groups, of which this is the first
        out += fmt::format("{}.SS {}\n", line == "Studies:" ? fmt::format("{} COMMANDS\n", heading) : "",
                           roff(line.substr(0, line.size() - 1)));
      continue;
    }
    const size_t gap = indent == 2 ? std::min(line.find("  ", indent), line.size()) : 0;
    if (indent == 2) term = line.substr(indent, gap - indent);
    const size_t start = line.find_first_not_of(' ', gap);
    if (start != std::string::npos) text += (text.empty() ? "" : " ") + line.substr(start);
  }
  end_entry();
  return out;
}

std::string environment() {
  std::string out;
  for (const auto& [name, text] : std::initializer_list<std::pair<const char*, const char*>>{
           {"HEADROOM_DATA", "The folder that holds data/ and models/, unless --data names one."},
           {"HEADROOM_THREADS", "The number of threads. Results do not depend on it."},
           {"HEADROOM_ISA", "portable, avx2, avx512 or amx: the highest instruction level that kernels use."},
           {"XDG_CACHE_HOME", "Data sets are fetched into headroom below it (default: ~/.cache)."},
           {"HEADROOM_SHARE",
            "The folder whose experiments/ holds the program's own studies (default: the installed one)."},
           {"NO_COLOR", "If set and not empty, terminal output has no colour."},
           {"BROWSER", "The program that headroom report --open uses."}})
    out += entry(name, text);
  return ".SH ENVIRONMENT\n" + out + ".SH FILES\n" +
         entry("PREFIX/share/headroom/experiments",
               "The program's own studies. A study is named by its file or by its id, for which the working folder and "
               "its experiments are searched first.") +
         entry("runs/STUDY/PROFILE", "A run's store and report.");
}

std::string statuses(bool judges, bool resumes, bool is_judge = false) {
  return ".SH EXIT STATUS\n" + entry("0", "Done.") +
         entry("1", judges ? "It failed, or a claim fails." : "It failed; a line on standard error says why.") +
         entry("2", "The arguments are wrong.") + (is_judge ? entry("3", "No claim fails, but one is open.") : "") +
         entry("130", resumes ? "Stopped by a signal; the same command goes on with a run." : "Stopped by a signal.");
}

std::string title_of(std::string name, const std::string& help) {
  const std::string text = fmt::format(".SH NAME\n{} \\-\n{}\n", roff(name), roff(help));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  return fmt::format(".TH {} 1 \"\" \"headroom {}\" \"headroom\"\n", roff(name), version()) + text;
}

std::string program_page(const CommandLine& line, const CommandDescription& program) {
  std::string others;
  for (const CommandDescription& other : program.commands)
    others += fmt::format("{}.BR \\%headroom\\-{} (1)", others.empty() ? "" : ",\n", roff(other.name));
  return title_of("headroom", program.help) + body_of(line.help({}), ".SH") + ".SH DESCRIPTION\n" +
         roff(
             "Trains small Transformers with attention heads of any number and width as a study file says, judges the "
             "claims of the study, and writes a report. Each command has a page of its own: headroom-run(1) and so "
             "on.") +
         "\n" + environment() + statuses(true, true) + ".SH SEE ALSO\n" + others + "\n";
}

/// Puts subcommands, such as those of `data`, on the same page.
std::string command_page(const CommandLine& line, const CommandDescription& command) {
  std::string page = title_of("headroom-" + command.name, command.help) + body_of(line.help({command.name}), ".SH");
  for (const CommandDescription& below : command.commands)
    page += fmt::format(".SH {} {}\n{}\n{}", roff(command.name), roff(below.name), roff(below.help),
                        body_of(line.help({command.name, below.name}), ".SS"));
  const bool is_judge = command.name == "judge", judges = is_judge || command.name == "verify";
  return page + statuses(judges, command.name == "run", is_judge) + ".SH SEE ALSO\n.BR headroom (1)\n";
}

}  // namespace

void add_man_command(CommandLine& line) {
  const auto name = std::make_shared<std::string>(), folder = std::make_shared<std::string>();
  const Command command = line.root().command("man", "the manual's page, or that of a command, as roff").hidden();
  command.option("COMMAND", *name, "a command; none: the program itself");
  command.option("--to FOLDER", *folder, "write all pages into this folder");
  command.action([&line, name, folder] {
    const CommandDescription program = line.description();
    std::map<std::string, std::string> pages{{"", program_page(line, program)}};
    for (const CommandDescription& each : program.commands) pages[each.name] = command_page(line, each);
    if (folder->empty()) {
      require(pages.contains(*name), "man: '{}' is no command", excerpt(*name));
      return void(std::fputs(pages[*name].c_str(), stdout));
    }
    make_folder(*folder);
    for (const auto& [each, page] : pages)
      write_file(std::filesystem::path(*folder) / fmt::format("headroom{}{}.1", each.empty() ? "" : "-", each), page);
  });
}

void add_help_command(CommandLine& line) {
  const auto words = std::make_shared<std::vector<std::string>>();
  const Command command = line.root().command("help", "the help of the program, or of a command").hidden();
  command.option("COMMAND", *words, "a command; none: the program itself");
  command.action([&line, words] { std::fputs(line.help(*words).c_str(), stdout); });
}

}  // namespace headroom::experiments
