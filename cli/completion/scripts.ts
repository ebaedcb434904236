/** The shells that the scripts are for. */
export const shells = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof shells)[number];

// All three ask `berth __complete -- WORDS...` with the words behind "berth" up to the cursor. It prints a candidate a
// line, "WORD" or "WORD<tab>DESCRIPTION", and last a line that begins with ":": ":files" (the shell completes files),
// ":glued" (no space behind) or ":".

const bash = `# Completion of berth for bash. Try it:   source <(berth completion bash)
# To keep it:                            berth completion bash > /etc/bash_completion.d/berth
_berth() {
  local line=\${COMP_LINE:0:COMP_POINT} words=() answer=() current typed breaks cut program=berth candidate directive
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  [[ \${words[0]} == */* ]] && program=\${words[0]}
  mapfile -t answer < <("$program" __complete -- "\${words[@]:1}" 2>/dev/null)
  COMPREPLY=()
  [ \${#answer[@]} -eq 0 ] && return
  directive=\${answer[-1]}
  unset 'answer[-1]'
  # Bash may cut words at "=" and ":" too, and then replaces only what stands behind the last of them.
  current=\${words[-1]} typed=\${words[-1]} breaks=\${COMP_WORDBREAKS//[^=:]/}
  [ -n "$breaks" ] && typed=\${current##*[$breaks]}
  cut=$((\${#current} - \${#typed}))
  if [ "$directive" = :files ]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$typed")
    return
  fi
  [ "$directive" = :glued ] && compopt -o nospace 2>/dev/null
  for candidate in "\${answer[@]}"; do
    candidate=\${candidate%%$'\\t'*}
    COMPREPLY+=("\${candidate:cut}")
  done
}
complete -F _berth berth
`;

const zsh = `#compdef berth
# Completion of berth for zsh. Try it:   source <(berth completion zsh)
# To keep it:                            berth completion zsh > "\${fpath[1]}/_berth"
_berth() {
  local -a answer candidates
  local directive candidate word
  answer=("\${(@f)$(berth __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  directive=\${answer[-1]}
  answer=("\${(@)answer[1,-2]}")
  if [[ $directive == :files ]]; then
    _files
    return
  fi
  for candidate in $answer; do
    word="\${\${candidate%%$'\\t'*}//:/\\\\:}"
    [[ $candidate == *$'\\t'* ]] && word+=":\${candidate#*$'\\t'}"
    candidates+=("$word")
  done
  if [[ $directive == :glued ]]; then
    _describe -V berth candidates -S ''
  else
    _describe -V berth candidates
  fi
}
if [ "$funcstack[1]" = "_berth" ]; then
  _berth "$@"
else
  compdef _berth berth
fi
`;

const fish = `# Completion of berth for fish. Try it:   berth completion fish | source
# To keep it:                             berth completion fish > ~/.config/fish/completions/berth.fish
function __berth_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l answer (berth __complete -- $words[2..-1] 2>/dev/null)
    test (count $answer) -eq 0; and return
    if test "$answer[-1]" = :files
        __fish_complete_path (commandline -ct)
        return
    end
    for candidate in $answer[1..-2]
        echo $candidate
    end
end
complete -c berth -f -a '(__berth_complete)'
`;

export const completionScripts: Readonly<Record<Shell, string>> = { bash, zsh, fish };
