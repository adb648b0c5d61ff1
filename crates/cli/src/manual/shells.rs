//! Completions for the shells.
//!
//! `mpirun` completes its own flags until a program is named, and files behind that; a colon begins
//! anew.

use std::fmt::Write as _;

use super::{Tool, Word};
use crate::wrapper;

const LAUNCHERS: &str = "mpirun mpiexec";

/// For bash. Words are split at `=` and `:` there.
pub(super) fn bash(mpirun: &Tool, wrappers: &[Tool], commands: &[Tool]) -> String {
    let mut text = "# Completions of Corelace for bash, as `corelace completions bash` prints them.\n\
                    _corelace_table() {\n  flags= valued= words=\n  case $1 in\n"
        .to_owned();
    let names = |tool: &Tool, wanted: fn(&Word) -> bool| {
        let names = tool.flags().filter(|word| wanted(word)).flat_map(|word| word.names.clone());
        names.collect::<Vec<_>>().join(" ")
    };
    let tables =
        [mpirun].into_iter().chain(wrappers).chain(commands.iter().filter(|tool| tool.name != "run"));
    for tool in tables.clone() {
        let (name, flags, valued) = (&tool.name, names(tool, |_| true), names(tool, Word::takes_a_word));
        let words = tool.words.join(" ");
        _ = writeln!(text, "    {name}) flags='{flags}' valued='{valued}' words='{words}' ;;");
    }
    text.push_str("  esac\n}\n_corelace_values() {\n  case \"$1 $2\" in\n");
    for tool in tables {
        for word in tool.flags() {
            let choices = word.choices();
            for name in word.names.iter().filter(|_| !choices.is_empty()) {
                _ = writeln!(text, "    '{} {name}') echo '{}' ;;", tool.name, choices.join(" "));
            }
        }
    }
    let list = commands.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(" ");
    let others = wrapper::NAMES.join(" ");
    text.push_str(
        &BASH.replace("@COMMANDS@", &list).replace("@LAUNCHERS@", LAUNCHERS).replace("@WRAPPERS@", &others),
    );
    text
}

const BASH: &str = r#"  esac
}
_corelace() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} tool=${COMP_WORDS[0]##*/}
  local flags valued words word first=1 named= skip= i
  tool=${tool%%.*}
  COMPREPLY=()
  case $tool in
    mpiexec) tool=mpirun ;;
    mpic++|mpiCC) tool=mpicxx ;;
    mpif77|mpif90) tool=mpifort ;;
    corelace)
      if (( COMP_CWORD == 1 )); then
        COMPREPLY=($(compgen -W '@COMMANDS@ help version --help --version' -- "$cur"))
        return
      fi
      tool=${COMP_WORDS[1]} first=2
      case $tool in
        run) tool=mpirun ;;
        cc) tool=mpicc ;;
        cxx) tool=mpicxx ;;
        fort) tool=mpifort ;;
        help)
          COMPREPLY=($(compgen -W '@COMMANDS@' -- "$cur"))
          return ;;
      esac ;;
  esac
  _corelace_table "$tool"
  if [[ $cur == '=' ]]; then
    cur=
  elif [[ $prev == '=' ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if [[ $tool == mpirun ]]; then
    for (( i = first; i < COMP_CWORD; i++ )); do
      word=${COMP_WORDS[i]}
      if [[ $word == '=' ]]; then
        continue
      elif [[ -n $skip ]]; then
        skip=
      elif [[ $word == ':' ]]; then
        named=
      elif [[ -z $named && " $valued " == *" $word "* ]]; then
        skip=1
      elif [[ $word != -* ]]; then
        named=1
      fi
    done
    [[ -n $named ]] && return
  fi
  if [[ " $valued " == *" $prev "* ]]; then
    COMPREPLY=($(compgen -W "$(_corelace_values "$tool" "$prev")" -- "$cur"))
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -o bashdefault -o default -F _corelace corelace @LAUNCHERS@ @WRAPPERS@
"#;

/// For zsh.
pub(super) fn zsh(mpirun: &Tool, wrappers: &[Tool], commands: &[Tool]) -> String {
    let mut text = format!(
        "#compdef corelace {LAUNCHERS} {}\n\
         # Completions of Corelace for zsh, as `corelace completions zsh` prints them.\n\
         _corelace_tool() {{\n  case $1 in\n",
        wrapper::NAMES.join(" ")
    );
    let tables =
        [mpirun].into_iter().chain(wrappers).chain(commands.iter().filter(|tool| tool.name != "run"));
    for tool in tables {
        _ = write!(text, "    {})\n      _arguments", tool.name);
        for word in tool.flags() {
            let value = match (word.takes_a_word(), word.choices()) {
                (false, _) => String::new(),
                (true, choices) if choices.is_empty() => ":value:_files".to_owned(),
                (true, choices) => format!(":value:({})", choices.join(" ")),
            };
            for name in &word.names {
                _ = write!(text, " \\\n        '{name}[{}]{value}'", for_zsh(&word.help));
            }
        }
        let rest = match (tool.name.as_str(), tool.words.as_slice()) {
            ("mpirun", _) => "'(-)1:program:_files' '*::argument:_files'".to_owned(),
            (_, []) => "'*:file:_files'".to_owned(),
            (_, words) => format!("'1:word:({})' '*:file:_files'", words.join(" ")),
        };
        _ = writeln!(text, " \\\n        {rest} ;;");
    }
    text.push_str("  esac\n}\n_corelace() {\n  local -a commands\n  commands=(\n");
    for tool in commands {
        _ = writeln!(text, "    '{}:{}'", tool.name, for_zsh(&tool.about));
    }
    text.push_str(ZSH);
    text
}

const ZSH: &str = r#"  )
  case ${service%%.*} in
    mpirun|mpiexec) _corelace_tool mpirun ;;
    mpicc) _corelace_tool mpicc ;;
    mpicxx|mpic++|mpiCC) _corelace_tool mpicxx ;;
    mpifort|mpif77|mpif90) _corelace_tool mpifort ;;
    *)
      if (( CURRENT == 2 )); then
        _describe command commands
        return
      fi
      local tool=$words[2]
      shift words
      (( CURRENT-- ))
      case $tool in
        run) tool=mpirun ;;
        cc) tool=mpicc ;;
        cxx) tool=mpicxx ;;
        fort) tool=mpifort ;;
      esac
      _corelace_tool $tool ;;
  esac
}
_corelace "$@"
"#;

/// Text within quotes, brackets and colons of zsh's descriptions.
fn for_zsh(text: &str) -> String {
    let mut safe = String::new();
    for letter in text.chars() {
        match letter {
            '\'' => safe.push_str("'\\''"),
            '[' | ']' | ':' | '\\' => safe.extend(['\\', letter]),
            _ => safe.push(letter),
        }
    }
    safe
}

/// For fish.
pub(super) fn fish(mpirun: &Tool, wrappers: &[Tool], commands: &[Tool]) -> String {
    let mut text =
        "# Completions of Corelace for fish, as `corelace completions fish` prints them.\n".to_owned();
    for name in LAUNCHERS.split(' ') {
        flags_for_fish(&mut text, &format!("complete -c {name}"), mpirun);
    }
    for tool in wrappers {
        flags_for_fish(&mut text, &format!("complete -c {}", tool.name), tool);
    }
    for tool in commands {
        let about = for_fish(&tool.about);
        _ = writeln!(text, "complete -c corelace -f -n __fish_use_subcommand -a {} -d '{about}'", tool.name);
        let within = format!("complete -c corelace -n '__fish_seen_subcommand_from {}'", tool.name);
        flags_for_fish(&mut text, &within, tool);
        if !tool.words.is_empty() {
            _ = writeln!(text, "{within} -f -a '{}'", tool.words.join(" "));
        }
    }
    text
}

fn flags_for_fish(text: &mut String, begin: &str, tool: &Tool) {
    for word in tool.flags() {
        text.push_str(begin);
        for name in &word.names {
            let bare = name.trim_start_matches('-').split([' ', '=', ':']).next().unwrap_or_default();
            let kind = match (name.starts_with("--"), bare.len()) {
                (true, _) => "-l",
                (false, 1) => "-s",
                (false, _) => "-o",
            };
            _ = write!(text, " {kind} {bare}");
        }
        match (word.takes_a_word(), word.choices()) {
            (false, _) => {}
            (true, choices) if choices.is_empty() => text.push_str(" -r"),
            (true, choices) => _ = write!(text, " -x -a '{}'", choices.join(" ")),
        }
        _ = writeln!(text, " -d '{}'", for_fish(&word.help));
    }
}

fn for_fish(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}
