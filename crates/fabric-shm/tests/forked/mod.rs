//! Jobs of forked processes, and the cases that only processes have.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use corelace_fabric_shm::{Manner, Options, ShmFabric, create_segment};
use fabric::{
    Audience, Fabric, Idle, Lane, Lost, Mailbox, Mover, Node, Park, Portal, PortalError, PostError, Region,
    Shape, Signal,
};
use fabric_test::describe_panic;

/// A job that has not ended by then is killed.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs `body` in `ranks` forked processes and waits for all of them. The error has a line for each that failed.
pub fn run(ranks: u32, body: &dyn Fn(u32)) -> Result<(), String> {
    let mut children: Vec<Child> = (0..ranks).map(|rank| Child::fork(rank, body)).collect();
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        let running = children.iter_mut().filter_map(|child| (!child.has_ended()).then_some(())).count();
        if running == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
        // One failure is enough: the others may wait for the rank that failed.
        if children.iter().any(|child| matches!(child.status, Some(status) if status != 0)) {
            break;
        }
    }
    let failures: Vec<String> = children.into_iter().filter_map(Child::end).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
}

struct Child {
    rank: u32,
    pid: libc::pid_t,
    /// Where the message of a panic comes out.
    message: File,
    status: Option<i32>,
}

impl Child {
    fn fork(rank: u32, body: &dyn Fn(u32)) -> Child {
        let mut ends = [0; 2];
        // SAFETY: the kernel fills the array; each end becomes the only owner of its descriptor.
        let (message, mut sink) = unsafe {
            assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
            (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
        };
        // SAFETY: this process has one thread, so the child may do anything.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "fork failed");
        if pid == 0 {
            // SAFETY: an integer argument; so that an interrupted test leaves no rank behind.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            std::panic::set_hook(Box::new(|_| ()));
            let outcome = catch_unwind(AssertUnwindSafe(|| body(rank)));
            if let Err(panic) = &outcome {
                let _ = sink.write_all(describe_panic(&**panic).as_bytes());
            }
            // SAFETY: ends the process at once: the destructors of the parent's state must not run twice.
            unsafe { libc::_exit(i32::from(outcome.is_err())) };
        }
        Child { rank, pid, message, status: None }
    }

    fn has_ended(&mut self) -> bool {
        let mut status = 0;
        // SAFETY: a child of this process that has not been waited for; the kernel fills `status`.
        if self.status.is_none() && unsafe { libc::waitpid(self.pid, &mut status, libc::WNOHANG) } == self.pid
        {
            self.status = Some(status);
        }
        self.status.is_some()
    }

    /// What went wrong with it, if anything; kills it if it still runs.
    fn end(mut self) -> Option<String> {
        let rank = self.rank;
        if !self.has_ended() {
            let mut status = 0;
            // SAFETY: a child of this process that has not been waited for.
            unsafe {
                libc::kill(self.pid, libc::SIGKILL);
                libc::waitpid(self.pid, &mut status, 0);
            }
            return Some(format!("rank {rank} did not end and was killed"));
        }
        let mut message = String::new();
        let _ = self.message.read_to_string(&mut message);
        match self.status {
            Some(0) => None,
            Some(status) if libc::WIFSIGNALED(status) => {
                Some(format!("rank {rank} died of signal {}", libc::WTERMSIG(status)))
            }
            _ => Some(format!("rank {rank} failed: {message}")),
        }
    }
}

/// The suite above is worth nothing if a failing rank goes unnoticed.
pub fn failures_are_noticed() {
    let failure = run(3, &|rank| assert!(rank != 1, "as it should")).expect_err("a failing rank");
    assert!(failure.contains("rank 1 failed: as it should"), "{failure}");
    let failure = run(1, &|_| {
        // SAFETY: ends this child only.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    });
    assert_eq!(failure, Err("rank 0 died of signal 9".into()));
}

fn options(me: u32, ranks: u32) -> Options {
    Options {
        me: Node(me),
        ranks,
        nodes: ranks,
        cores: 1,
        manner: Manner::default(),
        budget: None,
        cma: true,
        launcher: None,
    }
}

/// The lanes of two ranks, all at once: what is posted in one comes out there, and memory is reached from each.
pub fn lanes_reach_their_like() {
    let segment = create_segment(2).unwrap();
    let outcome = run(2, &|rank| {
        let first = ShmFabric::join(segment.try_clone().unwrap(), &options(rank, 2)).unwrap();
        let others: Vec<Box<dyn Fabric>> = (1..8).map(|number| first.open_lane(number).unwrap()).collect();
        assert!(first.open_lane(8).is_none() && others[0].open_lane(1).is_none());
        let lanes: Vec<&dyn Fabric> =
            std::iter::once(&first as _).chain(others.iter().map(|lane| &**lane)).collect();
        let peer = Node(1 - rank);
        for (number, lane) in lanes.iter().enumerate() {
            assert_eq!((lane.me(), lane.nodes()), (Node(rank), 2));
            lane.try_post(peer, &[number as u64, 0, 0], b"to the same lane").unwrap();
        }
        for (number, lane) in lanes.iter().enumerate().rev() {
            let mut got = None;
            while got.is_none() {
                lane.poll(1, &mut |from, header, _| got = Some((from, header[0])));
            }
            assert_eq!(got, Some((peer, number as u64)));
            assert!(lane.route(peer).get, "this machine allows cross memory attach");
        }
        // Neither may sign off before the other has looked.
        first.try_post(peer, &[0; 3], &[]).unwrap();
        while first.poll(1, &mut |_, _, _| ()) == 0 {}
    });
    outcome.unwrap();
}

/// Rank 0 announces sleep in two lanes and sleeps in one of them; rank 1 posts to the other.
pub fn a_letter_for_any_lane_wakes_who_sleeps_for_it() {
    let segment = create_segment(2).unwrap();
    let outcome = run(2, &|rank| {
        let first = ShmFabric::join(segment.try_clone().unwrap(), &options(rank, 2)).unwrap();
        let second = first.open_lane(5).unwrap();
        if rank == 1 {
            // Goes on until rank 0 has slept, and says so, often enough.
            while first.poll(1, &mut |_, _, _| ()) == 0 {
                _ = second.try_post(Node(0), &[0; 3], &[]);
                std::thread::sleep(Duration::from_millis(1));
            }
            return;
        }
        let mut woken = 0;
        while woken < 20 {
            let armed = first.arm();
            let _ = second.arm();
            if second.pending() {
                first.disarm(armed);
                second.poll(9, &mut |_, _, _| ());
                continue;
            }
            // It would look up by itself after half a second only.
            let began = Instant::now();
            first.sleep(armed, None);
            assert!(began.elapsed() < Duration::from_millis(400), "nobody woke it");
            woken += usize::from(second.pending());
        }
        first.try_post(Node(1), &[0; 3], &[]).unwrap();
    });
    outcome.unwrap();
}

/// Rank 1 exposes memory and ends; rank 0 must be told, whether it knew the peer before or not.
pub fn lost_peers_are_reported() {
    let segment = create_segment(2).unwrap();
    let outcome = run(2, &|rank| {
        let fabric = ShmFabric::join(segment.try_clone().unwrap(), &options(rank, 2)).unwrap();
        let mut region = [rank as u8; 64];
        if rank == 1 {
            let region = Region::host(region.as_mut_ptr(), 64);
            // SAFETY: rank 0 reads it only to find that this process is gone.
            let key = unsafe { fabric.expose(region, Audience::One(Node(0))) }.unwrap();
            fabric.try_post(Node(0), &[0; 3], &key.to_bytes()).unwrap();
            let mut told = false;
            while !told {
                told = fabric.poll(1, &mut |_, _, _| ()) == 1;
                fabric.park(u32::MAX, if told { Idle::Briefly } else { Idle::UntilWoken });
            }
            // Killed, so that it cannot sign off.
            // SAFETY: ends this process only.
            unsafe { libc::_exit(0) };
        }
        let mut key = None;
        while key.is_none() {
            fabric.poll(1, &mut |_, _, payload| key = fabric::Key::from_bytes(payload));
        }
        let route = fabric.route(Node(1));
        assert!(route.put && route.get && !route.same_memory);
        fabric.try_post(Node(1), &[0; 3], &[]).unwrap();
        let (shape, key) = (Shape::contiguous(0, 64), key.unwrap());
        loop {
            // SAFETY: the local buffer is valid; the remote one may be gone, which is the point.
            let got = unsafe { fabric.get(Node(1), region.as_mut_ptr(), &shape, &key, &shape, Mover::Core) };
            match got {
                Ok(_) => assert_eq!(region, [1; 64]),
                Err(error) => return assert_eq!(error, PortalError::PeerLost),
            }
        }
    });
    outcome.unwrap();
}

/// Rank 1 signs off; rank 0, which goes on posting, is told once the mailbox is full.
pub fn peers_that_have_left_are_lost() {
    let segment = create_segment(2).unwrap();
    run(2, &|rank| {
        let fabric = ShmFabric::join(segment.try_clone().unwrap(), &options(rank, 2)).unwrap();
        if rank == 1 {
            fabric.try_post(Node(0), &[0; 3], &[]).unwrap();
            return;
        }
        while fabric.poll(1, &mut |_, _, _| ()) == 0 {}
        assert_eq!(post_until_refused_for_good(&fabric), PostError::Lost);
        assert_eq!(fabric.raise(Node(1), Lane(0)), Err(Lost));
        assert_eq!(fabric.raise(Node(0), Lane(0)), Ok(()), "this rank lives");
    })
    .unwrap();
}

/// Rank 1 dies without a word; rank 0 has reached its memory before, so its process id means something.
pub fn peers_that_have_died_are_lost() {
    let segment = create_segment(2).unwrap();
    run(2, &|rank| {
        let fabric = ShmFabric::join(segment.try_clone().unwrap(), &options(rank, 2)).unwrap();
        if rank == 1 {
            fabric.try_post(Node(0), &[0; 3], &[]).unwrap();
            while fabric.poll(1, &mut |_, _, _| ()) == 0 {}
            // SAFETY: ends this process only, before its fabric can sign off.
            unsafe { libc::_exit(0) };
        }
        while fabric.poll(1, &mut |_, _, _| ()) == 0 {}
        assert!(fabric.route(Node(1)).get, "this machine allows cross memory attach");
        assert_eq!(post_until_refused_for_good(&fabric), PostError::Lost);
    })
    .unwrap();
}

/// Posts to rank 1 until something else than a lack of room keeps it from that.
fn post_until_refused_for_good(fabric: &ShmFabric) -> PostError {
    loop {
        match fabric.try_post(Node(1), &[1; 3], &[]) {
            Ok(()) => {}
            Err(PostError::Full) => _ = fabric.park(0, Idle::Briefly),
            Err(error) => return error,
        }
    }
}

pub fn foreign_segments_are_refused() {
    let segment = create_segment(2).unwrap();
    let first = ShmFabric::join(segment.try_clone().unwrap(), &options(0, 2)).unwrap();
    let refused =
        ShmFabric::join(segment.try_clone().unwrap(), &options(0, 3)).err().expect("another job size");
    assert!(refused.to_string().contains("made for another number of ranks"), "{refused}");
    let refused = ShmFabric::join(segment, &options(0, 2)).err().expect("a rank that is taken");
    assert!(refused.to_string().contains("rank 0 has joined this job before"), "{refused}");
    drop(first);

    let segment = create_segment(2).unwrap();
    File::from(segment.try_clone().unwrap()).write_all(b"not a segment of ours").unwrap();
    let refused = ShmFabric::join(segment, &options(0, 2)).err().expect("another kind of file");
    assert!(refused.to_string().contains("not one of Corelace's"), "{refused}");

    let small = Options { budget: Some(1000), ..options(0, 2) };
    let refused = ShmFabric::join(create_segment(2).unwrap(), &small).err().expect("too small a budget");
    assert!(refused.to_string().contains("bytes for mailbox do not fit"), "{refused}");
}

pub fn a_rank_alone_reaches_itself() {
    let fabric = ShmFabric::alone(None).unwrap();
    assert_eq!((fabric.me(), fabric.nodes()), (Node(0), 1));
    fabric.try_post(Node(0), &[1, 2, 3], b"to myself").unwrap();
    let mut seen = Vec::new();
    assert_eq!(fabric.poll(9, &mut |from, header, payload| seen.push((from, *header, payload.to_vec()))), 1);
    assert_eq!(seen, [(Node(0), [1, 2, 3], b"to myself".to_vec())]);
    assert!(fabric.route(Node(0)).same_memory);
}
