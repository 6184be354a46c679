#include "experiments/serve/http_server.h"

#include <httplib.h>
#include <sys/socket.h>

#include <exception>
#include <utility>

#include "engine/error.h"

namespace headroom::experiments {
namespace {

/// Each stream of events holds a thread for as long as its page is open.
constexpr size_t server_threads = 48;
constexpr size_t most_body_bytes = 64 << 10;

/// Pages load nothing from elsewhere and stand in no other page's frame.
constexpr const char* own_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

HttpRequest request_of(const httplib::Request& from) {
  HttpRequest request;
  request.method = from.method;
  request.path = from.path;
  for (const auto& [name, value] : from.params) request.query.emplace(name, value);
  request.host = from.get_header_value("Host");
  request.origin = from.get_header_value("Origin");
  request.token = from.get_header_value("X-Headroom-Token");
  request.content_type = from.get_header_value("Content-Type");
  request.body = from.body;
  return request;
}

void send(HttpAnswer answer, httplib::Response& response) {
  response.status = answer.status;
  response.set_header("Content-Security-Policy", answer.policy.empty() ? own_policy : answer.policy);
  if (!answer.next_event) return response.set_content(answer.body, answer.type.c_str());
  response.set_header("X-Accel-Buffering", "no");
  response.set_chunked_content_provider("text/event-stream",
                                        [next = std::move(answer.next_event)](size_t, httplib::DataSink& sink) {
                                          try {
                                            const std::string event = next();
                                            return event.empty() || sink.write(event.data(), event.size());
                                          } catch (const std::exception&) {
                                            return false;  // the page connects again
                                          }
                                        });
}

}  // namespace

struct HttpServer::Library {
  httplib::Server server;
};

HttpServer::HttpServer(Handler handler, const std::string& address, int port) : library_(std::make_unique<Library>()) {
  httplib::Server& server = library_->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(server_threads); };
  server.set_keep_alive_timeout(2);  // stop() waits for it
  server.set_read_timeout(5);
  server.set_write_timeout(5);
  server.set_payload_max_length(most_body_bytes);
  // Not the library's SO_REUSEPORT, with which two servers would share a port without a word.
  server.set_socket_options([](auto socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                              {"X-Frame-Options", "DENY"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cross-Origin-Resource-Policy", "same-origin"},
                              {"Cache-Control", "no-store"}});
  const auto answer = [handler = std::move(handler)](const httplib::Request& from, httplib::Response& response) {
    HttpAnswer reply;
    try {
      reply = handler(request_of(from));
    } catch (const std::exception& error) {
      reply = {500, "text/plain; charset=utf-8", std::string(error.what()) + "\n", ""};
    }
    send(std::move(reply), response);
  };
  // Before the library's routes, which are regular expressions. What has a body comes to them.
  server.set_pre_routing_handler([answer](const httplib::Request& from, httplib::Response& response) {
    if (from.method == "POST") return httplib::Server::HandlerResponse::Unhandled;
    answer(from, response);
    return httplib::Server::HandlerResponse::Handled;
  });
  server.Post(R"([\s\S]*)", answer);
  port_ = port == 0 ? server.bind_to_any_port(address) : server.bind_to_port(address, port) ? port : -1;
  require(port_ > 0,
          "{}:{}: cannot listen there: the port is taken, or the address is not this machine's; --port names "
          "another (0: any that is free)",
          address, port);
}

HttpServer::~HttpServer() = default;

void HttpServer::run() { library_->server.listen_after_bind(); }

void HttpServer::stop() { library_->server.stop(); }

}  // namespace headroom::experiments
