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
using namespace testing;

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

namespace {

std::string little_endian(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
  return out;
}

/// An archive of one member, stored, or deflated by whoever gives `packed`.
std::string zip_of(const std::string& name, const std::string& text, uint32_t crc, int method = 0,
                   std::string packed = "") {
  if (method == 0) packed = text;
  const std::string sizes = little_endian(crc, 4) + little_endian(packed.size(), 4) + little_endian(text.size(), 4);
  const std::string header = "PK\x03\x04" + little_endian(20, 2) + little_endian(0, 2) + little_endian(method, 2) +
                             little_endian(0, 4) + sizes + little_endian(name.size(), 2) + little_endian(0, 2) + name;
  const std::string entry = "PK\x01\x02" + little_endian(20, 2) + little_endian(20, 2) + little_endian(0, 2) +
                            little_endian(method, 2) + little_endian(0, 4) + sizes + little_endian(name.size(), 2) +
                            little_endian(0, 12) + little_endian(0, 4) + name;
  return header + packed + entry + "PK\x05\x06" + little_endian(0, 4) + little_endian(1, 2) + little_endian(1, 2) +
         little_endian(entry.size(), 4) + little_endian(header.size() + packed.size(), 4) + little_endian(0, 2);
}

// CRC-32s by Python's zlib.crc32, and what zlib.compressobj(wbits=-15) makes of the second text.
const std::string first = "One half of a file, ", second = "and the other half, half, half, half.";
constexpr uint32_t first_crc = 0xcadee5f, second_crc = 0x8b090eda;
const std::string deflated("\x4b\xcc\x4b\x51\x28\xc9\x48\x55\xc8\x07\x12\x45\x0a\x19\x89\x39\x69\x3a\x18\xa4\x1e\x00",
                           22);

}  // namespace

TEST_CASE("a file in pieces is put together from the members of archives", "[data]") {
  const std::string one = zip_of("a/part0", first, first_crc), two = zip_of("a/part1", second, second_crc, 8, deflated);
  std::atomic<bool> healthy{true};
  HttpServer server([&](const HttpRequest& request) {
    const std::string& all = request.path == "/one.whl" ? one : two;
    return testing::http_range(request, healthy ? all : all.substr(0, all.size() - 1) + "x");
  });
  const testing::TemporaryFolder folder;
  const testing::Environment no_proxy{"no_proxy", "*"};
  const DataRoots roots{{}, folder.path()};
  DataFile file{"set/a.txt", "", static_cast<int64_t>(first.size() + second.size()), sha256(first + second)};
  file.pieces = {{server.url("/one.whl"), "a/part0", static_cast<int64_t>(one.size()), sha256(one)},
                 {server.url("/two.whl"), "a/part1", static_cast<int64_t>(two.size()), sha256(two)}};
  const auto complaint = [&] {
    try {
      fetch_file(file, roots);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  healthy = false;
  CHECK_THAT(complaint(), contains("set/a.txt.piece0.zip") && contains("expected"));
  fs::remove(folder / "set/a.txt.piece0.zip.wrong");
  healthy = true;
  file.pieces[1].member = "a/part2";
  CHECK_THAT(complaint(), contains("holds no 'a/part2'") && contains("piece1.zip"));
  file.pieces[1].member = "a/part1";
  CHECK(complaint().empty());
  CHECK(read_bytes(folder / "set/a.txt") == first + second);
  CHECK(check_file(file, roots).state == FileState::good);
  size_t left = 0;
  for (const auto& entry : fs::directory_iterator(folder / "set")) left += entry.exists() ? 1 : 0;
  CHECK(left == 1);
}

TEST_CASE("an archive that is damaged is refused by name", "[data]") {
  const testing::TemporaryFolder folder;
  const auto refused = [&](std::string archive, const std::string& wanted) {
    write_bytes(folder / "x.whl", archive);
    CHECK_THROWS_WITH(append_zip_member(folder / "x.whl", "a", folder / "out", 1000),
                      contains(wanted) && contains("x.whl"));
  };
  refused("", "");
  refused("not an archive, but long enough to be one", "is no ZIP archive");
  refused(zip_of("a", first, first_crc + 1), "CRC-32");
  refused(zip_of("a", second, second_crc, 8, deflated.substr(0, deflated.size() - 3)), "ends early");
  refused(zip_of("a", second, second_crc, 9, deflated), "packed by method 9");
  refused(zip_of("a", first, second_crc, 8, deflated), "longer than its list says");
  std::string moved = zip_of("a", first, first_crc);
  moved[moved.size() - 6] = '\x7f';
  refused(moved, "ends before byte");
  // A member of more bytes than the file may have is not unpacked at all.
  fs::remove(folder / "out");
  write_bytes(folder / "x.whl", zip_of("a", first, first_crc));
  CHECK_THROWS_WITH(append_zip_member(folder / "x.whl", "a", folder / "out", first.size() - 1),
                    contains("are expected at most"));
  CHECK_FALSE(fs::exists(folder / "out"));
}

}  // namespace headroom::tasks
