//! The judgement, with a clock of the tests' own.

use super::*;
use crate::job::Context;

const LIMIT: Duration = Duration::from_secs(10);

struct Scene {
    hangs: Hangs,
    now: Instant,
}

impl Scene {
    fn new(ranks: u32, on_hang: OnHang) -> Scene {
        let context = Context {
            ranks,
            program: "/bin/true".into(),
            name: "true".into(),
            arguments: vec![],
            environment: vec![],
            directory: None,
            inherit: Default::default(),
        };
        let mut job = Job::new(context);
        (job.on_hang, job.hang_timeout, job.mode) = (on_hang, LIMIT, Mode::Thread);
        let now = Instant::now();
        let mut hangs = Hangs::new(&job, &[]);
        hangs.starved = Box::new(|_| Duration::ZERO);
        for rank in 0..ranks {
            // A process that exists and is not stopped.
            hangs.hear(&Message::Hello { version: pmi::PROTOCOL, rank, pid: std::process::id() }, now);
        }
        Scene { hangs, now }
    }

    fn says(&mut self, rank: u32, stretch: u64) {
        self.hear(Statement { rank, stretch, call: "MPI_Recv".into(), ..Statement::default() });
    }

    fn hear(&mut self, statement: Statement) {
        self.hangs.hear(&Message::Statement(Box::new(statement)), self.now);
    }

    /// Lets time pass in small steps; whoever is in `answers` answers all along, out of the same wait.
    fn pass(&mut self, time: Duration, answers: &[(u32, u64)]) -> Vec<Act> {
        let end = self.now + time;
        let mut acts = Vec::new();
        while self.now < end {
            self.now += Duration::from_millis(250);
            acts.extend(self.hangs.turn(self.now, &[]));
            answers.iter().for_each(|(rank, stretch)| self.says(*rank, *stretch));
        }
        acts
    }
}

#[test]
fn ranks_that_answer_out_of_the_same_wait_for_long_hang_and_that_is_told_once() {
    let mut scene = Scene::new(2, OnHang::Report);
    assert_eq!(scene.pass(Duration::from_secs(9), &[(0, 1), (1, 1)]), []);
    let acts = scene.pass(Duration::from_secs(60), &[(0, 1), (1, 1)]);
    let [Act::Say(text)] = acts.as_slice() else { panic!("{acts:?}") };
    assert!(text.starts_with("hang: all 2 ranks have waited for 10 s without progress"), "{text}");
    // It goes on, and hangs again.
    assert_eq!(scene.pass(Duration::from_secs(5), &[(0, 2), (1, 2)]), []);
    assert_eq!(scene.pass(Duration::from_secs(60), &[(0, 2), (1, 2)]).len(), 1);
}

#[test]
fn a_rank_that_computes_keeps_the_job_from_being_called_hung() {
    let mut scene = Scene::new(3, OnHang::Abort);
    assert_eq!(scene.pass(Duration::from_secs(100), &[(0, 1), (2, 1)]), []);
}

#[test]
fn a_rank_that_gets_on_between_two_waits_keeps_the_job_from_being_called_hung() {
    let mut scene = Scene::new(2, OnHang::Abort);
    for stretch in 1..30 {
        assert_eq!(scene.pass(Duration::from_secs(4), &[(0, 1), (1, stretch)]), []);
    }
}

#[test]
fn a_rank_that_has_not_joined_may_be_about_to() {
    let mut scene = Scene::new(2, OnHang::Abort);
    scene.hangs.ranks[1].life = Life::Early;
    assert_eq!(scene.pass(Duration::from_secs(60), &[(0, 1)]), []);
    // One that leaves has just done something, and those it left behind may be about to.
    scene.hangs.hear(&Message::Finalized { rank: 1 }, scene.now);
    assert_eq!(scene.pass(Duration::from_secs(9), &[(0, 1)]), []);
    assert!(matches!(scene.pass(Duration::from_secs(60), &[(0, 1)]).as_slice(), [Act::End(_)]));
}

#[test]
fn the_job_is_ended_if_wanted_but_not_while_a_rank_polls() {
    let mut scene = Scene::new(1, OnHang::Abort);
    let acts = scene.pass(Duration::from_secs(20), &[(0, 1)]);
    assert!(matches!(acts.as_slice(), [Act::End(text)] if text.contains("--on-hang abort")), "{acts:?}");
    let mut scene = Scene::new(1, OnHang::Abort);
    let mut acts = Vec::new();
    for _ in 0..40 {
        scene.hear(Statement { polls: true, stretch: 1, call: "MPI_Test".into(), ..Statement::default() });
        acts.extend(scene.pass(Duration::from_millis(250), &[]));
        scene.hear(Statement { polls: true, stretch: 1, call: "MPI_Test".into(), ..Statement::default() });
        acts.extend(scene.pass(Duration::from_millis(500), &[]));
    }
    assert!(matches!(acts.as_slice(), [Act::Say(text)] if text.contains("ranks that poll may")), "{acts:?}");
}

#[test]
fn nobody_is_asked_where_that_is_not_wanted_but_a_person_is_answered() {
    let mut scene = Scene::new(2, OnHang::Off);
    assert_eq!(scene.pass(Duration::from_secs(60), &[(0, 1), (1, 1)]), []);
    assert_eq!(scene.hangs.asked, None);
    scene.hangs.show(true, scene.now);
    let acts = scene.pass(Duration::from_secs(2), &[(0, 1)]);
    let [Act::Say(text)] = acts.as_slice() else { panic!("{acts:?}") };
    assert!(text.contains("rank 0 is in MPI_Recv"), "{text}");
    assert!(text.contains("rank 1 computes"), "{text}");
}

#[test]
fn last_words_are_a_deadlock() {
    let mut scene = Scene::new(2, OnHang::Off);
    assert_eq!(scene.hangs.deadlock(), None);
    scene.hangs.hear(&Message::Finalized { rank: 1 }, scene.now);
    scene.hear(Statement { in_vain: true, call: "MPI_Probe".into(), ..Statement::default() });
    let text = scene.hangs.deadlock().unwrap();
    assert!(text.starts_with("deadlock: rank 0 waits for what nobody will do"), "{text}");
    assert!(text.contains("rank 0 is in MPI_Probe"), "{text}");
}

#[test]
fn time_without_a_core_is_no_hang() {
    let mut scene = Scene::new(2, OnHang::Report);
    // Every second question finds that a rank has waited for a core for a second.
    let mut questions = 0;
    scene.hangs.starved = Box::new(move |pids| {
        assert_eq!(pids, [std::process::id()]);
        questions += 1;
        Duration::from_secs(questions % 2)
    });
    assert_eq!(scene.pass(Duration::from_secs(11), &[(0, 1), (1, 1)]), []);
    assert_eq!(scene.pass(Duration::from_secs(5), &[(0, 1), (1, 1)]).len(), 1);
}
