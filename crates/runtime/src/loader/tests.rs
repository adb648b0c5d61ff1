//! Builds small programs as `mpicc` does, loads several copies into this process and checks that they are independent.

use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use fabric::Fabric;
use fabric_local::{NoHooks, Options, Outcome, run_fibers};

use super::{Copies, Image, LoadError, Program, Streams};

const FLAGS: &str = include_str!("../../../../shim/flags.txt");

/// What a rank left behind.
#[derive(Debug, PartialEq, Eq)]
struct Ended {
    status: i32,
    stdout: String,
    stderr: String,
}

/// A directory below the build's own, so that nothing is left elsewhere.
fn room() -> &'static Path {
    static ROOM: OnceLock<PathBuf> = OnceLock::new();
    ROOM.get_or_init(|| {
        let exe = std::env::current_exe().unwrap();
        // Rooms of earlier runs go now: a process has no moment at which its last test ends.
        for entry in std::fs::read_dir(exe.parent().unwrap()).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            if name.strip_prefix("loader-test-").is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let room = exe.with_file_name(format!("loader-test-{}", std::process::id()));
        std::fs::create_dir_all(&room).unwrap();
        build_archives(&room);
        room
    })
}

fn flags(key: &str, lib: &Path) -> Vec<String> {
    let line = FLAGS.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).expect(key);
    let start = || {
        let found = Command::new("cc").arg("-print-file-name=Scrt1.o").output().unwrap().stdout;
        String::from_utf8(found).unwrap().trim().to_string()
    };
    line.split_whitespace()
        .map(|flag| if flag == "{start}" { start() } else { flag.replace("{lib}", lib.to_str().unwrap()) })
        .collect()
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

fn build_archives(room: &Path) {
    let shim = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shim");
    for (extension, compiler, key, archive) in [
        ("c", "cc", "archive-c", "libcorelace_program.a"),
        ("cc", "c++", "archive-cxx", "libcorelace_program_cxx.a"),
    ] {
        let mut objects = Vec::new();
        for entry in std::fs::read_dir(&shim).unwrap() {
            let source = entry.unwrap().path();
            if source.extension().is_some_and(|found| found == extension) {
                let object = room.join(source.with_extension("o").file_name().unwrap());
                let warnings = ["-Wall", "-Wextra", "-Werror", "-c"];
                succeed(
                    Command::new(compiler)
                        .args(flags(key, room))
                        .args(warnings)
                        .arg(&source)
                        .arg("-o")
                        .arg(&object),
                );
                objects.push(object);
            }
        }
        succeed(Command::new("ar").arg("rcs").arg(room.join(archive)).args(&objects));
    }
}

fn build(name: &str, source: &str) -> PathBuf {
    let room = room();
    let file = room.join(name);
    let program = room.join(name.replace('.', "-"));
    std::fs::write(&file, source).unwrap();
    let cxx = name.ends_with(".cc");
    let mut command = Command::new(if cxx { "c++" } else { "cc" });
    command.arg("-O2").arg(&file).arg("-o").arg(&program).args(flags("compile", room));
    command.args(flags("compile-gcc", room)).arg("-pthread").args(flags("link", room));
    if cxx {
        command.args(flags("link-cxx", room));
    }
    succeed(&mut command);
    program
}

fn anonymous(contents: &str) -> File {
    let path = room().join(format!("stream-{:?}", std::thread::current().id()));
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    file.write_all(contents.as_bytes()).unwrap();
    file.rewind().unwrap();
    file
}

fn text(mut file: File) -> String {
    let mut text = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    text
}

fn run(program: Program, arguments: &[&str], input: Option<&str>) -> Ended {
    let argv: Vec<_> =
        ["program"].iter().chain(arguments).map(|argument| CString::new(*argument).unwrap()).collect();
    let (stdout, stderr, stdin) = (anonymous(""), anonymous(""), input.map(anonymous));
    let streams = Streams {
        stdin: stdin.as_ref().map(|file| file.as_raw_fd()),
        stdout: Some(stdout.as_raw_fd()),
        stderr: Some(stderr.as_raw_fd()),
        records: false,
    };
    let status = program.run_main(&argv, streams, None, None, false).unwrap();
    // The rank's streams refer to these descriptors for ever.
    let ended = Ended {
        status,
        stdout: text(stdout.try_clone().unwrap()),
        stderr: text(stderr.try_clone().unwrap()),
    };
    std::mem::forget((stdout, stderr, stdin));
    ended
}

/// Runs a copy a rank, each on a thread of its own, all at the same time.
fn run_copies(path: &Path, copies: u32, arguments: fn(u32) -> Vec<String>) -> Vec<Ended> {
    run_all_of(Copies::linked(&Image::open(path).unwrap()), copies, arguments)
}

/// The same with copies that the dynamic linker does not know.
fn run_casts(path: &Path, copies: u32, arguments: fn(u32) -> Vec<String>) -> Vec<Ended> {
    let casts = Copies::cast(&Image::open(path).unwrap(), copies as usize).unwrap();
    assert!(casts.are_cast(), "{} has a mould", path.display());
    run_all_of(casts, copies, arguments)
}

fn run_all_of(mut all: Copies, copies: u32, arguments: fn(u32) -> Vec<String>) -> Vec<Ended> {
    let programs: Vec<_> = (0..copies).map(|rank| all.next(rank).unwrap()).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..copies)
            .zip(programs)
            .map(|(rank, program)| {
                let arguments = arguments(rank);
                scope.spawn(move || {
                    run(program, &arguments.iter().map(String::as_str).collect::<Vec<_>>(), None)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Runs a copy a rank, each on a fiber of its own, two threads in all: ranks take turns on a thread's state.
fn run_copies_as_fibers(path: &Path, copies: u32, arguments: fn(u32) -> Vec<String>) -> Vec<Ended> {
    let image = Image::open(path).unwrap();
    let programs: Vec<_> =
        (0..copies).map(|rank| Mutex::new(Some(Program::from_image(&image, rank).unwrap()))).collect();
    let options = Options { workers: 2, stack_bytes: 1 << 20, unwind_stalled: false, ..Options::new(copies) };
    let outcomes = run_fibers(&options, &NoHooks, &|fabric| {
        let rank = fabric.me().0;
        let program = programs[rank as usize].lock().unwrap().take().unwrap();
        let arguments = arguments(rank);
        run(program, &arguments.iter().map(String::as_str).collect::<Vec<_>>(), None)
    });
    outcomes.into_iter().map(Outcome::unwrap).collect()
}

#[test]
fn globals_statics_and_streams_of_c_copies_are_their_own() {
    let program = build(
        "globals.c",
        r#"
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        int counter = 5; static int zero; const char *name = "start"; __thread int mine = 9;
        int bump(void) { static int calls; return ++calls; }
        int main(int argc, char **argv) {
            int n = atoi(argv[1]);
            for (int i = 0; i < 1000 * (n + 1); i++) { counter++; zero++; mine++; bump(); }
            name = argv[1];
            printf("%d %d %d %d %s\n", counter, zero, mine, bump(), name);
            puts("line"); putchar('c'); fprintf(stdout, "%s", "!\n"); fflush(stdout);
            if (write(1, "raw\n", 4) != 4 || dprintf(1, "raw %d\n", n) < 0) return 1;
            fprintf(stderr, "error of %d\n", n); perror("p");
            return getchar() == EOF ? n : 99;
        }"#,
    );
    for (n, ended) in run_copies(&program, 3, |rank| vec![rank.to_string()]).into_iter().enumerate() {
        let k = 1000 * (n + 1);
        assert_eq!(
            ended.stdout,
            format!("{} {k} {} {} {n}\nline\nc!\nraw\nraw {n}\n", k + 5, k + 9, k + 1),
            "copy {n}"
        );
        assert!(ended.stderr.starts_with(&format!("error of {n}\np: ")), "{}", ended.stderr);
        assert_eq!(ended.status, n as i32);
    }
}

#[test]
fn exit_in_a_nested_function_ends_one_rank_and_runs_its_handlers_in_reverse_order() {
    let program = build(
        "exits.c",
        r#"
        #define _GNU_SOURCE
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        static int *local;
        static void first(void) { printf("first %d\n", *local); }
        static void late(void) { puts("late"); }
        static void second(void) { puts("second"); atexit(late); }
        static void third(int status, void *p) { printf("third %d %s\n", status, (char *)p); }
        static void deep(int n, int how) {
            if (n) { deep(n - 1, how); return; }
            if (how == 0) exit(40);
            if (how == 1) _exit(41);
            if (how == 2) exit(256 + 42);
        }
        int main(int argc, char **argv) {
            int value = 17; local = &value;
            atexit(first); atexit(second); on_exit(third, "argument");
            printf("main");
            deep(20, atoi(argv[1]));
            return 43;
        }"#,
    );
    let handlers = |status| format!("mainthird {status} argument\nsecond\nlate\nfirst 17\n");
    for run_all in [run_copies, run_casts] {
        let ended = run_all(&program, 4, |rank| vec![rank.to_string()]);
        assert_eq!(ended.iter().map(|rank| rank.status).collect::<Vec<_>>(), [40, 41, 42, 43]);
        assert_eq!(ended[0].stdout, handlers(40));
        assert_eq!(ended[1].stdout, "main");
        assert_eq!(ended[2].stdout, handlers(256 + 42));
    }
}

#[test]
fn getopt_strtok_and_random_numbers_of_copies_do_not_disturb_each_other() {
    let program = build(
        "libc_state.c",
        r#"
        #include <getopt.h>
        #include <sched.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <time.h>
        int main(int argc, char **argv) {
            static int flag;
            struct option table[] = {{"name", required_argument, 0, 'n'}, {"flag", no_argument, &flag, 7},
                                     {"maybe", optional_argument, 0, 'm'}, {0, 0, 0, 0}};
            int option;
            while ((option = getopt_long(argc, argv, "ab:c::", table, 0)) != -1) {
                printf("<%c%s>", option ? option : '0', optarg ? optarg : "");
                sched_yield();
            }
            printf("flag=%d rest=", flag);
            while (optind < argc) printf("%s,", argv[optind++]);
            char text[] = "a,b,c";
            for (char *token = strtok(text, ","); token; token = strtok(0, ",")) { printf("[%s]", token); sched_yield(); }
            srand(1); srand48(1);
            int sum = 0; for (int i = 0; i < 1000; i++) { sum ^= rand(); sched_yield(); }
            time_t zero = 0; struct tm *tm = gmtime(&zero);
            printf(" %d %.6f %d\n", sum, drand48(), tm->tm_year);
            return 0;
        }"#,
    );
    let arguments = [
        "op1", "-a", "-bx", "--name=N", "op2", "-b", "y", "--flag", "-ac3", "--na", "M", "--maybe", "--",
        "-z",
    ];
    // The ordinary process is the model: libc's own functions.
    let alone = Command::new(&program).args(arguments).output().unwrap();
    let model = String::from_utf8(alone.stdout).unwrap();
    assert!(model.starts_with("<a><bx><nN><by><0><a><c3><nM><m>flag=7 rest=op1,op2,-z,[a][b][c]"), "{model}");
    let list: fn(u32) -> Vec<String> = |_| {
        let list = [
            "op1", "-a", "-bx", "--name=N", "op2", "-b", "y", "--flag", "-ac3", "--na", "M", "--maybe", "--",
            "-z",
        ];
        list.map(String::from).to_vec()
    };
    for ended in [run_copies, run_casts].iter().flat_map(|run_all| run_all(&program, 4, list)) {
        assert_eq!(ended, Ended { status: 0, stdout: model.clone(), stderr: String::new() });
    }
}

#[test]
fn wrong_options_are_reported_on_the_rank_s_own_stderr_as_libc_counts_them() {
    let program = build(
        "wrong.c",
        r#"
        #include <getopt.h>
        #include <stdio.h>
        int main(int argc, char **argv) {
            struct option table[] = {{"alpha", required_argument, 0, 1}, {"alps", no_argument, 0, 2}, {0, 0, 0, 0}};
            for (int option; (option = getopt_long(argc, argv, "+b:", table, 0)) != -1;)
                printf("%d/%d/%d ", option, option == '?' ? optopt : 0, optind);
            printf("end %d\n", optind);
            return 0;
        }"#,
    );
    for arguments in
        [&["-x", "-b"][..], &["--al", "--alpha"], &["--alps=3", "-b", "v", "op", "-b"], &["--beta", "-"]]
    {
        let alone = Command::new(&program).args(arguments).output().unwrap();
        let ended = run(Program::load(&program, 0).unwrap(), arguments, None);
        assert_eq!(ended.stdout, String::from_utf8(alone.stdout).unwrap(), "{arguments:?}");
        assert_eq!(ended.stderr.lines().count(), String::from_utf8(alone.stderr).unwrap().lines().count());
    }
}

#[test]
fn casts_have_constructors_destructors_and_addresses_of_their_own() {
    let program = build(
        "casts.c",
        r#"
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        static int table[4] = {1, 2, 3, 4}; static int *into = table + 2; static char far[1 << 16];
        int (*say)(const char *) = puts; size_t (*length)(const char *) = strlen; static int zero, built, order;
        const char *const words[] = {"alpha", "beta"};
        static int add(int a, int b) { return a + b; }
        static int (*const functions[])(int, int) = {add, 0};
        __attribute__((constructor(201))) static void first(void) { built = 10 * ++order; }
        __attribute__((constructor(202))) static void second(void) { built += ++order; into[1] += 5; }
        __attribute__((destructor)) static void end(void) { printf("end %d\n", zero); }
        int main(int argc, char **argv) {
            int n = argc > 1 ? atoi(argv[1]) : 0;
            if (into != table + 2 || functions[0] != add || &words[1] - words != 1) return 90;
            for (size_t i = 0; i < sizeof far; i++) { if (far[i]) return 91; far[i] = (char)n; }
            zero += n; into[0] += n;
            say(words[n % 2]);
            printf("%d %d %d %zu %d %d\n", built, table[2], table[3], length(words[0]), functions[0](n, 1), zero);
            return n;
        }"#,
    );
    for run_all in [run_copies, run_casts] {
        for (n, ended) in run_all(&program, 5, |rank| vec![rank.to_string()]).into_iter().enumerate() {
            let word = ["alpha", "beta"][n % 2];
            let text = format!("{word}\n12 {} 9 5 {} {n}\nend {n}\n", 3 + n, n + 1);
            assert_eq!((ended.stdout, ended.status), (text, n as i32), "copy {n}");
        }
    }
}

#[test]
fn programs_with_variables_of_threads_or_exceptions_are_left_to_the_dynamic_linker() {
    let own = build("own_threads.c", "__thread int mine = 3; int main(void) { return mine++; }");
    for program in [own, build("exceptions.cc", CXX)] {
        let image = Image::open(&program).unwrap();
        assert!(!Copies::cast(&image, 2).unwrap().are_cast(), "{}", program.display());
        let refused = Copies::new(&image, fabric_local::most_mappings(), 0).err().expect("too many");
        assert!(refused.to_string().contains("vm.max_map_count"), "{refused}");
    }
}

#[test]
fn many_casts_share_text_and_take_two_mappings_and_no_descriptor_each() {
    let program = build("cast_many.c", "int counter = 1; int main(void) { return counter++; }");
    const COPIES: usize = 3000;
    let mut casts = Copies::cast(&Image::open(&program).unwrap(), COPIES).unwrap();
    let count = |of: &str| std::fs::read_dir(of).unwrap().count();
    let lines = || std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
    let (files, mappings) = (count("/proc/self/fd"), lines());
    let programs: Vec<_> = (0..COPIES).map(|rank| casts.next(rank as u32).unwrap()).collect();
    // Other tests of this process open and map as well, though not nearly as much.
    assert!(count("/proc/self/fd") < files + COPIES / 2);
    assert!(lines() < mappings + 2 * COPIES + COPIES / 2);
    assert!(programs.windows(2).all(|two| two[0].span().end <= two[1].span().start));
    let middle = programs[COPIES / 2].span().start;
    let spot = crate::module::spot(middle as u64 + 0x42).expect("known");
    assert_eq!(spot, format!("{}#copy+0x42", program.display()));
}

/// The records in what ranks have written: who wrote what.
fn records(file: &mut File) -> Vec<(u32, String)> {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    let mut rest = &bytes[..];
    let mut found = Vec::new();
    while let Some((head, body)) = rest.split_first_chunk::<8>() {
        let [rank, length] = [0, 4].map(|at| u32::from_ne_bytes(head[at..at + 4].try_into().unwrap()));
        let (text, next) = body.split_at(length as usize);
        assert!(head.len() + text.len() <= 4096, "one call must not be torn");
        found.push((rank, String::from_utf8(text.to_vec()).unwrap()));
        rest = next;
    }
    found
}

#[test]
fn what_ranks_without_descriptors_print_is_recorded_under_their_numbers() {
    let program = build(
        "records.c",
        r#"
        #include <fcntl.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/uio.h>
        #include <unistd.h>
        static char many[10000];
        int main(int argc, char **argv) {
            if (fileno(stdin) != 0 || fileno(stdout) != 1 || fileno(stderr) != 2 || getchar() != EOF) return 90;
            printf("printed %d\n", atoi(argv[1])); puts("put"); dprintf(1, "d %s\n", "x");
            if (write(1, "raw\n", 4) != 4) return 91;
            struct iovec two[] = {{"one ", 4}, {"two\n", 4}};
            if (writev(1, two, 2) != 8) return 92;
            fprintf(stderr, "error %d\n", 1); perror("p");
            memset(many, 'm', sizeof many); many[sizeof many - 1] = '\n';
            if (fwrite(many, 1, sizeof many, stdout) != sizeof many || fflush(stdout)) return 93;
            int file = open(argv[2], O_CREAT | O_TRUNC | O_RDWR, 0600);
            if (dup2(file, 1) != 1) return 94;
            puts("to a file"); if (write(1, "also\n", 5) != 5) return 95;
            char back[64]; ssize_t got = pread(file, back, sizeof back, 0);
            if (got != 15 || memcmp(back, "to a file\nalso\n", 15)) return 96;
            if (close(1)) return 97;
            puts("nowhere");
            return 7;
        }"#,
    );
    let image = Image::open(&program).unwrap();
    let (mut stdout, mut stderr) = (anonymous(""), anonymous(""));
    let streams = Streams {
        stdin: None,
        stdout: Some(stdout.as_raw_fd()),
        stderr: Some(stderr.as_raw_fd()),
        records: true,
    };
    for rank in [3, 70_000] {
        let file = room().join(format!("led-{rank}"));
        let argv = ["records", "5", file.to_str().unwrap()].map(|word| CString::new(word).unwrap());
        let status =
            Program::from_image(&image, rank).unwrap().run_main(&argv, streams, None, None, false).unwrap();
        assert_eq!(status, 7);
    }
    for (file, lines) in [(&mut stdout, 6), (&mut stderr, 2)] {
        let found = records(file);
        for rank in [3, 70_000] {
            let text: String = found.iter().filter(|one| one.0 == rank).map(|one| one.1.as_str()).collect();
            assert_eq!(text.lines().count(), lines, "{text}");
            if lines == 6 {
                assert!(text.starts_with("printed 5\nput\nd x\nraw\none two\nmmm"), "{text}");
                assert_eq!(text.len(), 30 + 10_000);
            } else {
                assert!(text.starts_with("error 1\np: "), "{text}");
            }
        }
        assert!(found.iter().all(|one| [3, 70_000].contains(&one.0)));
    }
}

const CXX: &str = r#"
    #include <iomanip>
    #include <iostream>
    #include <map>
    #include <stdexcept>
    #include <string>
    template <class T> struct Family { static int members; static int next() { static int n; return ++n; } };
    template <class T> int Family<T>::members = 10;
    inline int inline_variable = 20;
    struct Loud { std::string name; Loud(const char *n) : name(n) {}
                  ~Loud() { std::cout << "~" << name << Family<int>::members << "\n"; } };
    static Loud loud("static");
    thread_local int local = 30;
    static void deep(int n) { if (n) deep(n - 1); else throw std::out_of_range("deep"); }
    int main(int argc, char **argv) {
        int n = std::stoi(argv[1]);
        static std::map<int, std::string> table;
        for (int i = 0; i <= n; i++) { Family<int>::members++; Family<int>::next(); inline_variable++; local++; table[i] = "x"; }
        if (n == 1) std::cout << std::hex << std::setfill('0');
        try { deep(5); } catch (const std::exception &e) { std::cout << e.what() << " "; }
        std::cout << Family<int>::members << " " << Family<int>::next() << " " << inline_variable << " " << local << " "
                  << table.size() << std::endl;
        std::cerr << "error " << 255 << "\n";
        int number; std::string word;
        if (std::cin >> number >> word) std::cout << number + 1 << word << "\n";
        std::exit(n);
    }"#;

#[test]
fn template_statics_exceptions_and_iostreams_of_cxx_copies_are_their_own() {
    let program = build("copies.cc", CXX);
    for run_all in [run_copies, run_copies_as_fibers] {
        let ended = run_all(&program, 3, |rank| vec![rank.to_string()]);
        assert_eq!(ended[0].stdout, "deep 11 2 21 31 1\n~static11\n");
        assert_eq!(ended[1].stdout, "deep c 3 16 20 2\n~staticc\n");
        assert_eq!(ended[2].stdout, "deep 13 4 23 33 3\n~static13\n");
        for (n, rank) in ended.iter().enumerate() {
            assert_eq!((rank.status, rank.stderr.as_str()), (n as i32, "error 255\n"));
        }
    }
    let reading = run(Program::load(&program, 0).unwrap(), &["0"], Some("41 answers"));
    assert_eq!(reading.stdout, "deep 11 2 21 31 1\n42answers\n~static11\n");
}

#[test]
fn the_same_file_runs_as_an_ordinary_process() {
    let program = build("alone.cc", CXX);
    let output = Command::new(&program).arg("3").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "deep 14 5 24 34 4\n~static14\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "error 255\n");
}

#[test]
fn a_program_s_own_function_of_a_libc_name_wins() {
    let program = build(
        "names.c",
        r#"
        #include <stdio.h>
        int getopt(int a, char *const *b, const char *c) { return 77; }
        void warn(const char *f, ...) { puts("my warn"); }
        int error(int x) { return x + 1; }
        int main(void) { warn("x"); printf("%d\n", getopt(0, 0, 0)); return error(4); }"#,
    );
    let ended = run(Program::load(&program, 0).unwrap(), &[], None);
    assert_eq!((ended.stdout.as_str(), ended.status), ("my warn\n77\n", 5));
}

#[test]
fn changing_what_ranks_share_is_reported_once_for_all_of_them() {
    let program = build(
        "shared.c",
        "#include <stdlib.h>\nint main(void) { setenv(\"CORELACE_TEST_SHARED\", \"1\", 1); return 0; }",
    );
    let ended = run_copies(&program, 3, |_| vec![]);
    let said: Vec<_> = ended.iter().filter(|rank| rank.stderr.contains("share the environment")).collect();
    assert_eq!(said.len(), 1, "{ended:?}");
}

#[test]
fn other_files_are_refused_with_the_way_out() {
    let room = room();
    let plain = room.join("plain");
    std::fs::write(room.join("plain.c"), "int main(void) { return 0; }").unwrap();
    succeed(Command::new("cc").arg(room.join("plain.c")).arg("-o").arg(&plain));
    let library = room.join("library.so");
    succeed(Command::new("cc").args(["-shared", "-fPIC"]).arg(room.join("plain.c")).arg("-o").arg(&library));
    for path in [&plain, &library] {
        let error = Program::load(path, 0).unwrap_err();
        assert!(matches!(error, LoadError::NotDualUse { .. }), "{error}");
        assert!(error.to_string().contains("build it with CC=mpicc"), "{error}");
    }
    std::fs::write(room.join("script"), "#!/bin/sh\n").unwrap();
    assert!(Program::load(&room.join("script"), 0).unwrap_err().to_string().contains("is a script"));
    assert!(Program::load(&room.join("absent"), 0).unwrap_err().to_string().contains("absent"));
}

/// The program as an ordinary executable that carries a form for copies.
fn in_two_forms(name: &str, source: &str, more: &[&str]) -> PathBuf {
    let copies = build(name, source);
    let program = copies.with_extension("pie");
    succeed(
        Command::new("cc")
            .args(["-O2", "-fPIC", "-pie"])
            .args(more)
            .arg(room().join(name))
            .arg("-o")
            .arg(&program),
    );
    let section = format!("{}={}", pmi::copies::SECTION, copies.display());
    succeed(Command::new("objcopy").arg("--add-section").arg(section).arg(&program));
    program
}

#[test]
fn an_executable_is_copied_in_the_form_that_it_carries_for_that() {
    let source = r#"
        #include <stdio.h>
        #include <stdlib.h>
        int counter = 5; __thread int mine = 9;
        int main(int argc, char **argv) { counter += atoi(argv[1]); mine += counter; printf("%d %d\n", counter, mine); exit(counter); }"#;
    let program = in_two_forms("forms.c", source, &[]);
    let expected = |rank: i32| Ended {
        status: 5 + rank,
        stdout: format!("{} {}\n", 5 + rank, 14 + rank),
        stderr: String::new(),
    };
    let rank = |rank: u32| vec![rank.to_string()];
    for ended in [run_copies(&program, 3, rank), run_copies_as_fibers(&program, 3, rank)] {
        assert_eq!(ended, [0, 1, 2].map(expected));
    }
    let alone = Command::new(&program).arg("1").output().unwrap();
    assert_eq!((alone.status.code(), alone.stdout), (Some(6), b"6 15\n".to_vec()));
}

#[test]
fn copies_search_their_libraries_where_the_executable_does() {
    let copies = build("searched.c", "int main(void) { return 0; }");
    let with_path = |name: &str, path: &str| {
        let product = room().join(name);
        let word = format!("-Wl,-rpath,{path}");
        succeed(
            Command::new("cc")
                .args(["-shared", "-fPIC", &word])
                .arg(room().join("searched.c"))
                .arg("-o")
                .arg(&product),
        );
        std::fs::read(product).unwrap()
    };
    assert_eq!(super::elf::layout(&std::fs::read(copies).unwrap()).unwrap().search_path, 0..0);
    let ours = with_path("ours.so", "/where/it/was/built");
    for (theirs, expected) in [
        ("/where/it/is:/now", "/where/it/is:/now"),
        ("/x", "/x"),
        ("/a/place/with/a/name/that/is/too/long", "/where/it/was/built"),
    ] {
        let mut bytes = ours.clone();
        let layout = super::elf::layout(&bytes).unwrap();
        super::elf::search_as(&mut bytes, &layout, &with_path("theirs.so", theirs));
        let found = super::elf::layout(&bytes).unwrap().search_path;
        assert_eq!(std::str::from_utf8(&bytes[found]).unwrap(), expected);
    }
    let mut bytes = ours;
    let layout = super::elf::layout(&bytes).unwrap();
    super::elf::search_as(&mut bytes, &layout, &std::fs::read(room().join("searched-c")).unwrap());
    assert_eq!(super::elf::layout(&bytes).unwrap().search_path.len(), 0, "the executable has none any more");
    super::elf::search_as(&mut bytes, &layout, b"no ELF file");
}

/// The memory of this process, shared pages counted by their share.
fn proportional_kib() -> i64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// What is held to a time.
mod alone {
    use super::*;

    #[test]
    fn copies_share_their_text_with_the_image_and_load_quickly() {
        let program = build("many.c", "int counter = 1; int main(void) { return counter++; }");
        let image = Image::open(&program).unwrap();
        let before = proportional_kib();
        assert!(std::fs::read(&program).unwrap().starts_with(&image.bytes()));
        let began = std::time::Instant::now();
        let programs: Vec<_> = (0..192).map(|rank| Program::from_image(&image, rank).unwrap()).collect();
        let took = began.elapsed();
        println!("192 copies loaded in {took:?}, {} KiB a copy", (proportional_kib() - before) / 192);
        // Twenty milliseconds on an idle machine; the limit only catches a change of order.
        assert!(took.as_millis() < 1000, "192 copies took {took:?}");
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let copies_text =
            maps.lines().filter(|line| line.contains("corelace-program") && line.contains("r-xp"));
        let inodes: std::collections::HashSet<_> =
            copies_text.map(|line| line.split_whitespace().nth(4).unwrap()).collect();
        // One image a test of this process at most, not one a copy.
        assert!(inodes.len() < 32, "{} different files hold program text", inodes.len());
        for program in programs {
            assert_eq!(
                program
                    .run_main(
                        &[c"many".into()],
                        Streams { stdin: None, stdout: None, stderr: None, records: false },
                        None,
                        None,
                        false
                    )
                    .unwrap(),
                1
            );
        }
    }
}
