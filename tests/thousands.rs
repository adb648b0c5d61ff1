//! Ranks by the thousand in one process: what they take, and that they are told apart as few ranks are.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::support::job::Job;
use crate::support::{mpirun, on, prefix, program, root, scratch};

/// A job of `thousands.c` that has ended: that all were there, and, in KiB a rank, the peak of the resident set, which counts a page wherever it is mapped, and
/// the memory in use at the end.
fn expect_all_there(stdout: &str, ranks: usize) -> (f64, f64) {
    let hellos: BTreeSet<usize> = stdout
        .lines()
        .filter_map(|line| line.strip_prefix("hello of ").map(|rank| rank.parse().expect("a rank")))
        .collect();
    assert_eq!(hellos.len(), ranks);
    memory_of_each(stdout, ranks)
}

/// The memory alone.
fn memory_of_each(stdout: &str, ranks: usize) -> (f64, f64) {
    assert!(stdout.ends_with("no errors\n"));
    let told = stdout.lines().find_map(|line| line.strip_prefix("peak ")).expect("told by rank 0");
    let (peak, used) = told.split_once(" used ").expect("two numbers");
    let each = |kibibytes: &str| kibibytes.parse::<f64>().expect("KiB") / ranks as f64;
    (each(peak), each(used))
}

/// More ranks than have pipes of their own and are loaded by the dynamic linker.
const MANY: usize = 600;

/// What takes the whole machine, and a time that is told.
mod alone {
    use super::*;

    #[test]
    fn ten_thousand_fibers_say_hello_and_add_up_in_seconds_and_100_kib_each() {
        const RANKS: usize = 10_000;
        /// Ten times what it takes on two idle cores.
        const LIMIT: Duration = Duration::from_secs(20);
        let program = program("thousands.c");
        let began = Instant::now();
        let ended = on("fiber", RANKS, &program).run().expect_success();
        let took = began.elapsed();
        assert_eq!(ended.stderr, "");
        let (each, _) = expect_all_there(&ended.stdout, RANKS);
        println!("{RANKS} fibers: {:.2} s, {each:.0} KiB each", took.as_secs_f64());
        assert!(each < 100.0, "{each} KiB a rank, expected less than 100");
        assert!(took < LIMIT, "{took:?}");
    }
}

#[test]
fn ranks_of_a_chip_have_room_for_the_places_that_they_meet_and_not_for_all() {
    /// Routers along each side of a mesh, a rank at each.
    const SIDE: usize = 64;
    let positions: Vec<String> =
        (0..SIDE * SIDE).map(|at| format!("[{}, {}]", at % SIDE, at / SIDE)).collect();
    let original = std::fs::read_to_string(root().join("chips/mesh16.toml")).expect("it ships");
    let (before, after) = original.split_once("positions = { value = [").expect("a list of positions");
    let (_, after) = after.split_once("], from").expect("the end of the list");
    let text = format!("{before}positions = {{ value = [{}], from{after}", positions.join(", "));
    let file = scratch("large-mesh").join("mesh.toml");
    let side = format!("= {{ value = {SIDE}, unit = \"routers\"");
    std::fs::write(&file, text.replace("= { value = 4, unit = \"routers\"", &side)).expect("a file");
    let job = mpirun(["-n", &(SIDE * SIDE).to_string(), "--map", "scatter", "--chip"]).argument(&file);
    let ended = job.argument(program("thousands.c")).argument("quietly").run().expect_success();
    let (peak, used) = memory_of_each(&ended.stdout, SIDE * SIDE);
    println!("{} places: {peak:.0} KiB a rank, {used:.1} with a page counted once", SIDE * SIDE);
    // Sixteen bytes for every place would be 64 KiB more.
    assert!(peak < 110.0, "{peak} KiB a rank, expected less than 110");
}

#[test]
fn four_thousand_ranks_of_a_chip_take_less_than_200_megabytes() {
    const RANKS: usize = 4096;
    let job = mpirun(["-n", &RANKS.to_string(), "--chip", "earth-simulator"]);
    let ended = job.argument(program("thousands.c")).argument("quietly").run().expect_success();
    let (_, used) = memory_of_each(&ended.stdout, RANKS);
    let megabytes = used * 1024.0 * RANKS as f64 * 1e-6;
    println!("{RANKS} ranks: {megabytes:.0} MB");
    assert!(megabytes < 200.0, "{megabytes} MB");
}

#[test]
fn more_fibers_than_there_are_mappings_for_guards_run_too() {
    let ended = on("fiber", 20_000, &program("thousands.c")).run().expect_success();
    assert_eq!(ended.stdout.lines().count(), 20_002);
    // Where the kernel knows no guards without mappings, one sentence says so.
    assert!(ended.stderr.is_empty() || ended.stderr.contains("vm.max_map_count"), "{}", ended.stderr);
}

#[test]
fn lines_of_many_ranks_are_whole_and_tagged_with_their_own_numbers() {
    for mode in ["fiber", "thread"] {
        let job = mpirun(["--tag-output", "--ranks", mode, "-n", &MANY.to_string()]);
        let ended = job.argument(program("thousands.c")).run().expect_success();
        let hellos: BTreeSet<_> = ended.stdout.lines().filter(|line| line.contains("hello")).collect();
        let expected: Vec<_> = (0..MANY).map(|rank| format!("[{rank}] hello of {rank}")).collect();
        assert_eq!(hellos, expected.iter().map(String::as_str).collect());
    }
}

#[test]
fn what_one_of_many_ranks_prints_by_other_means_comes_out_too() {
    let job = mpirun(["--tag-output", "--ranks", "fiber", "-n", &MANY.to_string()]);
    let ended = job.argument(program("thousands.c")).arguments(&["print", "345"]).run().expect_success();
    assert!(ended.stdout.contains("\n[345] by dprintf\n"), "{}", ended.stdout);
    // Its children have the process's descriptors, which are no rank's.
    assert!(ended.stdout.contains("\nby a child\n"), "{}", ended.stdout);
    assert_eq!(ended.stderr, "[345] by write\n[345] by stderr\n");
}

#[test]
fn output_files_of_many_ranks_hold_what_each_has_written() {
    let directory = scratch("many-outputs");
    let job = mpirun(["--ranks", "fiber", "-n", &MANY.to_string(), "--output-filename"]).argument(&directory);
    job.argument(program("thousands.c")).run().expect_success();
    for rank in [1, 345, MANY - 1] {
        let text = std::fs::read_to_string(directory.join(format!("1/rank.{rank}/stdout"))).expect("a file");
        assert_eq!(text, format!("hello of {rank}\n"));
    }
}

#[test]
fn the_end_of_one_of_many_ranks_is_explained() {
    let program = program("thousands.c");
    for (what, code, said) in [
        ("crash", 139, ["rank 345 (fiber, ", "(SIGSEGV); the other 599 ranks", "do_besides"]),
        ("overflow", 139, ["rank 345 (fiber, ", "its stack of 8 MiB overflowed", "fall"]),
        ("exit", 3, ["rank 345 (", "exited with status 3 before MPI_Finalize", "the other 599 ranks"]),
        ("wait", 125, ["deadlock: all 600 ranks", "rank 345 waits for itself", "are in MPI_Allreduce"]),
    ] {
        let job = mpirun(["--stack", "8M", "--ranks", "fiber", "-n", &MANY.to_string()]).argument(&program);
        job.arguments(&[what, "345"]).run().expect_code(code).expect_said(&said);
    }
}

#[test]
fn too_few_descriptors_for_pipes_of_their_own_do_not_keep_many_ranks_from_running() {
    let mut shell = std::process::Command::new("sh");
    let launcher = prefix().join("bin/mpirun");
    shell.args(["-c", "ulimit -n 64; exec \"$0\" --ranks fiber -n 2000 \"$1\""]);
    shell.arg(launcher).arg(program("thousands.c"));
    let ended = Job::of(shell).run().expect_success();
    assert_eq!(ended.stdout.lines().count(), 2002);
}
