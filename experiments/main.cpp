#include <execinfo.h>
#include <fmt/core.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <thread>
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

/// Prints the message in one line of bounded length.
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
  CommandLine line("headroom", "How many attention heads does a Transformer need, and how wide?",
                   "headroom " + version_text());
  using Add = void (*)(Command);
  const std::pair<const char*, std::vector<Add>> groups[] = {
      {"Studies",
       {add_list_commands, add_run_command, add_status_command, add_serve_command, add_report_commands,
        add_runs_commands, add_export_commands, add_judge_command, add_register_command, add_submit_command}},
      {"Models",
       {add_probe_command, add_compress_command, add_finetune_command, add_eval_command, add_generate_commands,
        add_answer_command, add_logits_command, add_tokenize_command, add_spectrum_command, add_convert_command,
        add_verify_model_command}},
      {"Planning", {add_plan_command, add_bench_command}},
      {"Tools", {add_doctor_command, add_data_command, add_ops_command, add_new_op_command}}};
  for (const auto& [heading, commands] : groups)
    for (const Add add : commands) add(line.root().under(heading));
  add_completion_command(line);
  add_man_command(line);
  add_help_command(line);
  return line.run(argc, argv,
                  {"list", "run", "serve", "report", "judge", "probe", "compress", "convert", "chat", "plan"});
}

/// Runs the program and returns its exit status; reports errors in a line.
int guarded(int argc, char** argv) {
  try {
    const int status = run(argc, argv);
    // Here, for every command: a full disk may refuse output that is still buffered.
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
    if (error.code() == std::errc::resource_unavailable_try_again)
      return complain("the system gives no more threads (ulimit -u) or no memory for them (ulimit -v)", failed);
    if (std::ferror(stdout) == 0) return complain(error.what(), failed);
    return complain("standard output cannot be written to: " + error.code().message(), failed);
  } catch (const std::exception& error) {
    return complain(error.what(), failed);
  }
}

/// True if a limited address space (ulimit -v) has room for threads and oneDNN's kernels: the libraries that need them
/// crash without. All threads then share one heap of the C library; each would reserve 64 MiB for its own.
bool has_room() {
  constexpr size_t least = size_t{48} << 20;
  struct rlimit space {};
  if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return true;
  mallopt(M_ARENA_MAX, 1);
  void* const room = mmap(nullptr, least, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return room != MAP_FAILED && munmap(room, least) == 0;
}

/// guarded(), in a thread with a stack of the usual size if the limit (ulimit -s) is lower.
int with_usual_stack(int argc, char** argv) {
  constexpr size_t usual = size_t{8} << 20;
  struct rlimit stack {};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= usual) return guarded(argc, argv);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, usual);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
  int status = failed;
  try {
    std::thread([&] { status = guarded(argc, argv); }).join();
  } catch (const std::system_error&) {
    status = guarded(argc, argv);
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  headroom::experiments::keep_standard_descriptors();
  // The C library loads its unwinder when first needed, and aborts if it lacks the memory: load it now.
  void* frame = nullptr;
  backtrace(&frame, 1);
  if (!has_room())
    return complain("the limit of the address space (ulimit -v) leaves less than 48 MiB beside the program", failed);
  return with_usual_stack(argc, argv);
}
