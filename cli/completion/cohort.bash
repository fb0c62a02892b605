# Bash completion for cohort. Options and their values are asked of the program itself, so that they are never out of
# date.

_cohort_commands="profile plan run export train simulate compare report view verify models dataset devices trace calibrate colocate"

# Options of a command, from its help: "  -f,--force   Overwrite existing files".
_cohort_options() {
  "$@" --help 2>/dev/null | sed -n 's/^  *\(-[^ ]*\).*/\1/p' | tr ',' '\n'
}

# OPTION COMMAND...: what the help says of the option's value ("TEXT:{skip,fatal}=skip", "FILE"); of a flag nothing.
_cohort_value() {
  local option=$1
  shift
  "$@" --help 2>/dev/null |
    sed -n "s/^  *\(-[^ ,]*,\)\{0,1\}$option\(,-[^ ]*\)\{0,1\} \([^ ][^ ]*\).*/\3/p" | sed '/:$/d;q'
}

_cohort_folders() {
  local IFS=$'\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY+=($(compgen -d -- "$cur"))
}

_cohort_files() { # the patterns of the names to offer; folders besides
  local pattern file
  _cohort_folders
  for pattern in "$@"; do
    while IFS= read -r file; do
      [[ -d ${file/#\~\//$HOME/} ]] || COMPREPLY+=("$file")
    done < <(compgen -f -X "!$pattern" -- "$cur")
  done
}

# Offers what the option before the cursor takes. False where it is none, or a flag.
_cohort_offer_value() { # OPTION COMMAND...
  local value
  [[ $1 =~ ^--?[a-z][a-z-]*$ ]] || return 1
  value=$(_cohort_value "$@")
  case $1:$value in
    *:) return 1 ;;
    --device:*) COMPREPLY=($(compgen -W "cpu reference cuda cpu:0 reference:0 cuda:0" -- "$cur")) ;;
    *:*"{"*)
      value=${value#*"{"}
      value=${value%%"}"*}
      COMPREPLY=($(compgen -W "${value//,/ }" -- "$cur"))
      ;;
    *:*"|"*) # "none|auto|OPS=none": words, and what stands for others
      value=${value%%=*}
      COMPREPLY=($(compgen -X '*[A-Z]*' -W "${value//|/ }" -- "$cur"))
      ;;
    *:FOLDER*) _cohort_folders ;;
    *:FILE* | *:PLAN* | *:TRACE* | *:PROFILE*) _cohort_files "*" ;;
  esac
}

_cohort() {
  local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]} words=2 family=""
  COMPREPLY=()
  if [[ $program =~ ^~[[:alnum:]._-]* ]]; then # as typed: nobody has looked for the home folder yet
    local tail=${program:${#BASH_REMATCH[0]}}
    eval "program=${BASH_REMATCH[0]}"
    program+=$tail
  fi
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
  local called=("$program" "${COMP_WORDS[@]:1:words-1}")
  if [[ $cur == "=" ]]; then # --option=value is three words
    cur=""
  elif [[ $previous == "=" ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  _cohort_offer_value "$previous" "${called[@]}" && return
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$(_cohort_options "${called[@]}")" -- "$cur"))
    return
  fi
  case $command in
    trace | compare | report | view | plan | simulate | calibrate) _cohort_files "*.json" "*.json.gz" "*.sqlite" ;;
    run | export) _cohort_files "*.json" ;;
    profile | models)
      local names
      names=$("$program" models 2>/dev/null | sed -n 's/^\([a-z][a-z0-9_]*\) .*/\1/p')
      COMPREPLY=($(compgen -W "$names" -- "$cur"))
      _cohort_files "*.onnx"
      ;;
    colocate) _cohort_files "*.csv" ;;
    train) _cohort_files "*.toml" ;;
    dataset | verify) _cohort_folders ;;
  esac
}

complete -F _cohort cohort
