#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/output/file.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/man_page.h"

namespace headroom::experiments {
namespace {

void write_pages(const CommandDescription& program, const std::filesystem::path& folder) {
  make_folder(folder);
  write_file(folder / "headroom.1", program_page(program));
  for (const CommandDescription& command : program.commands)
    write_file(folder / ("headroom-" + command.name + ".1"), command_page(command));
}

void print_page(const CommandDescription& program, const std::string& name) {
  if (name.empty()) {
    std::fputs(program_page(program).c_str(), stdout);
    return;
  }
  for (const CommandDescription& command : program.commands)
    if (command.name == name) {
      std::fputs(command_page(command).c_str(), stdout);
      return;
    }
  fail("man: '{}' is no command", excerpt(name));
}

}  // namespace

void add_man_command(CommandLine& line) {
  const auto name = std::make_shared<std::string>(), folder = std::make_shared<std::string>();
  const Command command = line.root().command("man", "the manual's page, or that of a command, as roff").hidden();
  command.option("COMMAND", *name, "a command; none: the program itself");
  command.option("--to", *folder, "write all pages into this folder").value_name("FOLDER");
  command.action([&line, name, folder] {
    if (folder->empty()) print_page(line.description(), *name);
    else write_pages(line.description(), *folder);
  });
}

void add_help_command(CommandLine& line) {
  const auto words = std::make_shared<std::vector<std::string>>();
  const Command command = line.root().command("help", "the help of the program, or of a command").hidden();
  command.option("COMMAND", *words, "a command; none: the program itself");
  command.action([&line, words] { std::fputs(line.help(*words).c_str(), stdout); });
}

}  // namespace headroom::experiments
