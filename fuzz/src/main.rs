//! `cargo xtask fuzz`: feeds each target its corpus and seeds, then mutations of them for some seconds.
//!
//! The generator is seeded, so a run can be repeated. An input that goes wrong, by a panic or by taking too long, is written
//! beside the corpus, and what to type to run it again is printed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use corelace_fuzz::mutation::Mutator;
use corelace_fuzz::{TARGETS, Target, corpus_of, kept};

const HELP: &str = "usage: cargo xtask fuzz [--seconds N] [--seed N] [TARGET [FILE…]]";

/// No input takes a hundredth of this.
const HANGS: Duration = Duration::from_secs(20);

struct Options {
    seconds: u64,
    seed: u64,
    target: Option<String>,
    files: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match options().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("fuzz: {message}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options, String> {
    let mut options = Options { seconds: 5, seed: 1, target: None, files: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64, String> {
            let value = words.next().unwrap_or_default();
            value.parse().map_err(|_| format!("{word} is \"{value}\", expected a number\n{HELP}"))
        };
        match word.as_str() {
            "--seconds" => options.seconds = number()?,
            "--seed" => options.seed = number()?,
            "--help" | "-h" => return Err(HELP.into()),
            name if options.target.is_none() => {
                if !TARGETS.iter().any(|target| target.name == name) {
                    let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
                    return Err(format!("target is \"{name}\", expected one of {}", names.join(", ")));
                }
                options.target = Some(name.into());
            }
            file => options.files.push(file.into()),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    for target in
        TARGETS.iter().filter(|target| options.target.as_deref().is_none_or(|name| name == target.name))
    {
        let watch = Watch::over(target.name);
        if !options.files.is_empty() {
            for file in &options.files {
                let input = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
                watch.feed(target, &input)?;
            }
            continue;
        }
        let began = Instant::now();
        let mut inputs: Vec<Vec<u8>> = kept(target.name).into_iter().map(|(_, input)| input).collect();
        let kept = inputs.len();
        inputs.extend((target.seeds)());
        for input in &inputs {
            watch.feed(target, input)?;
        }
        let mut mutator = Mutator::new(options.seed);
        let until = Instant::now() + Duration::from_secs(options.seconds);
        let mut mutations = 0u64;
        while Instant::now() < until {
            watch.feed(target, &mutator.mutated(&inputs[kept..]))?;
            mutations += 1;
        }
        let (seeds, took) = (inputs.len() - kept, began.elapsed().as_secs_f64());
        println!(
            "{:<12} {kept} kept inputs, {seeds} seeds, {mutations} mutations in {took:.1} s",
            target.name
        );
    }
    Ok(())
}

/// The input that is being tried, and since when.
type Current = Arc<Mutex<Option<(Instant, Vec<u8>)>>>;

/// Knows the input that is being tried, for when it never ends.
struct Watch {
    current: Current,
}

impl Watch {
    fn over(target: &'static str) -> Watch {
        let current: Current = Arc::default();
        let watched = Arc::downgrade(&current);
        std::thread::spawn(move || {
            while let Some(watched) = watched.upgrade() {
                let hanging = watched
                    .lock()
                    .unwrap_or_else(|poison| poison.into_inner())
                    .take_if(|(since, _)| since.elapsed() > HANGS);
                if let Some((_, input)) = hanging {
                    let file = write(target, "slow", &input);
                    eprintln!("fuzz: {target}: no end after {} s: {}", HANGS.as_secs(), file.display());
                    std::process::exit(1);
                }
                drop(watched);
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        Watch { current }
    }

    fn feed(&self, target: &Target, input: &[u8]) -> Result<(), String> {
        *self.current.lock().unwrap_or_else(|poison| poison.into_inner()) =
            Some((Instant::now(), input.to_vec()));
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
        *self.current.lock().unwrap_or_else(|poison| poison.into_inner()) = None;
        outcome.map_err(|_| {
            let file = write(target.name, "panic", input);
            format!("{0} panicked; again with `cargo xtask fuzz {0} {1}`", target.name, file.display())
        })
    }
}

/// Keeps an input; its name comes from its bytes.
fn write(target: &str, what: &str, input: &[u8]) -> PathBuf {
    let hash = input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    let directory = corpus_of(target);
    let file = directory.join(format!("{what}-{hash:016x}"));
    if let Err(error) = std::fs::create_dir_all(&directory).and_then(|()| std::fs::write(&file, input)) {
        eprintln!("fuzz: cannot keep the input in {}: {error}", Path::new(&file).display());
    }
    file
}
