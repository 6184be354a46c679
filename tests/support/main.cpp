// The main() of every test program. It ends with one line `NAME: P passed, F failed, S skipped`, which it also appends
// to the file that HEADROOM_TALLY names; exit code 1 when a case failed, 77 when nothing could run.
#define CATCH_CONFIG_RUNNER
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "engine/isa.h"
#include "tests/support/catch.h"

namespace headroom::testing {
namespace {

struct Tally {
  int passed = 0, failed = 0, skipped = 0;
  bool current_skipped = false;
} tally;

#if CATCH_VERSION_MAJOR >= 3
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

struct Listener : ListenerBase {
  using ListenerBase::ListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    ListenerBase::testCaseStarting(info);
    tally.current_skipped = false;
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (stats.totals.testCases.failed > 0) ++tally.failed;
    else if (tally.current_skipped) ++tally.skipped;
    else ++tally.passed;
    ListenerBase::testCaseEnded(stats);
  }
};
CATCH_REGISTER_LISTENER(Listener)

struct Invoker : Catch::ITestInvoker {
  explicit Invoker(std::function<void()> f) : body(std::move(f)) {}
  void invoke() const override { body(); }
  std::function<void()> body;
};

void report(const char* program) {
  std::string name = program;
  name = name.substr(name.rfind('/') + 1);
  if (const char* isa = std::getenv("HEADROOM_ISA"); isa && *isa) name += fmt::format("-{}", isa);
  const std::string line =
      fmt::format("{}: {} passed, {} failed, {} skipped\n", name, tally.passed, tally.failed, tally.skipped);
  fmt::print("{}", line);
  const char* file = std::getenv("HEADROOM_TALLY");
  if (!file || !*file) return;
  // One write() of one line, so that programs running in parallel never mix theirs.
  const int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (fd < 0 || write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    fmt::print(stderr, "HEADROOM_TALLY: cannot append to {}\n", file);
  if (fd >= 0) close(fd);
}

}  // namespace

const std::string& source_root() {
  const char* const moved = std::getenv("HEADROOM_SOURCE_ROOT");
  static const std::string root = moved && *moved ? moved : HEADROOM_SOURCE_ROOT;
  return root;
}

void skip(const std::string& reason) {
  tally.current_skipped = true;
  fmt::print("skipped: {}\n", reason);
}

void register_test(const std::string& name, const std::string& tags, std::function<void()> body) {
#if CATCH_VERSION_MAJOR >= 3
  auto invoker = Catch::Detail::make_unique<Invoker>(std::move(body));
#else
  auto* invoker = new Invoker(std::move(body));  // Catch2 owns it
#endif
  Catch::AutoReg(std::move(invoker), CATCH_INTERNAL_LINEINFO, "", Catch::NameAndTags{name, tags});
}

bool isa_available() {
  const char* wanted = std::getenv("HEADROOM_ISA");
  if (!wanted || !*wanted) return true;
  for (const engine::Isa isa : engine::available_isas())
    if (std::string(wanted) == engine::name_of(isa)) return true;
  return false;
}

}  // namespace headroom::testing

/// Under the address sanitizer a request that cannot be met fails, as it does elsewhere, instead of ending the program:
/// tests ask for too much on purpose. ASAN_OPTIONS adds to it.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

int main(int argc, char** argv) {
  using headroom::testing::tally;
  const int code = Catch::Session().run(argc, argv);
  if (tally.passed + tally.failed + tally.skipped == 0) return code;  // --list-tests, or a wrong flag
  headroom::testing::report(argv[0]);
  if (code != 0) return code == 255 ? 255 : 1;
  return tally.passed == 0 ? 77 : 0;
}
