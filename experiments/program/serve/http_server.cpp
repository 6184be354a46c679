#include "experiments/program/serve/http_server.h"

#include <fmt/format.h>
#include <microhttpd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <string_view>
#include <vector>

#include "engine/error.h"
#include "engine/read_number.h"
#include "experiments/program/serve/answer_bodies.h"
#include "experiments/program/serve/connections.h"
#include "experiments/program/serve/job_threads.h"
#include "experiments/program/serve/listen_socket.h"

namespace headroom::experiments {
namespace {

using Clock = std::chrono::steady_clock;
using Phase = Connections::Phase;

constexpr size_t most_answer_bytes = 64 << 20;
constexpr size_t connection_bytes = 32 << 10;  ///< for the request's line and headers, and the answer's
constexpr int most_headers = 100;
constexpr unsigned idle_seconds = 5;
constexpr std::chrono::milliseconds look_pause{100};

/// Pages load nothing from elsewhere, and no other page may frame them.
constexpr const char* own_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// Each connection and the file it may send need a descriptor; stores and standard streams need some, too.
unsigned most_connections() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  return static_cast<unsigned>(std::clamp<rlim_t>((std::max<rlim_t>(files.rlim_cur, 128) - 128) / 2, 8, 512));
}

/// Decodes each %XX of an address; a % without two hexadecimal digits stays.
std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* digits = text.data() + i + 1;
    const bool is_code =
        text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    decoded += is_code ? static_cast<char>(byte) : text[i];
    if (is_code) i += 2;
  }
  return decoded;
}

/// The number in a Content-Length header; none if it has other characters than digits, or over ten of them.
std::optional<uint64_t> length_in(std::string_view text) {
  return text.size() > 10 ? std::nullopt : read_number<uint64_t>(text);
}

/// True if two header names are equal, ignoring case.
bool is_same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

int socket_of(MHD_Connection* connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

struct ResponseDeleter {
  void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};
using Response = std::unique_ptr<MHD_Response, ResponseDeleter>;

/// Whether the other end of a connection has closed it.
bool has_left(int socket) {
  char byte = 0;
  return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/// The state of a request that the library keeps.
struct Exchange {
  /// Counts a body's bytes among those of all requests, until this one ends. False if there is no room; one always
  /// fits.
  bool reserve(uint64_t bytes, uint64_t most, std::atomic<uint64_t>& held) {
    const uint64_t before = held.fetch_add(bytes);
    reserved = std::shared_ptr<void>(nullptr, [bytes, &held](void*) { held -= bytes; });
    return before == 0 || before + bytes <= most;
  }

  HttpRequest request;
  std::shared_ptr<void> reserved;  ///< gives the bytes back
  Response response;               ///< once it is known
  int status = 0;
  bool is_stream = false, is_checked = false, is_failed = false;
};

/// The headers of a request, and any problem with them.
struct Headers {
  HttpRequest& request;
  int count = 0, hosts = 0, lengths = 0;
  bool is_chunked = false, has_failed = false;
  std::string length{};

  void add(std::string_view name, std::string value) {
    ++count;
    if (is_same_name(name, "Host")) ++hosts, request.host = std::move(value);
    else if (is_same_name(name, "Origin")) request.origin = std::move(value);
    else if (is_same_name(name, "X-Headroom-Token")) request.token = std::move(value);
    else if (is_same_name(name, "Content-Type")) request.content_type = std::move(value);
    else if (is_same_name(name, "Content-Length")) ++lengths, length = std::move(value);
    else if (is_same_name(name, "Transfer-Encoding")) is_chunked = true;
  }
  uint64_t body_bytes() const { return lengths == 0 ? 0 : length_in(length).value_or(UINT64_MAX); }
  /// Status 200 if there is none.
  HttpAnswer problem(const HttpRules& rules) const {
    if (count > most_headers) return rules.refusal(431, "a request may have 100 headers");
    if (hosts > 1 || lengths > 1) return rules.refusal(400, "the Host or the Content-Length stands there twice");
    if (is_chunked) return rules.refusal(411, "a body needs its Content-Length");
    if (body_bytes() > rules.body_bytes)
      return rules.refusal(413, "a body may have " + std::to_string(rules.body_bytes) + " bytes");
    if (body_bytes() > 0 && request.method != "POST") return rules.refusal(400, "only POST has a body");
    return {};
  }
};

MHD_Result take_header(void* headers, MHD_ValueKind, const char* name, size_t name_bytes, const char* value,
                       size_t value_bytes) {
  auto& to = *static_cast<Headers*>(headers);
  try {
    to.add({name, name_bytes}, {value, value_bytes});
  } catch (const std::exception&) {
    to.has_failed = true;
  }
  return to.has_failed || to.count > most_headers ? MHD_NO : MHD_YES;
}

MHD_Result take_query(void* request, MHD_ValueKind, const char* name, size_t name_bytes, const char* value,
                      size_t value_bytes) {
  try {
    static_cast<HttpRequest*>(request)->query.emplace(percent_decoded({name, name_bytes}),
                                                      value == nullptr ? "" : percent_decoded({value, value_bytes}));
    return MHD_YES;
  } catch (const std::exception&) {
    return MHD_NO;
  }
}

}  // namespace

/// Events waiting to be sent to one page. The library asks for bytes; if there are none, it suspends the connection
/// until a job has fetched the next event.
struct HttpStream {
  HttpStream(MHD_Connection* to, HttpAnswer answer, const std::atomic<bool>& ends)
      : connection(to),
        socket(socket_of(to)),
        next(std::move(answer.next_event)),
        pause(answer.event_pause),
        server_ends(ends) {}

  MHD_Connection* const connection;
  const int socket;
  const std::function<std::optional<std::string>()> next;
  const std::chrono::milliseconds pause;
  const std::atomic<bool>& server_ends;
  std::mutex mutex;
  std::string waiting;
  size_t sent = 0;
  bool is_aside = false, is_asked = false, is_over = false;
  Clock::time_point due = Clock::now();

  ssize_t read(char* bytes, size_t most) {
    const std::lock_guard lock(mutex);
    if (is_over || server_ends) return MHD_CONTENT_READER_END_OF_STREAM;
    const size_t count = std::min(most, waiting.size() - sent);
    std::copy_n(waiting.data() + sent, count, bytes);
    sent += count;
    if (count == 0) MHD_suspend_connection(connection), is_aside = true;
    return static_cast<ssize_t>(count);
  }
  /// True if it is time for fetch(), which must then follow.
  bool wants_event(Clock::time_point now) {
    const std::lock_guard lock(mutex);
    const bool wants = is_aside && !is_asked && now >= due;
    is_asked = is_asked || wants;
    return wants;
  }
  void fetch() {
    std::optional<std::string> event;
    try {
      event = next();
    } catch (const std::exception&) {
      event.reset();  // ends; the page connects again
    }
    const std::lock_guard lock(mutex);
    is_asked = false;
    due = Clock::now() + pause;
    is_over = !event || (is_aside && has_left(socket));
    if (event && !event->empty()) waiting = std::move(*event), sent = 0;
    if (is_over || sent < waiting.size()) go_on();
  }
  void end() {
    const std::lock_guard lock(mutex);
    is_over = true;
    go_on();
  }

 private:
  void go_on() {
    if (std::exchange(is_aside, false)) MHD_resume_connection(connection);
  }
};

namespace {

using SharedStream = std::shared_ptr<HttpStream>;

Response response_of_bytes(AnswerBodies::Body body) {
  auto holder = std::make_unique<AnswerBodies::Body>(std::move(body));
  const std::string& bytes = **holder;
  Response response(MHD_create_response_from_buffer_with_free_callback_cls(
      bytes.size(), const_cast<char*>(bytes.data()), [](void* gone) { delete static_cast<AnswerBodies::Body*>(gone); },
      holder.get()));
  if (response) static_cast<void>(holder.release());
  return response;
}

Response response_of_stream(const SharedStream& stream) {
  auto holder = std::make_unique<SharedStream>(stream);
  Response response(MHD_create_response_from_callback(
      MHD_SIZE_UNKNOWN, 8 << 10,
      [](void* from, uint64_t, char* bytes, size_t most) {
        return (*static_cast<SharedStream*>(from))->read(bytes, most);
      },
      holder.get(), [](void* gone) { delete static_cast<SharedStream*>(gone); }));
  if (response) static_cast<void>(holder.release());
  return response;
}

Response response_of_file(FileToSend& file) {
  Response response(MHD_create_response_from_fd64(file.size, file.descriptor));
  if (response) file.descriptor = -1;  // it closes the file
  return response;
}

}  // namespace

struct HttpServer::Library {
  Library(Handler first, Handler second, const HttpRules& of_clients)
      : check(std::move(first)), handler(std::move(second)), rules(of_clients) {}
  ~Library() { end(); }

  /// Runs a handler and prepares its answer for sending. Throws nothing.
  void settle(MHD_Connection* connection, Exchange& exchange, const Handler& by) noexcept;
  void make_ready(MHD_Connection* connection, Exchange& exchange, HttpAnswer answer, bool closes);
  MHD_Result take(MHD_Connection* connection, Exchange*& exchange, const char* path, const char* method,
                  const char* upload, size_t* upload_bytes);
  MHD_Result begin(MHD_Connection* connection, Exchange& exchange, const char* path, const char* method);
  MHD_Result send(MHD_Connection* connection, Exchange& exchange);
  void look_after();
  void end();

  const Handler check, handler;
  const HttpRules rules;
  const unsigned most = most_connections();
  Connections connections{most, rules.answer_patience};
  std::atomic<uint64_t> body_bytes{0};  ///< of all requests
  AnswerBodies bodies{most_answer_bytes};
  std::atomic<bool> ends{false};
  std::mutex mutex;
  std::condition_variable ending;
  std::list<std::weak_ptr<HttpStream>> streams;
  JobThreads jobs{rules.handler_threads};
  MHD_Daemon* daemon = nullptr;
};

void HttpServer::Library::make_ready(MHD_Connection* connection, Exchange& exchange, HttpAnswer answer, bool closes) {
  exchange.is_stream = answer.next_event != nullptr;
  AnswerBodies::Body body;
  if (!answer.next_event && !answer.file && !(body = bodies.hold(std::move(answer.body)))) {
    answer = rules.refusal(503, "too much is being sent; ask again in a few seconds");
    body = bodies.hold(answer.body);
  }
  if (answer.next_event) {
    const auto stream = std::make_shared<HttpStream>(connection, answer, ends);
    exchange.response = response_of_stream(stream);
    const std::lock_guard lock(mutex);
    streams.push_back(stream);
  } else {
    exchange.response = answer.file ? response_of_file(*answer.file) : response_of_bytes(std::move(body));
  }
  require(exchange.response != nullptr, "an answer finds no memory");
  exchange.status = answer.status;
  const auto add = [&](const char* name, const std::string& value) {
    require(MHD_add_response_header(exchange.response.get(), name, value.c_str()) == MHD_YES,
            "an answer's header {} finds no memory", name);
  };
  add("Content-Type", exchange.is_stream ? "text/event-stream" : answer.type);
  add("Content-Security-Policy", answer.policy.empty() ? own_policy : answer.policy);
  add("X-Content-Type-Options", "nosniff");
  add("X-Frame-Options", "DENY");
  add("Referrer-Policy", "no-referrer");
  add("Cross-Origin-Resource-Policy", "same-origin");
  add("Cache-Control", "no-store");
  if (exchange.is_stream) add("X-Accel-Buffering", "no");
  if (closes) add("Connection", "close");
}

void HttpServer::Library::settle(MHD_Connection* connection, Exchange& exchange, const Handler& by) noexcept {
  try {
    try {
      make_ready(connection, exchange, by(exchange.request), false);
    } catch (const std::exception& error) {
      make_ready(connection, exchange, rules.refusal(500, error.what()), true);
    }
  } catch (...) {
    exchange.is_failed = true;  // the connection is closed without an answer
  }
}

MHD_Result HttpServer::Library::send(MHD_Connection* connection, Exchange& exchange) {
  connections.enters(socket_of(connection), exchange.is_stream ? Phase::stream : Phase::answer);
  return MHD_queue_response(connection, static_cast<unsigned>(exchange.status), exchange.response.get());
}

MHD_Result HttpServer::Library::begin(MHD_Connection* connection, Exchange& exchange, const char* path,
                                      const char* method) {
  exchange.is_checked = true;
  HttpRequest& request = exchange.request;
  request.method = method;
  request.path = percent_decoded(path);
  Headers headers{request};
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, take_header, &headers);
  if (headers.has_failed) return MHD_NO;
  MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, take_query, &request);
  HttpAnswer refusal = headers.problem(rules);
  if (refusal.status == 200) refusal = check(request);
  if (refusal.status == 200 && !exchange.reserve(headers.body_bytes(), rules.all_body_bytes, body_bytes))
    refusal = rules.refusal(503, "too many requests are waiting; ask again in a few seconds");
  if (refusal.status == 200) return MHD_YES;
  make_ready(connection, exchange, std::move(refusal), true);
  return send(connection, exchange);
}

MHD_Result HttpServer::Library::take(MHD_Connection* connection, Exchange*& exchange, const char* path,
                                     const char* method, const char* upload, size_t* upload_bytes) {
  if (exchange == nullptr) exchange = new Exchange;
  if (!exchange->is_checked) return begin(connection, *exchange, path, method);
  if (exchange->is_failed) return MHD_NO;
  if (*upload_bytes > 0) {
    exchange->request.body.append(upload, *upload_bytes);  // no longer than its Content-Length, which was checked
    *upload_bytes = 0;
    return MHD_YES;
  }
  if (exchange->response) return send(connection, *exchange);
  connections.enters(socket_of(connection), Phase::answer);
  exchange->request.has_left = [socket = socket_of(connection)] { return has_left(socket); };
  const bool is_taken = jobs.add([&] { MHD_suspend_connection(connection); },
                                 [this, connection, own = exchange] {
                                   if (ends) own->is_failed = true;  // drops everything still waiting
                                   else settle(connection, *own, handler);
                                   MHD_resume_connection(connection);
                                 });
  return is_taken ? MHD_YES : MHD_NO;
}

void HttpServer::Library::look_after() {
  const auto now = Clock::now();
  connections.cut_late(now);
  std::vector<SharedStream> due;
  {
    const std::lock_guard lock(mutex);
    due.reserve(streams.size());
    for (auto place = streams.begin(); place != streams.end();) {
      const SharedStream stream = place->lock();
      if (stream && stream->wants_event(now)) due.push_back(stream);
      place = stream ? std::next(place) : streams.erase(place);
    }
  }
  for (const SharedStream& stream : due) try {
      jobs.add([] {}, [stream] { stream->fetch(); });
    } catch (const std::exception&) {
      stream->end();  // no memory; the page connects again
    }
}

void HttpServer::Library::end() {
  if (daemon == nullptr) return;
  const MHD_socket listening = MHD_quiesce_daemon(daemon);
  ends = true;
  jobs.finish();
  // The library does not stop while a connection is suspended.
  for (const auto& place : streams)
    if (const SharedStream stream = place.lock()) stream->end();
  MHD_stop_daemon(std::exchange(daemon, nullptr));
  close(listening);
}

HttpServer::HttpServer(Handler check, Handler handler, const std::string& address, int port, const HttpRules& rules) {
  library_ = std::make_unique<Library>(std::move(check), std::move(handler), rules);
  const ListenSocket listening = listen_on(address, port);
  port_ = listening.port;
  const bool is_v6 = address.find(':') != std::string::npos;
  address_ = fmt::format("http://{}:{}", is_v6 ? "[" + address + "]" : address, port_);
  const MHD_AccessHandlerCallback take = [](void* self, MHD_Connection* connection, const char* path,
                                            const char* method, const char*, const char* upload, size_t* upload_bytes,
                                            void** exchange) {
    try {
      return static_cast<Library*>(self)->take(connection, reinterpret_cast<Exchange*&>(*exchange), path, method,
                                               upload, upload_bytes);
    } catch (...) {
      return MHD_NO;  // closes the connection; nothing may be thrown into the library
    }
  };
  const MHD_RequestCompletedCallback completed = [](void* self, MHD_Connection* connection, void** exchange,
                                                    MHD_RequestTerminationCode) {
    delete static_cast<Exchange*>(std::exchange(*exchange, nullptr));
    static_cast<Library*>(self)->connections.enters(socket_of(connection), Phase::request);
  };
  const MHD_NotifyConnectionCallback notify = [](void* self, MHD_Connection* connection, void**,
                                                 MHD_ConnectionNotificationCode code) {
    Connections& all = static_cast<Library*>(self)->connections;
    try {
      if (code == MHD_CONNECTION_NOTIFY_STARTED) all.opened(socket_of(connection));
      else all.closed(socket_of(connection));
    } catch (...) {
      shutdown(socket_of(connection), SHUT_RDWR);  // an unwatched connection must not stay
    }
  };
  // The library would cut a decoded path at a zero byte.
  const auto decodes_nothing = [](void*, MHD_Connection*, char* text) { return std::char_traits<char>::length(text); };
  size_t (*const unescape)(void*, MHD_Connection*, char*) = decodes_nothing;
  void* const self = library_.get();
  library_->daemon =
      MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr, take, self,
                       MHD_OPTION_LISTEN_SOCKET, listening.descriptor, MHD_OPTION_CONNECTION_LIMIT, library_->most,
                       MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_bytes, MHD_OPTION_CONNECTION_TIMEOUT,
                       idle_seconds, MHD_OPTION_NOTIFY_COMPLETED, completed, self, MHD_OPTION_NOTIFY_CONNECTION, notify,
                       self, MHD_OPTION_UNESCAPE_CALLBACK, unescape, nullptr, MHD_OPTION_END);
  if (library_->daemon != nullptr) return;
  close(listening.descriptor);
  fail("{}:{}: the server cannot start", address, port_);
}

HttpServer::~HttpServer() = default;

void HttpServer::run() {
  std::unique_lock lock(library_->mutex);
  while (!library_->ending.wait_for(lock, look_pause, [this] { return library_->ends.load(); })) {
    lock.unlock();
    try {
      library_->look_after();
    } catch (const std::exception&) {
      // Out of memory; the next look is soon.
    }
    lock.lock();
  }
  lock.unlock();
  library_->end();
}

void HttpServer::stop() {
  const std::lock_guard lock(library_->mutex);
  library_->ends = true;
  library_->ending.notify_all();
}

}  // namespace headroom::experiments
