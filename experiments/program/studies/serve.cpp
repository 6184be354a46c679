#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "engine/error.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/listen_arguments.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/serve/live_view.h"
#include "experiments/program/studies/study_arguments.h"

namespace headroom::experiments {
namespace {

struct ServeArguments {
  std::string out = "runs";
  ListenArguments listen{.port = 8765};
};

void serve(const ServeArguments& arguments) {
  require(std::filesystem::is_directory(arguments.out), "{}: there is no such folder; --out names that of the runs",
          arguments.out);
  const bool is_local = is_loopback(arguments.listen.host);
  const std::string token = random_token();
  const LiveView view(arguments.out, {token, arguments.listen.host, is_local});
  HttpServer server([&](const HttpRequest& request) { return view.check(request); },
                    [&](const HttpRequest& request) { return view.answer(request); }, arguments.listen.host,
                    arguments.listen.port);
  const std::atomic<bool>& is_to_end = stop_on_signals();
  print_text("{}/{}\n", server.address(), is_local ? "#token=" + token : "");
  flush_output();
  if (!is_local)
    write_note("headroom: anybody who can reach this address can read the runs; notes, tags and deletion are off");
  write_note("headroom: Ctrl-C ends it");
  std::thread answering([&] { server.run(); });
  while (!is_to_end) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  server.stop();
  answering.join();
}

}  // namespace

void add_serve_command(Command app) {
  const Command command = app.command("serve", "show the runs in a browser while they train");
  const auto a = std::make_shared<ServeArguments>();
  add_out_option(command, a->out);
  add_listen_options(command, a->listen, "read the runs, and nothing can be changed");
  command.action([a] { serve(*a); });
}

}  // namespace headroom::experiments
