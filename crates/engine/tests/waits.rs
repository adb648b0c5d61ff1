//! What a rank says of its wait when it looks up: on fibers that wait in vain, whose last moment it is.

use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use corelace_engine::datatype::Basic;
use corelace_engine::memory::{RecvBuffer, SendBuffer};
use corelace_engine::{
    Datatype, Dest, Lookout, Mode, OperationKind, Plan, Rank, Service, Source, Statement, Tag, TagMatch,
    Tuning, Wait,
};
use fabric::Fabric;
use fabric_local::{NoHooks, Options, Outcome, run_fibers};

struct Noted {
    rank: u32,
    /// By rank: what it said, and whether it knew that it waits in vain.
    said: &'static Mutex<Vec<Option<(Statement, bool)>>>,
}

impl Lookout for Noted {
    fn look(&self, wait: &Wait<'_>) {
        self.said.lock().unwrap()[self.rank as usize] = Some((wait.statement(), wait.in_vain));
    }
}

/// Runs ranks that end up waiting for ever; what each said at last.
fn last_words(ranks: u32, body: impl Fn(&Rank) + Sync) -> Vec<Option<(Statement, bool)>> {
    last_words_on(Options::new(ranks), body)
}

fn last_words_on(options: Options, body: impl Fn(&Rank) + Sync) -> Vec<Option<(Statement, bool)>> {
    // Ranks that wait for ever keep their stacks, and what lies there.
    let said: &'static Mutex<Vec<_>> = Box::leak(Box::new(Mutex::new(vec![None; options.ranks as usize])));
    let options = Options { unwind_stalled: false, ..options };
    run_fibers(&options, &NoHooks, &|fabric| {
        let tuning = Tuning::for_route(fabric.route(fabric.me()));
        let number = fabric.me().0;
        let rank = Rank::new(Box::new(fabric), tuning);
        rank.set_lookout(Box::new(Noted { rank: number, said }));
        body(&rank);
        // Peers may still read what this rank has sent.
        std::mem::forget(rank);
    });
    let said = said.lock().unwrap();
    said.clone()
}

fn room(bytes: &mut [u8]) -> RecvBuffer {
    // SAFETY: the memory outlives the wait, which lasts for ever.
    unsafe { RecvBuffer::new(bytes.as_mut_ptr(), bytes.len() as u64, &Datatype::basic(Basic::Byte)) }
}

fn load(bytes: &[u8]) -> SendBuffer {
    // SAFETY: as for `room`.
    unsafe { SendBuffer::new(bytes.as_ptr(), bytes.len() as u64, &Datatype::basic(Basic::Byte)) }
}

fn tag(value: i64) -> Tag {
    Tag::new(value).unwrap()
}

#[test]
fn a_receive_a_probe_and_a_send_are_told_with_what_they_want_and_what_has_come() {
    let said = last_words(3, |rank| match rank.world().rank() {
        0 => {
            let _ = rank.recv(&room(&mut [0; 4]), Source::Rank(1), TagMatch::Is(tag(7)), rank.world());
        }
        1 => {
            rank.send(Mode::Standard, &load(&[1, 2]), Dest::Rank(0), tag(8), rank.world()).unwrap();
            let _ = rank.probe(Source::Any, TagMatch::Is(tag(9)), rank.world());
        }
        _ => {
            let _ = rank.send(Mode::Synchronous, &load(&[0; 3]), Dest::Rank(1), tag(3), rank.world());
        }
    });
    let (receives, vain) = said[0].as_ref().unwrap();
    assert!(vain, "nobody is left to send");
    let [wanted] = receives.awaited.operations.as_slice() else { panic!("{receives:?}") };
    assert_eq!(
        (wanted.kind, wanted.peer, wanted.tag, wanted.bytes),
        (OperationKind::Receive, Some(1), Some(7), 4)
    );
    let [held] = receives.held.operations.as_slice() else { panic!("{receives:?}") };
    assert_eq!((held.kind, held.peer, held.tag, held.bytes), (OperationKind::Message, Some(1), Some(8), 2));
    let (probes, _) = said[1].as_ref().unwrap();
    let [wanted] = probes.awaited.operations.as_slice() else { panic!("{probes:?}") };
    assert_eq!((wanted.kind, wanted.peer, wanted.tag), (OperationKind::Probe, None, Some(9)));
    let (sends, _) = said[2].as_ref().unwrap();
    let [wanted] = sends.awaited.operations.as_slice() else { panic!("{sends:?}") };
    assert_eq!(
        (wanted.kind, wanted.peer, wanted.tag, wanted.bytes),
        (OperationKind::Send, Some(1), Some(3), 3)
    );
}

#[test]
fn a_receive_of_what_is_not_here_lets_those_run_who_send_it() {
    let options = Options { workers: 1, ..Options::new(2) };
    let outcomes = run_fibers(&options, &NoHooks, &|fabric| {
        let tuning = Tuning::for_route(fabric.route(fabric.me()));
        let rank = Rank::new(Box::new(fabric), tuning);
        let other = 1 - rank.world().rank();
        for round in 0..100 {
            let send = |value| {
                rank.send(Mode::Standard, &load(&[round, value]), Dest::Rank(other), tag(5), rank.world())
            };
            let receive = || {
                let mut bytes = [0; 3];
                (rank.receive_at_once(&mut bytes, other, tag(5), rank.world()), bytes)
            };
            if other == 1 {
                assert_eq!(receive(), (Some(2), [round, 1, 0]));
                send(2).unwrap();
            } else {
                send(1).unwrap();
                assert_eq!(receive(), (Some(2), [round, 2, 0]));
            }
        }
    });
    outcomes.into_iter().for_each(Outcome::unwrap);
}

/// Others run only for a message that can come: not for one of nobody (`MPI_PROC_NULL` is no rank, nor is any other negative number), nor where something is to be done by a rank that waits.
#[test]
fn a_receive_of_nobody_and_one_of_a_rank_with_more_to_do_let_nobody_run() {
    struct Idler;
    impl Service for Idler {
        fn serve(&self, _: &dyn Fabric) -> bool {
            false
        }
    }
    let turns = AtomicU32::new(0);
    let options = Options { workers: 1, ..Options::new(2) };
    let outcomes = run_fibers(&options, &NoHooks, &|fabric| {
        let tuning = Tuning::for_route(fabric.route(fabric.me()));
        let rank = Rank::new(Box::new(fabric), tuning);
        let (me, world) = (rank.world().rank(), rank.world());
        if me == 1 {
            // Here when rank 0 waits for the first time.
            turns.fetch_add(1, Ordering::Relaxed);
            rank.send(Mode::Standard, &load(&[7]), Dest::Rank(0), tag(5), world).unwrap();
            return;
        }
        let receive = |from: u32| rank.receive_at_once(&mut [0; 4], from, tag(5), world);
        for nobody in [2, 77, -1_i32 as u32, -2_i32 as u32, i32::MIN as u32] {
            assert_eq!((receive(nobody), turns.load(Ordering::Relaxed)), (None, 0), "from {nobody}");
        }
        let service: Rc<dyn Service> = Rc::new(Idler);
        rank.offer_service(Rc::clone(&service));
        assert_eq!((receive(1), turns.load(Ordering::Relaxed)), (None, 0), "a service is offered");
        rank.end_service(&service);
        let mut other = [0; 4];
        let posted = rank.irecv(&room(&mut other), Source::Any, TagMatch::Is(tag(6)), world).unwrap();
        assert_eq!((receive(1), turns.load(Ordering::Relaxed)), (None, 0), "another receive waits");
        rank.cancel(posted).unwrap();
        rank.wait(posted).unwrap();
        let before = turns.load(Ordering::Relaxed);
        assert_eq!((before, receive(1), turns.load(Ordering::Relaxed)), (0, Some(1), 1));
    });
    outcomes.into_iter().for_each(Outcome::unwrap);
}

#[test]
fn a_receive_that_let_others_run_in_vain_leaves_that_to_the_wait_that_can_say_for_what() {
    let said = last_words_on(Options { workers: 1, ..Options::new(2) }, |rank| {
        if rank.world().rank() == 0 {
            assert_eq!(rank.receive_at_once(&mut [0; 4], 1, tag(7), rank.world()), None);
            let _ = rank.recv(&room(&mut [0; 4]), Source::Rank(1), TagMatch::Is(tag(7)), rank.world());
        }
    });
    let (receives, vain) = said[0].as_ref().unwrap();
    assert!(vain, "nobody is left to send");
    let [wanted] = receives.awaited.operations.as_slice() else { panic!("{receives:?}") };
    assert_eq!((wanted.kind, wanted.peer, wanted.tag), (OperationKind::Receive, Some(1), Some(7)));
}

#[test]
fn members_of_a_communicator_are_told_by_their_place_in_the_world() {
    let said = last_words(3, |rank| {
        let odd = rank.world().rank() % 2;
        let comm = rank.split(rank.world(), Some(odd), 0).unwrap().unwrap();
        match rank.world().rank() {
            0 => {
                let _ = rank.recv(&room(&mut [0; 4]), Source::Rank(1), TagMatch::Any, &comm);
            }
            2 => {
                let _ = rank.barrier(&comm).and_then(Plan::wait);
            }
            _ => {}
        }
    });
    let (receives, _) = said[0].as_ref().unwrap();
    let wanted = receives.awaited.operations[0];
    assert_eq!((wanted.peer, wanted.peer_rank, wanted.tag), (Some(2), Some(1), None));
    let (barrier, _) = said[2].as_ref().unwrap();
    let collective = barrier.collective.as_ref().unwrap();
    assert_eq!(
        (collective.name, collective.context, &*collective.members),
        ("barrier", wanted.context, &[0, 2][..])
    );
    assert_eq!(said[1], None, "it has ended");
}

#[test]
fn the_first_of_several_is_told_as_such() {
    let said = last_words(2, |rank| {
        if rank.world().rank() == 0 {
            let (mut one, mut two) = ([0; 1], [0; 1]);
            let any = |room: &RecvBuffer, value| {
                rank.irecv(room, Source::Rank(1), TagMatch::Is(tag(value)), rank.world())
            };
            let requests =
                [Some(any(&room(&mut one), 1).unwrap()), None, Some(any(&room(&mut two), 2).unwrap())];
            let _ = rank.wait_any(&requests);
        }
    });
    let (statement, _) = said[0].as_ref().unwrap();
    assert!(statement.first_suffices);
    let tags: Vec<_> = statement.awaited.operations.iter().map(|wanted| wanted.tag).collect();
    assert_eq!(tags, [Some(1), Some(2)]);
}
