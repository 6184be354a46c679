// The compress command: ranks and budgets, refinement that continues after a kill, and what it writes is read back
// by the other commands.
#include <fmt/core.h>

#include "models/write/convert.h"
#include "tests/experiments/program_json.h"
#include "tests/support/catch.h"

using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string command(const std::string& arguments) {
  return fmt::format("compress {} -o out --no-speed --context 32 --calibrate {} --calibrate-tokens :400 {}",
                     small_model(), small_text(), arguments);
}

double share(const json& made, const char* what) {
  return made["after"][what].get<double>() / made["before"][what].get<double>();
}

}  // namespace

TEST_CASE("compressed models of every format compute what compress measured", "[compress]") {
  for (const auto& [format, method] : {std::pair{"compat", "whitened-grouped"},
                                       {"compact", "whitened-rotated-grouped"},
                                       {"plain", "pairs-even --part qk,vo --vo-method whitened"}}) {
    INFO(format << " " << method);
    const TemporaryFolder folder;
    const json made = run_json(folder, command(fmt::format("--method {} --rank 4 --format {} --eval {} --eval-tokens "
                                                           "500:",
                                                           method, format, small_text())));
    CHECK(made["after"]["perplexity"] != made["before"]["perplexity"]);
    const double ratio = made["after"]["ppl_ratio"];
    CHECK(ratio == Approx(made["after"]["perplexity"].get<double>() / made["before"]["perplexity"].get<double>()));
    const auto [low, high] = made["after"]["ppl_ratio_interval"].get<std::pair<double, double>>();
    CHECK(low * high == Approx(ratio * ratio));
    CHECK(low < high);
    const json before = run_json(folder, fmt::format("eval out --exact --text {} --context 32", small_text()));
    CHECK(before["tokens_scored"].get<int64_t>() > 0);
    const std::string card = read(folder / "out" / "README.md");
    const std::string hash = made["calibration"]["sha256"].get<std::string>();
    for (const std::string& line :
         {std::string(" -o out --no-speed --context 32 --calibrate "),
          fmt::format(" --method {} --rank 4 --format {} --eval ", method, format),
          std::string("- queries and keys: ") + std::string(method).substr(0, std::string(method).find(' ')),
          fmt::format("tokens 0 to 400, SHA-256 {}", hash), fmt::format("tokens 500 to "),
          fmt::format("| perplexity (disjoint 32) | {:.6g} | {:.6g} |", made["before"]["perplexity"].get<double>(),
                      made["after"]["perplexity"].get<double>()),
          std::string("| files | ")})
      CHECK_THAT(card, contains(line));
    CHECK(card.find("smollm2`, SHA-256 ") != std::string::npos);
    const std::string quote = ": `headroom ";
    const size_t at = card.find(quote) + quote.size();
    const TemporaryFolder again;
    REQUIRE(Program(again.path(), card.substr(at, card.find('`', at) - at)).wait() == 0);
    CHECK(read(again / "out/model.safetensors") == read(folder / "out/model.safetensors"));
  }
}

TEST_CASE("budgets are kept, and heads get ranks of their own", "[compress]") {
  const std::string method = "--part qk,vo --method whitened-rotated-grouped --vo-method whitened --format compact ";
  {
    const TemporaryFolder folder;
    const json made = run_json(folder, command(method + "--cache 0.5"));
    CHECK(share(made, "kv_cache_bytes_per_token") <= 0.5);
    CHECK(share(made, "kv_cache_bytes_per_token") > 0.3);
    CHECK(made["ranks"] == "--cache 0.5");
  }
  const std::string factors = "--method whitened-grouped --format compact ";
  const TemporaryFolder equal, spent, kept, within;
  const json a = run_json(equal, command(factors + "--rank 2"));
  const json b = run_json(spent, command(factors + "--mean-rank 2"));
  CHECK(b["after"]["parameters"] <= a["after"]["parameters"]);
  const json c = run_json(kept, command(factors + "--keep 1"));
  CHECK(c["after"]["parameters"] == c["before"]["parameters"]);
  const json d = run_json(within, command(factors + "--kl 1e9"));
  CHECK(d["after"]["parameters"] < b["after"]["parameters"]);
}

TEST_CASE("a budget of the cache is kept by the model that is written, and its curve is drawn", "[compress]") {
  const TemporaryFolder folder;
  const std::string eval = fmt::format("--eval {} --eval-tokens 500:", small_text());
  const json made = run_json(folder, command("--budget cache=0.6 --budget-tokens 64 --curve curve.svg " + eval));
  const json& budget = made["budget"];
  CHECK(budget["f16_bytes_per_token"] == 64);
  CHECK(made["before"]["kv_cache_bytes_per_token"] == 64);
  CHECK(made["after"]["kv_cache_bytes_per_token"] == budget["bytes_per_token"]);
  CHECK(budget["bytes_per_token"].get<int64_t>() <= 38);
  CHECK(budget["cache"].size() == 2);
  CHECK(budget["curve"][0]["plain"] == "f16");
  CHECK(budget["curve"][0]["bytes_per_token"] == 64);
  int64_t last = 65;
  for (const json& point : budget["curve"]) {
    CHECK(point["bytes_per_token"] <= point["allowed_bytes"]);
    CHECK(point["allowed_bytes"].get<int64_t>() < last);
    last = point["allowed_bytes"];
  }
  CHECK_THAT(read(folder / "curve.svg"), contains("mixed by budget"));
  CHECK_THAT(read(folder / "out/README.md"), contains("--budget cache=0.6"));
  const std::string text = fmt::format("eval out --text {} --context 32 --cache-dtype model", small_text());
  const json held = run_json(folder, text);
  CHECK(held["cache"]["bytes_per_token"] == budget["bytes_per_token"]);
  CHECK(held["cache"]["dtype"] == "model");
  const json exact = run_json(folder, fmt::format("eval out --text {} --context 32", small_text()));
  CHECK(exact["ppl"] != held["ppl"]);
}

TEST_CASE("without options the fewest bytes are found that are shown to lose no more than a hundredth", "[compress]") {
  const TemporaryFolder folder;
  const std::string alone = fmt::format("compress {} -o out --no-speed --context 32 --budget-tokens 64 --calibrate {}",
                                        small_model(), small_text());
  Program hopeless(folder.path(), alone);  // a random model's few windows tell no hundredth
  CHECK(hopeless.wait() == 1);
  CHECK_THAT(hopeless.err(), contains("--budget loss=0.01: the best of 7 smaller caches tried, of "));
  CHECK_FALSE(fs::exists(folder / "out"));
  const json made = run_json(folder, alone + " --budget loss=0.04");
  const int64_t half =
      made["evaluation"]["tokens"][1];  // one text: its beginning is measured, its second half calibrates
  CHECK(made["evaluation"]["tokens"][0] == 0);
  CHECK(made["calibration"]["tokens"][0] == half);
  REQUIRE_FALSE(made["tried"].empty());
  const int64_t kept = made["budget"]["bytes_per_token"];
  bool has_kept = false;
  for (const json& tried : made["tried"]) {
    CHECK(tried["is_within"] == (tried["ppl_ratio_interval"][1].get<double>() <= 1.04));
    if (tried["is_within"]) CHECK(tried["bytes_per_token"].get<int64_t>() >= kept);
    if (!tried["is_within"] || tried["bytes_per_token"] != kept) continue;
    has_kept = true;
    CHECK(made["after"]["ppl_ratio"] == tried["ppl_ratio"]);
  }
  CHECK(has_kept);
  CHECK(kept < made["budget"]["f16_bytes_per_token"].get<int64_t>());
  // The files hold what was measured, rounded matrices and cache types included.
  const std::string eval = "eval {} --text {} --context 32 --max-tokens {} --exact --cache-dtype {}";
  const json held = run_json(folder, fmt::format(fmt::runtime(eval), "out", small_text(), half, "model"));
  CHECK(held["ppl"].get<double>() == Approx(made["after"]["perplexity"].get<double>()).epsilon(1e-5));
  CHECK_FALSE(fs::exists(folder / "out.losses"));
  const std::string words = output_of(folder.path(), alone + " --force --budget loss=0.5");
  CHECK_THAT(words, contains("\nkept     "));
  CHECK_THAT(words, contains(", needs ≤ 1.5×. This"));
  // What a search would keep cannot be kept over a file of somebody else's.
  headroom::testing::write_bytes(folder / "out.losses", "my losses");
  CHECK_THAT(complaint(folder.path(), alone + " --force", 1), contains("out.losses: is no file of measured losses"));
  CHECK(read(folder / "out.losses") == "my losses");
}

TEST_CASE("a measurement that was killed goes on where it was, to the same files", "[compress]") {
  for (const std::string& what :
       {std::string("--budget loss=0.2 --budget-tokens 64 --eval ") + small_text() + " --eval-tokens 500:",
        std::string("--remove heads --keep 0.5 --format compact")}) {
    INFO(what);
    const TemporaryFolder whole, killed;
    run_json(whole, command(what));
    {
      Program program(killed.path(), command(what));
      while ((!fs::exists(killed / "out.losses") || fs::file_size(killed / "out.losses") < 200) && program.is_running())
        usleep(200);
      program.signal(SIGKILL);
      program.wait();
    }
    REQUIRE_FALSE(fs::exists(killed / "out"));
    Program resumed(killed.path(), command(what));
    REQUIRE(resumed.wait() == 0);
    CHECK_THAT(resumed.err(), contains(" measured losses: goes on from there"));
    CHECK(read(killed / "out" / "model.safetensors") == read(whole / "out" / "model.safetensors"));
    CHECK_FALSE(fs::exists(killed / "out.losses"));
  }
}

TEST_CASE("every method has its line in --help-methods, whatever else is given", "[compress]") {
  const TemporaryFolder folder;
  const std::string shown = output_of(folder.path(), "compress --help-methods");
  const std::string known = "; known: ";
  for (const char* part : {"qk", "vo"}) {
    Program unknown(folder.path(), command(fmt::format("--part {} --method none-such --rank 4 --format compat", part)));
    CHECK(unknown.wait() == 1);
    std::string names = unknown.err().substr(unknown.err().find(known) + known.size());
    names.pop_back();  // the newline
    for (size_t at = 0, end = 0; end != std::string::npos; at = end + 2) {
      end = names.find(", ", at);
      CHECK_THAT(shown, contains("\n" + names.substr(at, end - at) + " "));
    }
  }
}

TEST_CASE("the size of the files is told, and what would make them smaller", "[compress]") {
  const TemporaryFolder folder;
  const auto bytes_of = [&](const fs::path& model) {
    uintmax_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(model))
      if (entry.path().filename() != "README.md") bytes += entry.file_size();
    return bytes;
  };
  const auto compressed = [&](const std::string& options) { return command("--method whitened-grouped " + options); };
  const json full = run_json(folder, compressed("--rank 2 --format compat"));
  CHECK(full["before"]["file_bytes"] == headroom::models::model_bytes(checkpoints() / "smollm2"));
  CHECK(full["after"]["file_bytes"] == bytes_of(folder / "out"));
  for (const char* what : {"parameters", "flops_per_token", "kv_cache_bytes_per_token"}) CHECK(share(full, what) == 1);
  CHECK_THAT(full["size_note"].get<std::string>(), contains("--format compat keeps every matrix at its full shape"));
  const json whole = run_json(folder, compressed("--rank 4 --format compact --force"));
  CHECK(whole["after"]["file_bytes"] == bytes_of(folder / "out"));
  CHECK_THAT(whole["size_note"].get<std::string>(), contains("; --dtype bf16 would make about "));
  const json rounded = run_json(folder, compressed("--rank 4 --format compact --dtype bf16 --force"));
  CHECK(rounded["after"]["file_bytes"] < whole["after"]["file_bytes"]);
  const std::string table = output_of(folder.path(), compressed("--rank 4 --format compact --force"));
  CHECK_THAT(table, contains("\nfiles on disk "));
  CHECK_FALSE(table.find(" 0.0 ") != std::string::npos);
  CHECK_THAT(table, contains("note     the new files are no smaller than the model's"));
  CHECK_THAT(read(folder / "out" / "README.md"), contains("| files | "));
}

TEST_CASE("few tokens of calibration are pointed out, and a probe of the result does not ask for more", "[compress]") {
  const TemporaryFolder folder;
  const auto compressed = [&](const std::string& tokens) {
    return run_json(folder, fmt::format("compress {} -o out --force --no-speed --part qk --method whitened-grouped "
                                        "--rank 2 --format compact --calibrate {} --calibrate-tokens {}",
                                        small_model(), small_text(), tokens));
  };
  const json few = compressed("0:32");
  CHECK_THAT(few["calibration_note"].get<std::string>(), contains("32 tokens of calibration are few for a model of"));
  CHECK_THAT(read(folder / "out" / "README.md"), contains("32 tokens of calibration are few"));
  CHECK_THAT(complaint(folder.path(), "plan --config out --on h100", 1),
             contains("its heads are factors, or differ: plan takes the model that it was made from"));
  CHECK(compressed("0:700").count("calibration_note") == 0);
  const std::string probe = output_of(folder.path(), fmt::format("probe out --text {} --lengths 4:8", small_text()));
  CHECK_THAT(probe, contains("headroom compress refuses this model: its heads are factored already"));
  CHECK(probe.find("--rank") == std::string::npos);
  output_of(folder.path(), "convert out -o whole.gguf");
  CHECK_THAT(read(folder / "whole.md"), contains("convert out -o whole.gguf`"));
}

TEST_CASE("files that grew say so, with what would have made smaller ones for the same programs", "[compress]") {
  const TemporaryFolder folder;
  CHECK_THAT(output_of(folder.path(), fmt::format("convert {} -o half.gguf --dtype q8_0", small_model())),
             contains("note     the rows of 15 matrices do not fill Q8_0's blocks of 32 numbers"));
  CHECK_THAT(read(folder / "half.md"), contains("\nlibrary_name: gguf\n") &&
                                           contains("smollm2 -o half.gguf --dtype q8_0`\n") &&
                                           contains("\n- read back: logits of a few tokens differ by at most "));
  CHECK_THAT(output_of(folder.path(), "convert half.gguf -o whole --dtype f32"),
             contains("note     the new files have ") && contains("; --dtype bf16 would make about "));
  CHECK(output_of(folder.path(), "convert whole -o again.gguf --dtype bf16").find("the new files have") ==
        std::string::npos);
  const auto compressed = [&](const std::string& format) {
    return run_json(folder, fmt::format("compress half.gguf -o {0}.gguf --no-speed --part qk,vo --method pairs-even "
                                        "--vo-method whitened --rank 4 --dtype q8_0 --calibrate {1} --format {0}",
                                        format, small_text()));
  };
  const json compat = compressed("compat"), plain = compressed("plain");
  CHECK_THAT(compat["size_note"].get<std::string>(), contains("; --format plain --dtype q8_0 would make about "));
  CHECK(share(plain, "file_bytes") < 0.9);
  CHECK(plain.count("size_note") == 0);
}

TEST_CASE("a refinement that was killed goes on to the same bits", "[compress]") {
  const std::string refined =
      command(fmt::format("--method plain --rank 2 --format compact --refine logits "
                          "--refine-text {} --refine-steps 60 --refine-context 32",
                          small_text()));
  const TemporaryFolder whole, killed;
  const json made = run_json(whole, refined);
  CHECK(made["refinement"]["last_loss"] < made["refinement"]["first_loss"]);
  CHECK(made["refinement"]["trained"].get<int64_t>() > 0);

  {
    Program program(killed.path(), refined + " --checkpoint half.safetensors");
    while (!fs::exists(killed / "half.safetensors") && program.is_running()) usleep(1000);
    program.signal(SIGKILL);
    program.wait();
  }
  REQUIRE_FALSE(fs::exists(killed / "out"));
  const json resumed = run_json(killed, refined + " --checkpoint half.safetensors");
  CHECK(resumed["refinement"] == made["refinement"]);
  CHECK(read(killed / "out" / "model.safetensors") == read(whole / "out" / "model.safetensors"));
}

TEST_CASE("heads are taken out by what the model loses without them", "[compress]") {
  const std::string few = "--eval " + small_text() + " --eval-tokens 500: ";
  {
    const TemporaryFolder folder;  // two layers of three heads, which read one key
    const json made = run_json(folder, command("--remove heads --keep 0.5 --format compact " + few));
    CHECK(made["remove"] == "heads");
    CHECK(made["removed"].size() == 3);
    CHECK(made["after"]["parameters"] < made["before"]["parameters"]);
    CHECK(made["after"]["perplexity"] != made["before"]["perplexity"]);
    CHECK_THAT(read(folder / "out" / "README.md"), contains("- removed: 3 of 6 heads: layer "));
    const json again = run_json(folder, fmt::format("eval out --exact --text {} --context 32", small_text()));
    CHECK(again["tokens_scored"].get<int64_t>() > 0);
  }
  {
    const TemporaryFolder folder;  // a layer keeps a head
    const std::string most = "--remove heads --keep 0.8 --force --format compact " + few;
    const json made = run_json(folder, command(most)), fitted = run_json(folder, command("--refit " + most));
    CHECK(fitted["removed"] == made["removed"]);
    CHECK(fitted["after"]["perplexity"] != made["after"]["perplexity"]);
    CHECK_THAT(read(folder / "out" / "README.md"), contains("of 6 heads, output refit: layer "));
  }
  for (const char* part : {"attention", "layers"}) {
    const TemporaryFolder folder;
    const json small = run_json(folder, command(fmt::format("--remove {} --kl 1e9 --format compact {}", part, few)));
    CHECK(small["removed"].size() == 1);  // one layer stays
    CHECK(share(small, "kv_cache_bytes_per_token") == 0.5);
    const TemporaryFolder full;
    const json zeros = run_json(full, command(fmt::format("--remove {} --kl 1e9 --format compat {}", part, few)));
    CHECK(zeros["removed"] == small["removed"]);
    CHECK(share(zeros, "parameters") == 1);
    CHECK(zeros["after"]["perplexity"].get<double>() ==
          Approx(small["after"]["perplexity"].get<double>()).epsilon(1e-5));
  }
  const TemporaryFolder folder;
  for (const auto& [arguments, why] :
       {std::pair{"--remove heads --rank 2 --format compact", "expected --keep S, the share that stays, or --kl X"},
        {"--remove heads --keep 0.5 --kl 1 --format compact", "expected one of --rank, --mean-rank, --keep"},
        {"--remove heads --keep 0.5 --part qk --format compact", "takes heads out whole"},
        {"--remove layers --keep 0.5 --refit --format compact", "needs --remove heads or kv-heads, not layers"},
        {"--method plain --rank 4 --refit --format compact", "--refit needs --remove heads or kv-heads"},
        {"--remove heads --keep 0.5 --format plain", "GGUF files of llamas alone"},
        {"--remove heads --keep 0.5 --refine logits --format compat", "needs --format compact"}}) {
    CHECK_THAT(complaint(folder.path(), command(arguments), 1), contains(why));
  }
}
