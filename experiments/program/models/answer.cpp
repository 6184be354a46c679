#include <malloc.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "experiments/program/answer/endpoint.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/listen_arguments.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/models/model_arguments.h"

namespace headroom::experiments {
namespace {

struct AnswerArguments {
  ModelArguments model;
  ListenArguments listen{.port = 8080};
  int64_t parallel = 8;
};

/// Prompts of a harness come by the hundred, and one request may wait for many others.
constexpr HttpRules rules{.body_bytes = 8 << 20,
                          .all_body_bytes = 16 << 20,
                          .handler_threads = 64,
                          .answer_patience = std::chrono::hours(12),
                          .refusal = protocol_error};

void answer(const AnswerArguments& arguments) {
  mallopt(M_ARENA_MAX, 1);  // else each connection's thread keeps what its request took
  const ModelScope scope(arguments.model);
  const auto files = models::ModelFiles::open(arguments.model.path);
  const auto tokenizer = files->tokenizer();
  const auto model = arguments.model.load(*files);
  TextService service(*model, *tokenizer, files->description(), arguments.model.cache_types(model->config()),
                      arguments.parallel);
  Endpoint endpoint(service, files->description(), *tokenizer, arguments.listen.host);
  HttpServer server([&](const HttpRequest& request) { return endpoint.check(request); },
                    [&](const HttpRequest& request) { return endpoint.answer(request); }, arguments.listen.host,
                    arguments.listen.port, rules);
  const std::atomic<bool>& is_to_end = stop_on_signals();
  print_text("{}/v1\n", server.address());
  flush_output();
  if (!is_loopback(arguments.listen.host)) write_note("headroom: anybody who can reach this address can use the model");
  write_note("headroom: Ctrl-C ends it");
  std::thread answering([&] { server.run(); });
  const std::shared_ptr<void> at_the_end(nullptr, [&](void*) {
    endpoint.end();
    server.stop();
    answering.join();
  });
  service.run(is_to_end);
}

}  // namespace

void add_answer_command(Command app) {
  const Command command = app.command("answer", "answer completion requests over HTTP, with log-probabilities");
  const auto a = std::make_shared<AnswerArguments>();
  a->model.cache_dtype = "";
  add_model_options(command, a->model);
  add_exact_option(command, a->model);
  add_cache_option(command, a->model);
  add_listen_options(command, a->listen, "use the model");
  command.option("--parallel N", a->parallel, "texts that grow at once; others wait").range(1, 64);
  command.action([a] { answer(*a); });
}

}  // namespace headroom::experiments
