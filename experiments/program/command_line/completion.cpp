#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "experiments/output/text.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/studies/config/metrics.h"
#include "experiments/studies/config/schema.h"
#include "experiments/studies/config/shipped_files.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/run/stored_runs.h"
#include "experiments/studies/toml/document.h"
#include "tasks/data/manifest.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

// The shells' scripts. Each pipes the words of the command line, one a line, to `headroom completion words`, and reads
// lines "WORD<tab>HELP"; ":files", ":folders" and ":toml" ask the shell itself for files.
constexpr const char* bash_script = R"--(# bash completion of headroom: headroom completion bash
_headroom() {
  local candidate files=()
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    case $candidate in
      :files) files=(-f) ;;
      :folders) files=(-d) ;;
      :toml) files=(-f -X '!*.toml' -o plusdirs) ;;
      *) COMPREPLY+=("$candidate") ;;
    esac
    case $candidate in *=) compopt -o nospace ;; esac
  done < <(printf '%s\n' "${COMP_WORDS[@]:1:COMP_CWORD}" | "${COMP_WORDS[0]}" completion words 2>/dev/null)
  ((${#files[@]})) || return 0
  compopt -o filenames
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "${files[@]}" -- "$2")
}
complete -F _headroom headroom
)--";
constexpr const char* zsh_script = R"--(#compdef headroom
# zsh completion of headroom: headroom completion zsh
_headroom() {
  local -a values files space
  local candidate help
  printf '%s\n' "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" | ${(Q)words[1]} completion words 2>/dev/null |
    while IFS=$'\t' read -r candidate help; do
      case $candidate in
        :files) files=(_files) ;;
        :folders) files=(_files -/) ;;
        :toml) files=(_files -g '*.toml') ;;
        *) values+=("${candidate//:/\\:}${help:+:$help}") ;;
      esac
      case $candidate in *=) space=(-S '') ;; esac
    done
  (($#values)) && _describe headroom values "${space[@]}"
  $files
}
if [ "$funcstack[1]" = _headroom ]; then _headroom "$@"; else compdef _headroom headroom; fi
)--";
constexpr const char* fish_script = R"--(# fish completion of headroom: headroom completion fish
function __headroom_complete
  set -l words (commandline -opc)
  set -l begun (commandline -ct)
  for line in (printf '%s\n' $words[2..-1] "$begun" | $words[1] completion words 2>/dev/null)
    switch $line
      case :files
        __fish_complete_path $begun
      case :folders
        __fish_complete_directories $begun
      case :toml
        __fish_complete_suffix .toml
      case '*'
        echo $line
    end
  end
end
complete -c headroom -f -a '(__headroom_complete)'
)--";

/// Skips candidates that cannot be read: nobody wants an error for pressing a key.
template <class F>
void quietly(const F& look) {
  try {
    look();
  } catch (const Error&) {
    // The word is no study, or the file is one that no run would accept either.
  }
}

/// A TOML file, or a table in it; empty if it has none.
Value table_of(const fs::path& file, const std::string& key = "") {
  Value table;
  quietly([&] {
    table = read_toml(file.string());
    if (key.empty()) return;
    const Entry* entry = table.find(key);
    table = entry != nullptr ? Value(entry->value) : Value();
  });
  return table;
}

/// Reads a command line word by word, and prints completions of the last word.
class Completer {
 public:
  explicit Completer(const CommandDescription& program) : command_(&program) {}

  /// Takes a complete word.
  void read(const std::string& word) {
    const size_t equals = word.find('=');
    if (const ArgumentDescription* option = std::exchange(waiting_, nullptr)) {
      if (option->names.back() == "--profile") profile_ = word;
    } else if (word == "--") {
      only_positionals_ = true;
    } else if (is_option(word)) {
      waiting_ = option_named(word.substr(0, equals));
      if (waiting_ != nullptr && equals != std::string::npos) read(word.substr(equals + 1));
    } else {
      for (const CommandDescription& below : command_->commands)
        if (below.name == word) return void(command_ = &below);
      given_.push_back(word);
    }
  }

  /// Takes the last word; bash has cut off its first `cut` bytes.
  void complete(const std::string& word, size_t cut) {
    begun_ = word, cut_ = cut;
    if (waiting_ != nullptr) return offer_values(*waiting_);
    if (is_option(word)) {
      const size_t equals = word.find('=');
      const ArgumentDescription* option = equals == std::string::npos ? nullptr : option_named(word.substr(0, equals));
      if (option == nullptr) return offer_options();
      option_ = word.substr(0, equals + 1);
      return offer_values(*option);
    }
    for (const CommandDescription& below : command_->commands) offer(below.name, below.help);
    size_t place = 0;
    for (const ArgumentDescription& argument : command_->arguments)
      if (argument.is_positional() && (place++ == given_.size() || (argument.is_list && place <= given_.size())))
        offer_values(argument);
  }

 private:
  bool is_option(const std::string& word) const { return !only_positionals_ && word.starts_with("-"); }

  /// The option of that name if it takes a value, else null.
  const ArgumentDescription* option_named(const std::string& name) const {
    for (const ArgumentDescription& a : command_->arguments)
      if (!a.value.empty() && std::find(a.names.begin(), a.names.end(), name) != a.names.end()) return &a;
    return nullptr;
  }

  /// Offers a word unless shells would read it as more: they insert it unquoted.
  void offer(const std::string& value, const std::string& help = "") const {
    const std::string word = option_ + value;
    if (word.starts_with(begun_) && shell_word(word) == word) fmt::print("{}\t{}\n", word.substr(cut_), one_line(help));
  }

  void offer_all(const std::set<std::string>& values) const {
    for (const std::string& value : values) offer(value);
  }

  /// Offers no files after "--out=": shells would take the option's name for part of the file's.
  void offer_files(const char* which) const {
    if (option_.empty()) fmt::print("{}\n", which);
  }

  void offer_options() const {
    for (const ArgumentDescription& argument : command_->arguments)
      for (const std::string& name : argument.names)
        if (!argument.is_positional()) offer(name, argument.help);
  }

  void offer_values(const ArgumentDescription& argument) const {
    using Names = std::set<std::string>;
    const std::string &name = argument.names.back(), &value = argument.value;
    if (!argument.choices.empty())
      for (const std::string& choice : argument.choices) offer(choice);
    else if (name == "STUDY") offer_studies();
    else if (Names{"RUN", "A", "B"}.contains(name))
      for (const StoredRun& run : stored_runs("runs")) offer(run.name());
    else if (name == "--profile") offer_all(profiles());
    else if (name == "--metric") offer_all(metrics());
    else if (name == "--set") offer_settings();
    else if (name == "--device") offer_all({"cpu", "cuda"});
    else if (name == "workload") offer_workloads();
    else if (name == "NAME")
      for (const tasks::DataSet& set : tasks::built_in_manifest()) offer(set.name, set.title);
    else if (Names{"DIR", "--dir", "--data"}.contains(name) || value == "FOLDER" || argument.fallback == "runs")
      offer_files(":folders");
    else if (argument.is_positional() || Names{"TEXT", "FILE", "OUT", "PAGE", "PATH"}.contains(value))
      offer_files(":files");
  }

  void offer_studies() const {
    for (const ShippedStudy& study : shipped_studies()) {
      const Value file = table_of(study.file, "study");
      const Entry* title = file.find("title");
      offer(study.id, title != nullptr ? title->value.text : "");
    }
    offer_files(":toml");
  }

  void offer_workloads() const {
    for (const Entry& entry : table_of(shipped_file("experiments/tools/bench/workloads.toml")).table)
      if (entry.key != "defaults") offer(entry.key);
  }

  /// The study files among the words so far.
  std::vector<fs::path> studies() const {
    std::vector<fs::path> files;
    for (const std::string& word : given_) quietly([&] { files.push_back(study_file(word)); });
    return files;
  }

  /// The profiles of the named studies, or of every study if none is named.
  std::set<std::string> profiles() const {
    std::vector<fs::path> files = studies();
    if (files.empty())
      for (const ShippedStudy& study : shipped_studies()) files.push_back(study.file);
    std::set<std::string> names{base_profile};
    for (const fs::path& file : files)
      for (const Entry& profile : table_of(file, "profile").table) names.insert(profile.key);
    return names;
  }

  std::set<std::string> metrics() const {
    std::set<std::string> names;
    for (const fs::path& file : studies())
      quietly([&] {
        for (const PlannedTrial& trial : load_study(file.string(), profile_).trials)
          names.merge(metric_names(trial.config));
      });
    return names;
  }

  /// Offers "KEY=" for every key of a study, and after a key that names a metric, the study's metrics.
  void offer_settings() const {
    const std::string begun = begun_.substr(option_.size()), key = begun.substr(0, begun.find('='));
    if (key != begun && key.ends_with("metric"))
      for (const std::string& metric : metrics()) offer(key + "=" + metric);
    if (key != begun) return;
    std::set<std::string> seen;
    for (const Key& each : study_schema())
      if (each.type != Key::Type::table && each.type != Key::Type::others && seen.insert(each.path).second)
        offer(each.path + "=", each.doc);
  }

  const CommandDescription* command_;
  const ArgumentDescription* waiting_ = nullptr;  ///< the option whose value comes next
  bool only_positionals_ = false;                 ///< after "--"
  std::vector<std::string> given_;                ///< positional arguments
  std::string profile_ = base_profile;
  std::string begun_, option_;  ///< the last word; its beginning if that is "--option="
  size_t cut_ = 0;
};

/// Bash cuts words at "=" and ":".
void print_candidates(const CommandDescription& program) {
  std::vector<std::string> words;
  size_t cut = 0;
  bool is_cut = false;
  for (std::string word; std::getline(std::cin, word);) {
    const bool cuts = word == "=" || word == ":", continues = !words.empty() && (cuts || is_cut);
    if (!continues) words.emplace_back();
    cut = is_cut ? words.back().size() : 0;
    words.back() += word;
    is_cut = continues && cuts;
  }
  if (words.empty()) return;
  Completer completer(program);
  for (size_t i = 0; i + 1 < words.size(); ++i) completer.read(words[i]);
  completer.complete(words.back(), is_cut ? words.back().size() : cut);
}

}  // namespace

void add_completion_command(CommandLine& line) {
  const auto shell = std::make_shared<std::string>();
  const Command command = line.root().command("completion", "the script of a shell that completes arguments").hidden();
  command.option("SHELL", *shell, "bash, zsh or fish; words: what may follow the words on standard input")
      .required()
      .one_of({"bash", "zsh", "fish", "words"});
  command.action([&line, shell] {
    if (*shell == "words") print_candidates(line.description());
    else std::fputs(*shell == "bash" ? bash_script : *shell == "zsh" ? zsh_script : fish_script, stdout);
  });
}

}  // namespace headroom::experiments
