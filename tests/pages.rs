//! The pages show what is so: README, the guide, the seeds and the two documents of figures.
//!
//! A fenced block of a page is one of three things.
//! - A session: it has lines that begin with `$ `, and its info string is empty or `console`. Each such
//!   line is a command, and the lines behind it are what the command prints, errors among them. If one
//!   command of a session shows output, the whole session is run, in a directory that has `examples`,
//!   `apps` and `tests/wrong` as the repository has them, and that the sessions of a page share. `…`
//!   stands for anything in a line, and a line `…` for any lines. A command without output behind it
//!   must succeed. In a session with the word `measured` behind `console`, each number, with its unit,
//!   is as good as any other: these are figures that depend on the machine.
//! - A program or a file, whose info string is its language: not looked at.
//! - `text`: a drawing, or a table that a command has written whole, in the pages that `TEXTS` lists.
//!
//! Anything else is refused, quotations (`>`) as well, so that no page shows what nobody checks. Of
//! commands that are not run, the tools, their flags and the files that they name are checked.
//! `NOT_RUN` has the sessions that take too long, with the reason, and what else holds their output.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::support::job::Job;
use crate::support::{PATIENCE, prefix, root, scratch, side_by_side, tool};

/// Commands that show output and are not run, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo xtask test", "it runs this test; what is shown of it has no number"),
    ("corelace reproduce", "minutes; the tests of `lab::reproduce::document` hold both pages to each other"),
    (
        "corelace bench --from first.json,second.json,third.json",
        "it needs three runs beside other MPIs; tests of `lab::bench::summary` hold its form",
    ),
];

/// Pages that have blocks `text`, and what is in them.
const TEXTS: [(&str, &str); 3] = [
    ("README.md", "the drawing of the layers"),
    ("docs/performance.md", "the summary that `corelace bench --document` writes"),
    ("docs/reproduction.md", "the table of `corelace reproduce`, which tests of `lab::reproduce` know"),
];

/// Languages of blocks that are no sessions.
const LANGUAGES: [&str; 5] = ["c", "csv", "fortran", "rust", "toml"];

/// What pages call the reader's own programs.
const PROGRAMS: [&str; 14] = [
    "./a",
    "./b",
    "./heat",
    "./program",
    "a",
    "b",
    "exchange",
    "heat",
    "hostname",
    "prog",
    "program",
    "python3",
    "solver",
    "stencil",
];

/// Commands that are not ours.
const OTHERS: [&str; 6] = ["cat", "cd", "grep", "kill", "sed", "wait"];

/// A page, as people read it.
struct Page {
    name: String,
    blocks: Vec<Block>,
    /// Lines that are quoted.
    quoted: Vec<usize>,
}

/// A fenced block.
struct Block {
    line: usize,
    info: String,
    lines: Vec<String>,
}

/// A command of a session, and what a page shows of its output.
struct Step {
    line: usize,
    command: String,
    shown: Vec<String>,
}

#[test]
fn pages_show_what_commands_print() {
    let pages = pages();
    let complaints = Mutex::new(Vec::new());
    let ran = Mutex::new(0);
    side_by_side(&pages, |page| {
        let room = room();
        for block in page.blocks.iter().filter(|block| block.is_session()) {
            let steps = block.steps();
            let runs = steps.iter().any(|step| !step.shown.is_empty());
            if !runs || steps.iter().any(|step| not_run(&step.command)) {
                continue;
            }
            *ran.lock().unwrap() += 1;
            let found = run(&room, &steps, block.info.contains("measured"));
            complaints
                .lock()
                .unwrap()
                .extend(found.into_iter().map(|(line, what)| format!("{}:{line}: {what}", page.name)));
        }
    });
    none(complaints.into_inner().unwrap());
    let ran = ran.into_inner().unwrap();
    assert!(ran >= 30, "only {ran} sessions were found that can be run");
}

#[test]
fn pages_name_tools_flags_and_files_that_exist() {
    let mut complaints = Vec::new();
    let mut tools = Tools::default();
    for page in pages() {
        for block in page.blocks.iter().filter(|block| block.is_session()) {
            for step in block.steps() {
                let parts = parts(&step.command);
                let said = parts.iter().filter_map(|part| tools.complaint(part));
                complaints.extend(said.map(|what| format!("{}:{}: {what}", page.name, step.line)));
            }
        }
    }
    none(complaints);
}

#[test]
fn every_block_of_a_page_is_a_session_or_says_what_it_is() {
    let pages = pages();
    assert!(pages.len() > 20, "{} pages", pages.len());
    let mut complaints = Vec::new();
    for page in &pages {
        complaints.extend(page.blocks.iter().filter_map(|block| block.complaint(&page.name)));
        let said = "a quotation: what a command prints stands in a session";
        complaints.extend(page.quoted.iter().map(|line| format!("{}:{line}: {said}", page.name)));
    }
    none(complaints);
}

#[test]
fn seeds_have_the_figures_that_were_measured() {
    let reproduction = fs::read_to_string(root().join("docs/reproduction.md")).unwrap();
    let measured: Vec<f64> = reproduction.lines().filter_map(figure).collect();
    assert!(measured.len() > 150, "{} figures", measured.len());
    let (mut complaints, mut checked) = (Vec::new(), 0);
    for file in fs::read_dir(root().join("docs/seeds")).unwrap().map(|entry| entry.unwrap().path()) {
        let text = fs::read_to_string(&file).unwrap();
        let mut column = None;
        for (number, line) in (1..).zip(text.lines()) {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            match column {
                _ if cells.len() < 3 => column = None,
                None => column = Some(cells.iter().position(|cell| ["ours", "here"].contains(cell))),
                Some(None) => {}
                Some(Some(column)) => {
                    for figure in numbers(cells[column]) {
                        checked += 1;
                        let places = figure.split_once('.').map_or(0, |(_, places)| places.len());
                        let room = 0.5 * 0.1_f64.powi(i32::try_from(places).unwrap()) + 1e-9;
                        let value: f64 = figure.parse().unwrap();
                        if !measured.iter().any(|ours| (ours - value).abs() <= room) {
                            let file = file.display();
                            complaints
                                .push(format!("{file}:{number}: {figure} is no figure of reproduction.md"));
                        }
                    }
                }
            }
        }
    }
    assert!(checked >= 40, "{checked} figures of seeds");
    none(complaints);
}

/// Our value in a line of the table of docs/reproduction.md: it stands before the difference, if there is one.
fn figure(line: &str) -> Option<f64> {
    let seed = line.split_once('.')?.0;
    if !["a", "b", "c", "d", "e"].contains(&seed) {
        return None;
    }
    let mut words: Vec<&str> = line.split_whitespace().collect();
    while words.last().is_some_and(|word| ["pass", "MISS", "%", "points", "-"].contains(word)) {
        words.pop();
    }
    // A difference has a sign.
    if words.last()?.starts_with(['+', '-']) && words.len() > 2 && !line.trim_end().ends_with(" -") {
        words.pop();
    }
    words.last()?.parse().ok()
}

/// The numbers of a cell.
fn numbers(cell: &str) -> Vec<&str> {
    let parts = cell.split(|letter: char| letter != '.' && !letter.is_ascii_digit());
    parts.map(|part| part.trim_matches('.')).filter(|part| !part.is_empty()).collect()
}

#[test]
fn a_dotted_line_stands_for_any_lines_and_a_dot_for_anything_in_one() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let said = lines("one\ntwo 2\nthree 3.5 s");
    for shown in ["one\ntwo 2\nthree 3.5 s", "…", "one\n…", "…\nthree … s", "one\n…\ntwo …\nthree…s\n…"]
    {
        assert!(fits(&lines(shown), &said, false), "{shown}");
    }
    for shown in ["one", "one\ntwo 2", "…\ntwo 3\n…", "one\ntwo 2\nthree 4 s", "three…\n…", "…\none two\n…"]
    {
        assert!(!fits(&lines(shown), &said, false), "{shown}");
    }
    assert!(fits(&lines("one\ntwo 7\nthree   -40,000 us"), &said, true));
    assert!(!fits(&lines("one\ntwo 7\nthree 4 J"), &said, true));
}

#[track_caller]
fn none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.join("\n"));
}

/// All pages that are held to be true.
fn pages() -> Vec<Page> {
    let mut files: Vec<PathBuf> =
        ["README.md", "docs/performance.md", "docs/reproduction.md"].map(|name| root().join(name)).to_vec();
    for folder in ["docs/guide", "docs/seeds"] {
        files.extend(fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path()));
    }
    files.retain(|file| file.extension().is_some_and(|ending| ending == "md"));
    files.sort();
    files.iter().map(|file| Page::of(file)).collect()
}

impl Page {
    fn of(file: &Path) -> Page {
        let name = file.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(file).unwrap();
        let (mut blocks, mut quoted, mut open) = (Vec::new(), Vec::new(), None::<Block>);
        for (line, text) in (1..).zip(text.lines()) {
            match (text.trim_start().strip_prefix("```"), &mut open) {
                (Some(info), None) => {
                    open = Some(Block { line, info: info.trim().to_owned(), lines: Vec::new() });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => block.lines.push(text.to_owned()),
                (None, None) if text.starts_with('>') => quoted.push(line),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{name}: a block that does not end");
        Page { name, blocks, quoted }
    }
}

impl Block {
    fn is_session(&self) -> bool {
        self.may_be_session() && self.lines.first().is_some_and(|line| line.starts_with("$ "))
    }

    fn may_be_session(&self) -> bool {
        ["", "console", "console measured"].contains(&self.info.as_str())
    }

    /// What is wrong with it as a block, if anything.
    fn complaint(&self, page: &str) -> Option<String> {
        let commands = self.lines.iter().filter(|line| line.starts_with("$ ")).count();
        let what = match self.info.as_str() {
            _ if self.is_session() => return None,
            "text" if commands == 0 && TEXTS.iter().any(|(listed, _)| *listed == page) => return None,
            "text" => "a block `text` that is not listed in TEXTS: what a command says is a session",
            info if LANGUAGES.contains(&info) => return None,
            _ if self.may_be_session() => {
                "a block without a language has to begin with a command (`$ …`): what prints this?"
            }
            info => return Some(format!("{page}:{}: a block of an unknown kind \"{info}\"", self.line)),
        };
        Some(format!("{page}:{}: {what}", self.line))
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for (line, text) in (self.line + 1..).zip(&self.lines) {
            match (text.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => {
                    steps.push(Step { line, command: command.to_owned(), shown: Vec::new() });
                }
                (None, Some(step)) => step.shown.push(text.trim_end().to_owned()),
                (None, None) => panic!("line {line}: output before the first command"),
            }
        }
        for step in &mut steps {
            while step.shown.last().is_some_and(String::is_empty) {
                step.shown.pop();
            }
        }
        steps
    }
}

fn not_run(command: &str) -> bool {
    NOT_RUN.iter().any(|(listed, _)| *listed == command)
}

/// A directory that looks like the root of the repository to the commands of a page.
fn room() -> PathBuf {
    let room = scratch("page");
    fs::create_dir(room.join("tests")).unwrap();
    for folder in ["examples", "apps", "chips", "tests/wrong"] {
        symlink(root().join(folder), room.join(folder)).unwrap();
    }
    room
}

/// Runs the commands of a session in one shell; what is not as shown, with the line of the page.
fn run(room: &Path, steps: &[Step], measured: bool) -> Vec<(usize, String)> {
    let mut script = "ulimit -c 0\nexec 2>&1\n".to_owned();
    for (number, step) in steps.iter().enumerate() {
        let command = step.command.replace("cargo run --release -- ", "corelace ");
        let command = match command.strip_prefix("cargo xtask ") {
            Some(rest) => format!("(cd '{}' && cargo xtask {rest})", root().display()),
            None => command,
        };
        if let Some(waited) = step.shown.last().filter(|_| command.starts_with("corelace status ")) {
            // A job that was started in the background is asked until it has got there.
            let sign = waited.split('…').max_by_key(|part| part.len()).expect("one part");
            script += &format!("until {command} 2>/dev/null | grep -qF -e '{sign}'; do :; done\n");
        }
        script += &format!("{command}\nprintf '%s\\n' \"{MARK} {number} $?\"\n");
    }
    let mut shell = Command::new("env");
    shell.current_dir(room).arg("--default-signal=HUP,INT,QUIT,TERM");
    for (variable, _) in tool("mpirun").get_envs() {
        shell.arg("-u").arg(variable);
    }
    let path = std::env::var("PATH").unwrap_or_default();
    shell.arg(format!("PATH={}:{path}", prefix().join("bin").display()));
    shell.args(["bash", "-c", &script]);
    let ended = Job::of(shell).limit(PATIENCE).run();
    let mut complaints = Vec::new();
    let mut rest = ended.stdout.as_str();
    for (number, step) in steps.iter().enumerate() {
        let mark = format!("{MARK} {number} ");
        let Some((said, after)) = rest.split_once(&mark) else {
            complaints.push((step.line, format!("`{}` did not come to its end: {ended}", step.command)));
            break;
        };
        let (status, after) = after.split_once('\n').expect("a status");
        rest = after;
        let mut lines: Vec<String> = said.lines().map(|line| line.trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        let shown = step.shown.join("\n");
        if step.shown.is_empty() {
            if status != "0" {
                complaints.push((step.line, format!("`{}` ends with {status}:\n{said}", step.command)));
            }
        } else if !fits(&step.shown, &lines, measured) {
            let what = format!("`{}` prints\n{said}--- and not, as shown,\n{shown}\n---", step.command);
            complaints.push((step.line, what));
        }
    }
    complaints
}

/// Stands between the outputs of commands.
const MARK: &str = "--- end of command";

/// Whether these lines are what a page shows.
fn fits(shown: &[String], said: &[String], measured: bool) -> bool {
    let Some((first, rest)) = shown.split_first() else { return said.is_empty() };
    if first.trim() == "…" {
        return (0..=said.len()).any(|count| fits(rest, &said[count..], measured));
    }
    said.split_first().is_some_and(|(line, others)| {
        let (first, line) = (without_wait(first), without_wait(line));
        let same = if measured {
            line_fits(&without_numbers(first), &without_numbers(line))
        } else {
            line_fits(first, line)
        };
        same && fits(rest, others, measured)
    })
}

/// A line without how long a rank has waited, which is told from a second on: on a busy machine sooner.
fn without_wait(line: &str) -> &str {
    match line.rsplit_once(", for ") {
        Some((rest, time)) if time.ends_with(" s") => rest,
        _ => line,
    }
}

fn line_fits(shown: &str, said: &str) -> bool {
    let (first, rest) = shown.split_once('…').map_or((shown, None), |(first, rest)| (first, Some(rest)));
    match (said.strip_prefix(first), rest) {
        (None, _) => false,
        (Some(left), None) => left.is_empty(),
        (Some(left), Some(rest)) => {
            left.char_indices().map(|(at, _)| at).chain([left.len()]).any(|at| line_fits(rest, &left[at..]))
        }
    }
}

/// A line with `#` in place of its numbers, and single spaces, since columns are as wide as numbers.
fn without_numbers(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        let mut text = String::new();
        let mut letters = word.chars().peekable();
        while let Some(letter) = letters.next() {
            let sign = letter == '-' && text.is_empty();
            let number = letter.is_ascii_digit()
                || sign && letters.peek().is_some_and(char::is_ascii_digit)
                || ",.".contains(letter)
                    && text.ends_with('#')
                    && letters.peek().is_some_and(char::is_ascii_digit);
            match number {
                false => text.push(letter),
                true if text.ends_with('#') => {}
                true => text.push('#'),
            }
        }
        text
    });
    let mut kept: Vec<String> = Vec::new();
    for word in words {
        let unit = UNITS.contains(&word.as_str()) && kept.last().is_some_and(|last| last == "#");
        if !unit {
            kept.push(word);
        }
    }
    kept.join(" ")
}

/// Units that a number may have in one run and not in another.
const UNITS: [&str; 10] = ["ns", "us", "µs", "ms", "s", "min", "B", "KiB", "MiB", "GiB"];

/// The commands of a line of a shell, as words.
fn parts(line: &str) -> Vec<Vec<String>> {
    let mut parts = vec![Vec::new()];
    for word in line.split_whitespace() {
        match word {
            "#" => break,
            "&&" | "|" | ";" => parts.push(Vec::new()),
            "&" | ">" => {}
            _ => parts.last_mut().expect("one").push(word.to_owned()),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// What the tools of the prefix say of themselves, asked once.
#[derive(Default)]
struct Tools {
    known: Vec<(Vec<String>, Option<BTreeSet<String>>)>,
    /// Programs that a command before has compiled.
    made: BTreeSet<String>,
}

impl Tools {
    /// What is wrong with a command, if anything.
    fn complaint(&mut self, words: &[String]) -> Option<String> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let words: Vec<&str> = match words.as_slice() {
            ["cargo", "run", "--release", "--", rest @ ..] => [&["corelace"], rest].concat(),
            all => all.to_vec(),
        };
        let files = words.iter().filter(|word| {
            ["examples/", "apps/", "chips/", "tests/"].iter().any(|folder| word.starts_with(folder))
        });
        if let Some(file) = files.into_iter().find(|file| !root().join(file).exists()) {
            return Some(format!("there is no {file}"));
        }
        match words.as_slice() {
            ["mpirun", rest @ ..] => self.launch(&["mpirun"], rest),
            ["corelace", "run", rest @ ..] => self.launch(&["corelace", "run"], rest),
            ["corelace", "chips", sub @ ("show" | "load"), rest @ ..] => {
                self.flags(&["corelace", "chips", sub], rest.iter().take_while(|word| **word != "--"))
            }
            ["corelace", sub, rest @ ..] => {
                self.flags(&["corelace", sub], rest.iter().take_while(|word| **word != "--"))
            }
            ["cargo", "xtask", sub, ..] => {
                let xtask = fs::read_to_string(root().join("xtask/src/main.rs")).unwrap();
                (!xtask.contains(&format!("\"{sub}\""))).then(|| format!("xtask has no command {sub}"))
            }
            ["mpicc" | "mpicxx" | "mpifort", rest @ ..] => {
                let product = rest.iter().skip_while(|word| **word != "-o").nth(1);
                self.made.extend(product.map(|name| (*name).to_owned()));
                None
            }
            [first, ..] => (!OTHERS.contains(first)).then(|| format!("{first} is no command that is known")),
            [] => None,
        }
    }

    /// The words of `mpirun`: flags up to each program.
    fn launch(&mut self, command: &[&str], words: &[&str]) -> Option<String> {
        words.split(|word| *word == ":").find_map(|section| {
            let program = |word: &&str| {
                let ending = Path::new(word).extension().and_then(|ending| ending.to_str());
                PROGRAMS.contains(word)
                    || self.made.contains(*word)
                    || ending.is_some_and(|ending| ["c", "cc", "f90", "py"].contains(&ending))
            };
            let Some(at) = section.iter().position(program) else {
                return Some(format!("{section:?} names no program (a new one? see PROGRAMS)"));
            };
            self.flags(command, section[..at].iter())
        })
    }

    fn flags<'w>(&mut self, command: &[&str], words: impl Iterator<Item = &'w &'w str>) -> Option<String> {
        let name: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let at = self.known.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.known.push((name.clone(), help(command)));
            self.known.len() - 1
        });
        let Some(known) = &self.known[at].1 else { return Some(format!("{} is not known", name.join(" "))) };
        let flags = words.filter(|word| word.starts_with('-') && word.len() > 1);
        let mut flags = flags.map(|word| word.split('=').next().expect("one"));
        let unknown = flags.find(|flag| !known.contains(*flag))?;
        Some(format!("{} has no flag {unknown}", name.join(" ")))
    }
}

/// The flags that a tool's help names, if there is that tool.
fn help(command: &[&str]) -> Option<BTreeSet<String>> {
    let mut asked = tool(command[0]);
    asked.args(&command[1..]).arg("--help");
    let ended = Job::of(asked).run();
    let word = |text: &str| text.trim_end_matches('-').to_owned();
    (ended.code() == 0).then(|| {
        ended
            .stdout
            .split(|letter: char| letter != '-' && !letter.is_ascii_alphanumeric())
            .map(word)
            .collect()
    })
}
