#include "experiments/program/command_line/completion_scripts.h"

namespace headroom::experiments {

const char* const bash_completion = R"--(# bash completion of headroom: headroom completion bash
_headroom() {
  local words=() word begun kept candidate files="" i
  # Bash cuts words at "=" and ":"; the program needs them whole.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]} > 0)) && [[ $word == [=:] || ${words[-1]} == *[=:] ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  begun=${words[-1]}
  kept=${begun%"${begun##*[=:]}"}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    case $candidate in
      :*) files=$candidate ;;
      *)
        COMPREPLY+=("${candidate#"$kept"}")
        case $candidate in *=) compopt -o nospace ;; esac
        ;;
    esac
  done < <(printf '%s\n' "${words[@]}" | "${COMP_WORDS[0]}" completion words 2>/dev/null)
  [ -n "$files" ] || return 0
  compopt -o filenames
  begun=${begun#"$kept"}
  case $files in
    :files) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$begun") ;;
    :folders) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$begun") ;;
    :toml)
      mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$begun"; compgen -f -X '!*.toml' -- "$begun")
      ;;
  esac
}
complete -F _headroom headroom
)--";

const char* const zsh_completion = R"--(#compdef headroom
# zsh completion of headroom: headroom completion zsh
_headroom() {
  local -a values keys
  local candidate help files=
  printf '%s\n' "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" | ${(Q)words[1]} completion words 2>/dev/null |
    while IFS=$'\t' read -r candidate help; do
      case $candidate in
        :*) files=$candidate ;;
        *=) keys+=("${candidate//:/\\:}${help:+:$help}") ;;
        *) values+=("${candidate//:/\\:}${help:+:$help}") ;;
      esac
    done
  (($#values)) && _describe -t values headroom values
  (($#keys)) && _describe -t keys key keys -S ''
  case $files in
    :files) _files ;;
    :folders) _files -/ ;;
    :toml) _files -g '*.toml' ;;
  esac
}
if [ "$funcstack[1]" = _headroom ]; then
  _headroom "$@"
else
  compdef _headroom headroom
fi
)--";

const char* const fish_completion = R"--(# fish completion of headroom: headroom completion fish
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

}  // namespace headroom::experiments
