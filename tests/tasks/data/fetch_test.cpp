// Downloads from a server of the test's own: redirects, resumption, and servers that lie.
#include "tasks/data/fetch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>

#include "engine/error.h"
#include "tasks/data/sha256.h"
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/folder.h"
#include "tests/support/http_server.h"

namespace headroom::tasks {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::HttpRequest;
using testing::HttpServer;
using testing::read_bytes;
using testing::write_bytes;

/// Some text that is long enough to come in several parts.
std::string sample_text() {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i) + "\n";
  return text;
}

/// A cache folder, and a file of the manifest that a server of this answer should have.
struct Fixture {
  testing::TemporaryFolder folder;
  testing::Environment no_proxy{"no_proxy", "*"};
  std::string text = sample_text();
  HttpServer server;
  DataRoots roots{{}, folder.path()};
  fs::path target = folder / "set/a.txt", part = folder / "set/a.txt.part";
  DataFile file{"set/a.txt", server.url("/a.txt"), static_cast<int64_t>(text.size()), sha256(text)};

  explicit Fixture(std::function<std::string(const HttpRequest&)> answer) : server(std::move(answer)) {}

  std::string complaint() {
    try {
      fetch_file(file, roots);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  void check_fetched() const {
    CHECK(read_bytes(target) == text);
    CHECK(check_file(file, roots).state == FileState::good);
    CHECK_FALSE(fs::exists(part));
  }
};

}  // namespace

TEST_CASE("a file is fetched through redirects, once", "[data]") {
  Fixture f([](const HttpRequest& request) {
    return request.path == "/a.txt" ? testing::http_redirect("/elsewhere")
                                    : testing::http_range(request, sample_text());
  });
  CHECK(check_file(f.file, f.roots).state == FileState::missing);
  int64_t last = 0;
  CHECK(fetch_file(f.file, f.roots, [&](int64_t done, int64_t) { last = done; }) == f.target);
  CHECK(last == f.file.bytes);
  f.check_fetched();
  CHECK(f.complaint().empty());
  CHECK(f.server.requests().size() == 2);
}

TEST_CASE("a connection that ends early is an error with both sizes, and the next call resumes", "[data]") {
  std::atomic<bool> healthy{false};
  Fixture f([&](const HttpRequest& request) {
    const std::string text = sample_text();
    return healthy ? testing::http_range(request, text) : testing::http_response("200 OK", text, text.size() / 2);
  });
  const std::string half = std::to_string(f.text.size() / 2), whole = std::to_string(f.text.size());
  CHECK_THAT(f.complaint(), contains("the connection ended at " + half + " of " + whole + " bytes"));
  CHECK(fs::file_size(f.part) == f.text.size() / 2);
  CHECK_FALSE(fs::exists(f.target));
  healthy = true;
  CHECK(f.complaint().empty());
  f.check_fetched();
  CHECK(f.server.requests().back().from == static_cast<int64_t>(f.text.size() / 2));
}

TEST_CASE("what cannot be resumed starts over", "[data]") {
  SECTION("a server that knows no ranges") {
    Fixture f([](const HttpRequest&) { return testing::http_response("200 OK", sample_text()); });
    fs::create_directories(f.target.parent_path());
    write_bytes(f.part, f.text.substr(0, 1000));
    CHECK(f.complaint().empty());
    f.check_fetched();
  }
  SECTION("a part that is longer than the file") {
    Fixture f([](const HttpRequest& request) { return testing::http_range(request, sample_text()); });
    fs::create_directories(f.target.parent_path());
    write_bytes(f.part, f.text + "more");
    CHECK(f.complaint().empty());
    f.check_fetched();
  }
  SECTION("a whole part needs no server") {
    Fixture f([](const HttpRequest&) { return testing::http_response("500 Down", ""); });
    fs::create_directories(f.target.parent_path());
    write_bytes(f.part, f.text);
    CHECK(f.complaint().empty());
    f.check_fetched();
    CHECK(f.server.requests().empty());
  }
  SECTION("a server that says it has no more, of a file whose size is not known") {
    Fixture f([](const HttpRequest& request) { return testing::http_range(request, sample_text()); });
    f.file.bytes = -1;
    fs::create_directories(f.target.parent_path());
    write_bytes(f.part, f.text + "more");
    CHECK(f.complaint().empty());
    f.check_fetched();
  }
}

TEST_CASE("bytes of another hash are kept apart and refused", "[data]") {
  std::atomic<bool> honest{false};
  Fixture f([&](const HttpRequest& request) {
    std::string text = sample_text();
    if (!honest) text[7] = '!';
    return testing::http_range(request, text);
  });
  std::string forged = f.text;
  forged[7] = '!';
  CHECK_THAT(f.complaint(), contains(f.file.sha256) && contains(sha256(forged)) && contains("a.txt.wrong"));
  CHECK(read_bytes(f.folder / "set/a.txt.wrong") == forged);
  CHECK_FALSE(fs::exists(f.target));
  CHECK_FALSE(fs::exists(f.part));
  honest = true;
  CHECK(f.complaint().empty());
  f.check_fetched();

  write_bytes(f.target, forged);
  CHECK(check_file(f.file, f.roots).state == FileState::wrong);
  CHECK_THAT(check_file(f.file, f.roots).detail, contains(f.file.sha256) && contains(sha256(forged)));
  write_bytes(f.target, f.text.substr(0, 9));
  CHECK_THAT(check_file(f.file, f.roots).detail, contains("has 9 bytes") && contains("truncated?"));
  CHECK(f.complaint().empty());  // a damaged file of the cache is replaced
  f.check_fetched();
}

TEST_CASE("what servers do wrong is reported", "[data]") {
  Fixture f([](const HttpRequest& request) -> std::string {
    if (request.path == "/short") return testing::http_response("200 OK", "short");
    if (request.path == "/loop") return testing::http_redirect("/loop");
    if (request.path == "/out") return testing::http_redirect("file:///etc/passwd");
    if (request.path == "/silent") return "";
    return testing::http_response("404 Not Found", "a page that says so");
  });
  const auto complaint = [&](const std::string& url) {
    f.file.url = url;
    fs::remove(f.part);
    return f.complaint();
  };
  CHECK_THAT(complaint(f.server.url("/short")), contains("sent 5 bytes, " + std::to_string(f.text.size())));
  CHECK_THAT(complaint(f.server.url("/a.txt")), contains("404"));
  CHECK_THAT(complaint(f.server.url("/loop")), contains("redirects"));
  CHECK_FALSE(complaint(f.server.url("/out")).empty());
  CHECK_FALSE(complaint(f.server.url("/silent")).empty());
  CHECK_FALSE(complaint("http://127.0.0.1:1/").empty());
  CHECK_FALSE(complaint("file:///etc/passwd").empty());
  CHECK_THAT(complaint(""), contains("no URL is known") && contains(f.file.sha256));
  CHECK_FALSE(fs::exists(f.target));
}

TEST_CASE("a server that sends more than the manifest's size is stopped there", "[data]") {
  Fixture f([](const HttpRequest& request) { return testing::http_range(request, sample_text()); });
  f.file.bytes = 10;
  CHECK(f.complaint() == f.file.url + ": sends more than the 10 bytes that are expected; nothing of it is kept");
  CHECK_FALSE(fs::exists(f.part));
  CHECK_FALSE(fs::exists(f.folder / "set/a.txt.wrong"));
  CHECK_FALSE(fs::exists(f.target));
  write_bytes(f.part, f.text.substr(0, 7));  // what came before counts
  CHECK_THAT(f.complaint(), contains("more than the 10 bytes"));
  CHECK_FALSE(fs::exists(f.part));
}

TEST_CASE("a file without a hash is recorded at its first fetch", "[data]") {
  Fixture f([](const HttpRequest& request) { return testing::http_range(request, sample_text()); });
  const std::string hash = f.file.sha256;
  f.file.sha256 = "", f.file.bytes = -1;
  fs::create_directories(f.target.parent_path());
  write_bytes(f.part, "of another version");  // never resumed: it could become a mixture
  CHECK(f.complaint().empty());
  CHECK(read_bytes(f.target) == f.text);
  CHECK(read_bytes(f.folder / "set/a.txt.sha256") == hash + "  a.txt\n");
  CHECK(check_file(f.file, f.roots).state == FileState::recorded);
  write_bytes(f.target, "altered");
  CHECK(check_file(f.file, f.roots).state == FileState::wrong);
  fs::remove(f.folder / "set/a.txt.sha256");
  CHECK(check_file(f.file, f.roots).state == FileState::unverified);
}

TEST_CASE("two processes do not write to one part", "[data]") {
  Fixture f([](const HttpRequest& request) { return testing::http_range(request, sample_text()); });
  fs::create_directories(f.target.parent_path());
  write_bytes(f.part, "x");
  const int other = open(f.part.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(flock(other, LOCK_EX) == 0);
  CHECK_THAT(f.complaint(), contains("another process is downloading it"));
  close(other);
  CHECK_THAT(f.complaint(), contains("kept apart"));  // "x" is not how the file begins
  CHECK(f.complaint().empty());
  f.check_fetched();
}

}  // namespace headroom::tasks
