# Bash completion for cohort. Options are asked of the program itself, so that they are never out of date.

_cohort_commands="profile plan run simulate compare verify models dataset devices trace calibrate"

# Options of a command, from its help: "  -f,--force   Overwrite files that exist".
_cohort_options() {
  "$@" --help 2>/dev/null | sed -n 's/^  *\(-[^ ]*\).*/\1/p' | tr ',' '\n'
}

_cohort_files() { # the patterns of the names to offer; folders besides
  local IFS=$'\n' pattern
  compopt -o filenames 2>/dev/null
  COMPREPLY+=($(compgen -d -- "$cur"))
  for pattern in "$@"; do
    COMPREPLY+=($(compgen -f -X "!$pattern" -- "$cur"))
  done
}

_cohort() {
  local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]} words=2 family=""
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "$_cohort_commands --help --version" -- "$cur"))
    return
  fi
  case $command in
    trace) words=3 family="info convert" ;;
    dataset) words=3 family="synth" ;;
  esac
  if ((words == 3 && COMP_CWORD == 2)); then
    COMPREPLY=($(compgen -W "$family --help" -- "$cur"))
    return
  fi
  case $previous in
    --device)
      COMPREPLY=($(compgen -W "cpu reference cuda cpu:0 reference:0 cuda:0" -- "$cur"))
      return
      ;;
    --data | --outputs | --candidates | --properties)
      compopt -o filenames 2>/dev/null
      COMPREPLY=($(compgen -d -- "$cur"))
      return
      ;;
    -o | --output | --members | --export | --plan | --resolve | --beside | --device-profile | --fit | --kernels)
      _cohort_files "*"
      return
      ;;
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$(_cohort_options "$program" "${COMP_WORDS[@]:1:words-1}")" -- "$cur"))
    return
  fi
  case $command in
    trace | compare | plan | simulate | calibrate) _cohort_files "*.json" "*.json.gz" "*.sqlite" ;;
    run) _cohort_files "*.json" ;;
    profile | models)
      local names
      names=$("$program" models 2>/dev/null | sed -n 's/^\([a-z][a-z0-9_]*\) .*/\1/p')
      COMPREPLY=($(compgen -W "$names" -- "$cur"))
      [[ $command == profile ]] && _cohort_files "*.onnx"
      ;;
    dataset | verify) _cohort_files ;;
  esac
}

complete -F _cohort cohort
