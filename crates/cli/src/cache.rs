//! Programs that `mpirun prog.c` has compiled, kept for the next time by what they were made of.
//!
//! A *recipe* stands for all that is known before a compilation: compiler, words, places, source.
//! `RECIPE.headers` lists the files that the compiler has read besides. The name of a program is a
//! digest of its recipe and of the paths and contents of these files.
//!
//! Invariants: a file is written under a name of its own and renamed, so readers see all of it or
//! none. A program that is damaged is not used. What goes wrong here never stops a job: without a
//! cache the program is compiled.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Says where programs are kept; `off` (or `0`) keeps none.
pub const VARIABLE: &str = "CORELACE_CACHE";

/// Bytes that kept programs may take together.
const LIMIT: u64 = 256 << 20;

/// What a compiler replaces by the time, or reads without saying so.
const UNKNOWABLE: [&str; 4] = ["__DATE__", "__TIME__", "__TIMESTAMP__", ".incbin"];

/// A directory of compiled programs.
#[derive(Clone, Debug)]
pub struct Cache {
    directory: PathBuf,
}

impl Cache {
    /// The cache of this user; `None` where it is off, or where there is no safe place for it.
    pub fn of_the_user() -> Option<Cache> {
        Cache::by(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
    }

    fn by(variable: impl Fn(&str) -> Option<OsString>) -> Option<Cache> {
        let below = |name: &str, rest: &str| {
            variable(name).map(|home| PathBuf::from(home).join(rest)).filter(|path| path.is_absolute())
        };
        let user = rustix::process::geteuid().as_raw();
        let directory = match variable(VARIABLE) {
            Some(word) if word == "off" || word == "0" => return None,
            Some(directory) => std::path::absolute(directory).ok()?,
            None => below("XDG_CACHE_HOME", "corelace/programs")
                .or_else(|| below("HOME", ".cache/corelace/programs"))
                .unwrap_or_else(|| std::env::temp_dir().join(format!("corelace-cache-{user}"))),
        };
        _ = DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        // Programs of a place that others can write to are not started.
        let found = fs::metadata(&directory).ok()?;
        (found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0).then_some(Cache { directory })
    }

    /// The program of this recipe, if nothing that it was made of has changed.
    pub fn find(&self, recipe: &str) -> Option<Vec<u8>> {
        let list = self.list(recipe);
        let headers: Vec<PathBuf> = fs::read(&list)
            .ok()?
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(|path| PathBuf::from(OsString::from_vec(path.to_vec())))
            .collect();
        let file = self.directory.join(name(recipe, &headers)?);
        let kept = fs::read(&file).ok()?;
        let Some(program) = verified(&kept) else {
            _ = fs::remove_file(&file);
            return None;
        };
        // What was used last goes last.
        for used in [&list, &file] {
            _ = File::open(used).and_then(|file| file.set_modified(SystemTime::now()));
        }
        Some(program.to_vec())
    }

    /// Keeps a program whose compilation began at this time and has read these files. One that read
    /// a file which has changed since then, or the time of day, is not kept.
    pub fn keep(&self, recipe: &str, began: SystemTime, headers: &[PathBuf], program: &[u8]) {
        self.keep_within(LIMIT, recipe, began, headers, program);
    }

    fn keep_within(&self, limit: u64, recipe: &str, began: SystemTime, headers: &[PathBuf], program: &[u8]) {
        let is_settled = |path: &PathBuf| {
            let changed = fs::metadata(path).and_then(|found| found.modified());
            changed.is_ok_and(|changed| changed < began)
                && fs::read(path).is_ok_and(|text| is_knowable(&text))
        };
        if program.len() as u64 > limit || !headers.iter().all(is_settled) {
            return;
        }
        let Some(name) = name(recipe, headers) else { return };
        let list: Vec<&[u8]> = headers.iter().map(|path| path.as_os_str().as_bytes()).collect();
        let sealed = [program, digest([program]).as_bytes()].concat();
        let written = self
            .write(&self.directory.join(name), &sealed)
            .and_then(|()| self.write(&self.list(recipe), &list.join(&0)));
        if written.is_ok() {
            self.shrink(limit);
        }
    }

    fn list(&self, recipe: &str) -> PathBuf {
        self.directory.join(format!("{recipe}.headers"))
    }

    fn write(&self, path: &Path, content: &[u8]) -> std::io::Result<()> {
        let mut temporary = tempfile::Builder::new().prefix(".half-").tempfile_in(&self.directory)?;
        temporary.write_all(content)?;
        temporary.persist(path).map(drop).map_err(|refused| refused.error)
    }

    /// Takes away what was not used for longest, until the rest is within the limit. That includes
    /// what an `mpirun` that was killed has left half written.
    fn shrink(&self, limit: u64) {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((found.modified().ok()?, found.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut bytes: u64 = files.iter().map(|(_, length, _)| length).sum();
        for (_, length, path) in files {
            if bytes <= limit {
                break;
            }
            _ = fs::remove_file(path);
            bytes -= length;
        }
    }
}

/// Whether a text says all that decides about the program that is made of it.
pub fn is_knowable(text: &[u8]) -> bool {
    let holds = |word: &str| text.windows(word.len()).any(|part| part == word.as_bytes());
    !UNKNOWABLE.iter().any(|word| holds(word))
}

/// A digest of byte strings, in hexadecimal figures.
pub fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut halves = [DefaultHasher::new(), DefaultHasher::new()];
    halves[1].write_u8(1);
    for part in parts {
        for half in &mut halves {
            half.write_usize(part.len());
            half.write(part);
        }
    }
    halves.iter().map(|half| format!("{:016x}", half.finish())).collect()
}

/// What a program is called; `None` if a file that it was made of is not there.
fn name(recipe: &str, headers: &[PathBuf]) -> Option<String> {
    let mut parts = vec![recipe.as_bytes().to_vec()];
    for header in headers {
        parts.push(header.as_os_str().as_bytes().to_vec());
        parts.push(fs::read(header).ok()?);
    }
    Some(digest(parts.iter().map(Vec::as_slice)))
}

/// The program in a kept file, if it is whole.
fn verified(kept: &[u8]) -> Option<&[u8]> {
    let (program, seal) = kept.split_at_checked(kept.len().checked_sub(32)?)?;
    (digest([program]).as_bytes() == seal).then_some(program)
}

/// The files that a rule of a makefile names behind its colon, as compilers write it (`-MD`).
pub fn prerequisites(rule: &[u8]) -> Vec<PathBuf> {
    let colon = rule.windows(2).position(|pair| pair[0] == b':' && pair[1].is_ascii_whitespace());
    let rest = colon.map_or(&[][..], |at| &rule[at + 1..]);
    let (mut files, mut file) = (Vec::new(), Vec::new());
    let mut bytes = rest.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match (byte, bytes.peek()) {
            (b'\\', Some(b'\n')) | (b' ' | b'\n' | b'\r' | b'\t', _) => {
                if !file.is_empty() {
                    files.push(PathBuf::from(OsString::from_vec(std::mem::take(&mut file))));
                }
            }
            (b'\\', Some(b' ' | b'#' | b'\\')) | (b'$', Some(b'$')) => file.extend(bytes.next()),
            _ => file.push(byte),
        }
    }
    if !file.is_empty() {
        files.push(PathBuf::from(OsStr::from_bytes(&file)));
    }
    files
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use super::*;

    struct Room(tempfile::TempDir);

    impl Room {
        fn new() -> Room {
            Room(tempfile::tempdir().unwrap())
        }

        fn cache(&self) -> Cache {
            let place = self.0.path().join("cache");
            Cache::by(|name| (name == VARIABLE).then(|| place.clone().into())).unwrap()
        }

        fn file(&self, name: &str, text: &str) -> PathBuf {
            let path = self.0.path().join(name);
            fs::write(&path, text).unwrap();
            path
        }
    }

    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(60)
    }

    #[test]
    fn a_program_is_found_until_a_header_changes_and_again_when_it_changes_back() {
        let room = Room::new();
        let (cache, header) = (room.cache(), room.file("a.h", "one"));
        cache.keep("recipe", later(), std::slice::from_ref(&header), b"program");
        assert_eq!(cache.find("recipe").unwrap(), b"program");
        assert_eq!(cache.find("other"), None);
        fs::write(&header, "two").unwrap();
        assert_eq!(cache.find("recipe"), None);
        fs::write(&header, "one").unwrap();
        assert_eq!(cache.find("recipe").unwrap(), b"program");
        fs::remove_file(&header).unwrap();
        assert_eq!(cache.find("recipe"), None);
    }

    #[test]
    fn what_changed_during_the_compilation_or_asks_for_the_time_is_not_kept() {
        let room = Room::new();
        let (cache, header) = (room.cache(), room.file("a.h", "one"));
        let before = SystemTime::now() - Duration::from_secs(60);
        cache.keep("recipe", before, std::slice::from_ref(&header), b"program");
        assert_eq!(cache.find("recipe"), None);
        let header = room.file("b.h", "#define WHEN __DATE__");
        cache.keep("recipe", later(), &[header], b"program");
        assert_eq!(cache.find("recipe"), None);
    }

    #[test]
    fn a_damaged_program_is_not_used() {
        let room = Room::new();
        let cache = room.cache();
        cache.keep("recipe", later(), &[], b"program");
        let file = cache.directory.join(name("recipe", &[]).unwrap());
        let mut bytes = fs::read(&file).unwrap();
        bytes[0] ^= 1;
        fs::write(&file, bytes).unwrap();
        assert_eq!(cache.find("recipe"), None);
        assert!(!file.exists());
    }

    #[test]
    fn the_oldest_programs_go_first() {
        let room = Room::new();
        let cache = room.cache();
        let program = [7; 1000];
        for (age, recipe) in [(30, "first"), (20, "second"), (10, "third")] {
            cache.keep_within(1 << 20, recipe, later(), &[], &program);
            let time = SystemTime::now() - Duration::from_secs(age);
            for path in [cache.list(recipe), cache.directory.join(name(recipe, &[]).unwrap())] {
                File::open(path).unwrap().set_modified(time).unwrap();
            }
        }
        assert!(cache.find("first").is_some(), "which makes it the newest");
        cache.keep_within(4 * 1032, "fourth", later(), &[], &program);
        cache.keep_within(3 * 1032 + 8, "fifth", later(), &[], &program);
        let there = |recipe: &str| cache.find(recipe).is_some();
        assert!(there("first") && there("fourth") && there("fifth"));
        assert!(!there("second") && !there("third"));
    }

    #[test]
    fn places_that_cannot_be_used_are_no_cache() {
        let room = Room::new();
        let by = |name: &'static str, value: &str| {
            let value = OsString::from(value);
            Cache::by(move |asked| (asked == name).then(|| value.clone()))
        };
        assert!(by(VARIABLE, "off").is_none() && by(VARIABLE, "0").is_none());
        assert!(by(VARIABLE, room.file("file", "").to_str().unwrap()).is_none());
        assert!(by(VARIABLE, "/proc/no/such").is_none());
        let home = room.0.path().to_str().unwrap();
        let cache = by("HOME", home).unwrap();
        assert_eq!(cache.directory, room.0.path().join(".cache/corelace/programs"));
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(&cache.directory, open).unwrap();
        assert!(by("HOME", home).is_none(), "others can write there");
    }

    #[test]
    fn the_files_of_a_rule_are_read_as_make_does() {
        let rule = b"a.o: a.c /usr/include/x.h \\\n  my\\ own.h a$$b.h \\#c.h\n";
        let expected = ["a.c", "/usr/include/x.h", "my own.h", "a$b.h", "#c.h"].map(PathBuf::from);
        assert_eq!(prerequisites(rule), expected);
        assert!(prerequisites(b"").is_empty());
    }
}
