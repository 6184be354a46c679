#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/program/command_line/arguments.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/studies/toml/complaints.h"
#include "experiments/version.h"

namespace {

constexpr int failed = 1, usage = 2;

/// One line of bounded length, whatever the message.
int complain(std::string message, int code) {
  constexpr size_t longest = 4000;
  for (size_t at = message.find("\n  "); at != std::string::npos; at = message.find("\n  ", at))
    message.replace(at, 3, "; ");
  headroom::experiments::write_note("headroom: error: " + headroom::excerpt(message, longest));
  return code;
}

std::string words_of(const std::filesystem::filesystem_error& error) {
  return fmt::format("{}: {}", error.path1().string(), error.code().message());
}

int run(int argc, char** argv) {
  using namespace headroom::experiments;
  CommandLine line(
      "headroom", "How many attention heads does a Transformer need, and how wide? Trains, measures, judges and plans.",
      "headroom " + version_text());
  using Add = void (*)(Command);
  const std::pair<const char*, std::vector<Add>> groups[] = {
      {"Studies",
       {add_list_commands, add_run_command, add_status_command, add_serve_command, add_report_commands,
        add_runs_commands, add_export_commands, add_submit_command}},
      {"Models",
       {add_probe_command, add_compress_command, add_finetune_command, add_eval_command, add_generate_commands,
        add_logits_command, add_tokenize_command, add_spectrum_command, add_convert_command, add_verify_model_command}},
      {"Planning", {add_plan_command, add_bench_command}},
      {"Tools", {add_doctor_command, add_data_command, add_ops_command, add_new_op_command}}};
  for (const auto& [heading, commands] : groups)
    for (const Add add : commands) add(line.root().under(heading));
  add_completion_command(line);
  add_man_command(line);
  add_help_command(line);
  return line.run(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  headroom::experiments::keep_standard_descriptors();
  try {
    const int status = run(argc, argv);
    // Here, for every command: what it printed may still be in a buffer that a full disk refuses.
    headroom::experiments::flush_output();
    return status;
  } catch (const headroom::experiments::UsageError& error) {
    return complain(error.what(), usage);
  } catch (const headroom::experiments::ConfigError& error) {
    for (const std::string& problem : error.problems()) complain(problem, failed);
    return failed;
  } catch (const headroom::Error& error) {
    return complain(error.what(), failed);
  } catch (const std::bad_alloc&) {
    return complain("not enough memory", failed);
  } catch (const nlohmann::json::exception& error) {
    return complain("unexpected JSON: " + headroom::plain_words(error.what()), failed);
  } catch (const std::filesystem::filesystem_error& error) {
    return complain(words_of(error), failed);
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) return complain(error.what(), failed);
    return complain("standard output cannot be written to: " + error.code().message(), failed);
  } catch (const std::exception& error) {
    return complain(error.what(), failed);
  }
}
