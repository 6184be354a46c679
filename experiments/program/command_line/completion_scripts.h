#pragma once

namespace headroom::experiments {

/// What a shell reads to complete the program's arguments. Each script hands the words of the command line, one a line,
/// to `headroom completion words`, and reads lines "WORD<tab>HELP"; ":files", ":folders" and ":toml" ask the shell for
/// files.
extern const char* const bash_completion;
extern const char* const zsh_completion;
extern const char* const fish_completion;

}  // namespace headroom::experiments
