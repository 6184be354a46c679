#include <algorithm>
#include <chrono>
#include <thread>

#include "experiments/output/file.h"
#include "experiments/output/plot/converter.h"
#include "experiments/output/plot/svg.h"
#include "experiments/output/program.h"
#include "experiments/output/text.h"
#include "experiments/studies/pages/csv.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/index_page.h"
#include "experiments/studies/pages/report.h"
#include "tests/experiments/studies/pages/folder.h"
#include "tests/experiments/studies/pages/rich.h"
#include "tests/experiments/studies/pages/xml.h"
#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"
#include "tests/support/full_disk.h"

namespace headroom::experiments {

using headroom::testing::FullDisk;
using namespace testing;

namespace {

std::ptrdiff_t files_in(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

}  // namespace

TEST_CASE("a file appears whole or not at all") {
  const TemporaryFolder folder;
  const auto path = folder / "a.txt";
  write_file(path, "first");
  CHECK(read_bytes(path) == "first");
  const std::string large(100000, 'x');
  {
    const FullDisk full(1000);
    CHECK(contains(error_of([&] { write_file(path, large); }), path.string() + ": cannot be written: "));
  }
  CHECK(read_bytes(path) == "first");
  CHECK(files_in(folder.path()) == 1);
  write_file(path, large);
  CHECK(read_bytes(path) == large);
  write_file(path, "");
  CHECK(read_bytes(path).empty());
}

TEST_CASE("a place that cannot be written to is named") {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  CHECK(contains(error_of([&] { write_file(folder / "none" / "a", ""); }),
                 "none/a: cannot be written: No such file or directory"));
  CHECK(contains(error_of([&] { make_folder(folder / "file" / "below"); }), "file/below: Not a directory"));
  CHECK(contains(error_of([&] { make_folder(folder / "file"); }), "/file"));
  make_folder(folder / "a" / "b");
  make_folder(folder / "a" / "b");
  CHECK(std::filesystem::is_directory(folder / "a" / "b"));
}

TEST_CASE("text is escaped and made valid") {
  CHECK(escape("<a href=\"x\">'&amp;'</a>") == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;amp;&#39;&lt;/a&gt;");
  CHECK(clean("a\tb\nc — ±") == "a\tb\nc — ±");
  CHECK(clean(std::string("a\0b\x1b\x7f", 5)) == "a\uFFFDb\uFFFD\uFFFD");
  CHECK(clean("a\u0085b\u009bc\u00a0") == "a\uFFFDb\uFFFDc\u00a0");  // U+009B is ESC [ to a terminal
  CHECK(clean("\xef\xbf\xbe \xef\xbf\xbf \xf0\x9f\xbf\xbe") == "\uFFFD \uFFFD \uFFFD");  // U+FFFE, U+FFFF, U+1FFFE
  CHECK(clean("\xff\xc3") == "\uFFFD\uFFFD");
  CHECK(clean("\xc0\xaf") == "\uFFFD\uFFFD");              // an overlong '/'
  CHECK(clean("\xed\xa0\x80") == "\uFFFD\uFFFD\uFFFD");    // a surrogate
  CHECK(clean("\xf0\x9f\x98\x80") == "\xf0\x9f\x98\x80");  // four bytes
  CHECK(slug("D 256, d_v = 8") == "d-256-d-v-8");
  CHECK(slug("±").empty());
  CHECK(shell_word("runs/a-b_1.gguf") == "runs/a-b_1.gguf");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("$x y") == "'$x y'");
  CHECK(shell_word("~/a") == "'~/a'");
  CHECK(shell_word("") == "''");
}

TEST_CASE("the CSV has a row per trial, in an order of its own") {
  StudyResults r = testing::study({8, 1}, {{0.5, 0.25}, {1}});
  r.trials.push_back(testing::failed(testing::trial(1, 1, 0)));
  r.trials.back().message = "not \"finite\", at step 3";
  r.trials[0].choice = r.trials[1].choice = {{"train.optimizer.lr", 0.01}};
  r.trials[0].seconds = 12.5;
  const std::string table = csv(analyse(r), Clock::kept);
  CHECK(table ==
        "series,model.heads,train.optimizer.lr,seed,status,chosen,parameters,flops,seconds,validation.mse,test.mse,id,"
        "message\n"
        ",1,,0,finished,yes,0,0,0,1,1,x1-s0,\n"
        ",1,,1,failed,yes,0,0,0,,,x1-s1,\"not \"\"finite\"\", at step 3\"\n"
        ",8,0.01,0,finished,yes,0,0,12.5,0.5,0.5,x8-s0,\n"
        ",8,0.01,1,finished,yes,0,0,0,0.25,0.25,x8-s1,\n");
  CHECK_FALSE(contains(csv(analyse(r), Clock::left_out), "seconds"));
  CHECK_FALSE(contains(csv(analyse(r), Clock::left_out), "12.5"));
  std::reverse(r.trials.begin(), r.trials.end());
  CHECK(csv(analyse(r), Clock::kept) == table);
}

TEST_CASE("the first converter of SVG on PATH is taken") {
  const TemporaryFolder folder;
  const Environment path("PATH", folder.path().c_str());
  const auto found = [] {
    const auto converter = find_svg_converter();
    return converter ? converter->name : "";
  };
  CHECK(found() == "");
  make_folder(folder / "inkscape");  // a folder is no program
  CHECK(found() == "");
  write_file(folder / "cairosvg", "#!/bin/sh\n");
  CHECK(found() == "");  // not executable
  std::filesystem::permissions(folder / "cairosvg", std::filesystem::perms::owner_all);
  CHECK(found() == "cairosvg");
  write_file(folder / "rsvg-convert", "#!/bin/sh\n");
  std::filesystem::permissions(folder / "rsvg-convert", std::filesystem::perms::owner_all);
  CHECK(found() == "rsvg-convert");
  const Environment empty("PATH", "");
  CHECK(found() == "");
}

TEST_CASE("a converter gets the light colours alone, and one that fails is an error") {
  const TemporaryFolder folder;
  const auto program = folder / "converter", target = folder / "a figure.pdf";
  const auto behave = [&](const std::string& script) {
    write_file(program, "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  };
  const std::string svg = svg_of(curve_figure(analyse(rich()), "D 256")->plot, {.surface = Surface::file});
  REQUIRE(contains(svg, "prefers-color-scheme"));
  behave("echo \"$@\" >\"$6.arguments\"; cat >\"$6\"");
  convert_svg({"rsvg-convert", program}, svg, target);
  CHECK(read_bytes(target).starts_with("<svg "));
  CHECK(contains(read_bytes(target), "</svg>"));
  CHECK_FALSE(contains(read_bytes(target), "prefers-color-scheme"));
  CHECK(contains(read_bytes(target.string() + ".arguments"), "--format pdf "));
  std::filesystem::remove(target);
  const auto error = [&](const char* name) { return error_of([&] { convert_svg({name, program}, svg, target); }); };
  behave("echo no such font >&2; exit 3");
  CHECK(contains(error("inkscape"), "a figure.pdf: inkscape failed with status 3: no such font"));
  behave("exit 0");
  CHECK(contains(error("cairosvg"), "status 0"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);  // nothing is left behind
}

TEST_CASE("the figures that a report begins with are written for LaTeX, and as PDF and PNG by a converter") {
  const TemporaryFolder folder;
  const auto bin = folder / "bin", made = folder / "made";
  make_folder(bin);
  const Environment path("PATH", bin.c_str());
  const Analysis study = analyse(rich());
  const std::string stem = rich().id + "-" + rich().profile;
  CHECK(contains(write_document_figures(study, made),
                 "1 figure for LaTeX; for PDF and PNG install rsvg-convert (Debian: librsvg2-bin)"));
  CHECK(files_in(made) == 1);
  const std::string tex = read_bytes(made / (stem + ".tex"));
  CHECK(contains(tex, "\\begin{axis}["));
  CHECK(contains(tex, "\\addlegendentry{D 256}"));
  CHECK(testing::times(tex, "{") == testing::times(tex, "}"));
  write_file(bin / "rsvg-convert", "#!/bin/sh\necho \"$2\" >\"$6\"\n");
  std::filesystem::permissions(bin / "rsvg-convert", std::filesystem::perms::owner_all);
  CHECK(contains(write_document_figures(study, made), "made: 1 figure for LaTeX, as PDF and as PNG\n"));
  CHECK(files_in(made) == 3);
  for (const char* type : {"pdf", "png"}) CHECK(read_bytes(made / (stem + "." + type)) == std::string(type) + "\n");
}

TEST_CASE("TeX reads names as text") {
  Plot plot;
  plot.title = "a\n\\input{b}";
  plot.layers.resize(1);
  plot.layers[0].legend = "\\input{a}%#$&_~^";
  plot.layers[0].marks.resize(2);
  const std::string text = pgf_of(plot);
  CHECK(contains(text, R"(\addlegendentry{\textbackslash{}input\{a\}\%\#\$\&\_\~{}\^{}})"));
  CHECK(text.starts_with("% a \\input{b}\n"));
}

TEST_CASE("a program that hangs is an error, and one that cannot be started") {
  const TemporaryFolder folder;
  const auto program = folder / "program";
  write_file(program, "#!/bin/sh\n[ -z \"$1\" ] || exec sleep 60\ncat\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::string text(300000, 'x');  // more than a pipe holds
  CHECK(run_program(program, {}, text, 60).output == text);
  CHECK(contains(error_of([&] { run_program(program, {"wait"}, "", 0.05); }), "did not end within 0.05 s"));
  CHECK(contains(error_of([&] { run_program(folder / "none", {}, "", 1); }), "cannot run"));
}

TEST_CASE("a page opens in the user's browser") {
  const TemporaryFolder folder;
  const auto browser = folder / "my-browser", seen = folder / "seen";
  write_file(browser, "#!/bin/sh\necho \"$1\" > " + seen.string() + ".part && mv " + seen.string() + ".part " +
                          seen.string() + "\n");
  std::filesystem::permissions(browser, std::filesystem::perms::owner_all);
  const Environment named("BROWSER", ("nothing-of-that-name:" + browser.string()).c_str());
  open_page(folder / "a page.html");
  for (int i = 0; i < 2000 && !std::filesystem::exists(seen); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(read_bytes(seen) == (folder / "a page.html").string() + "\n");
  const Environment wrong("BROWSER", "nothing-of-that-name");
  CHECK(contains(error_of([&] { open_page("x.html"); }), "BROWSER=nothing-of-that-name: there is no such program"));
  const Environment none("BROWSER", ""), path("PATH", "");
  CHECK(contains(error_of([&] { open_page("x.html"); }), "xdg-open is not installed"));
}

TEST_CASE("the index lists every report and survives what is broken") {
  const TemporaryFolder folder;
  StudyResults r = testing::rich();
  r.title = "<b>& a title";
  for (const char* profile : {"smoke", "quick"}) {
    r.profile = profile;
    write_report(analyse(r), folder / r.id / profile);
  }
  make_folder(folder / "other" / "paper");
  write_file(folder / "other" / "paper" / "summary.json", "{\"study\": 3");
  make_folder(folder / "no report" / "yet");
  CHECK(write_index(folder.path()) == folder / "index.html");
  const std::string page = read_bytes(folder / "index.html");
  CHECK(testing::malformed(page) == "");
  CHECK(contains(page, "2 reports"));
  CHECK(contains(page, "<a href=\"synthetic/quick/report.html\">&lt;b&gt;&amp; a title</a>"));
  CHECK(page.find("synthetic/quick/") < page.find("synthetic/smoke/"));
  CHECK(testing::times(page, "<td class=\"word\">“") == 2);
  CHECK(contains(page, "other/paper/summary.json cannot be read"));
  CHECK_FALSE(contains(page, "yet"));
  write_index(folder.path());
  CHECK(read_bytes(folder / "index.html") == page);
}

}  // namespace headroom::experiments
