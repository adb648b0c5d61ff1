//! What a lane is made of.

use alloc::boxed::Box;
use alloc::rc::Rc;
use core::cell::{Cell, OnceCell, RefCell};

use fabric::{Caps, Fabric, Idle, Woke};

use crate::lane::circle::Circle;
use crate::lane::gate::Gate;
use crate::lane::services::{Served, Service, Services};
use crate::lane::statement::{Lookout, View};
use crate::progress::core::Core;
use crate::progress::tables::watch::{Begin, End};
use crate::schedule::{Schedules, Workshop};
use crate::values::contexts::Contexts;
use crate::values::memory::board::Ended;
use crate::values::tuning::Tuning;

/// Looks of a rank with a core of its own: about as many as fit into the time of an answer.
const LOOKS: u32 = 1024;

/// One end-point and everything that arrives there.
pub(crate) struct Lane {
    fabric: Box<dyn Fabric>,
    pub core: RefCell<Core>,
    pub schedules: Schedules,
    pub contexts: Contexts,
    /// What the rank does for others while it waits.
    pub services: Services,
    /// How threads take turns, where several may call.
    pub gate: OnceCell<Box<dyn Gate>>,
    /// Barriers of the world that went by signals.
    pub signal_barriers: Cell<u64>,
    /// This node's place in them, since the first.
    pub circle: OnceCell<Circle>,
    /// Boards that this rank has left.
    pub boards: Rc<Ended>,
    /// A rank that has to wait anyway parks before it looks (see `Caps::cheap_park`).
    pub parks_first: bool,
    /// Looks at its mailbox that a rank takes before it begins to wait; others run before the last one, where that is cheap. None while it has something to do for others whenever it waits: then it parks,
    /// and does it.
    pub looks: Cell<u32>,
    /// Shorter messages than this are received at once, if they are there or come with a look: none in virtual time.
    pub at_once_below: u64,
    /// Tests and probes in a row that found nothing: they back off as waits do.
    pub fruitless: Cell<u32>,
    /// Collectives until this rank looks for packets again, though it waits for none.
    pub takes_in_after: Cell<u32>,
    /// Whoever answers for this rank when it waits.
    pub lookout: OnceCell<Box<dyn Lookout>>,
    /// Quiet stretches of waits that were long enough to be numbered.
    pub stretches: Cell<u64>,
    /// When the lookout was last told of fruitless tests: how many they were, and the number of the stretch.
    pub polling: Cell<(u32, u64)>,
}

impl Lane {
    pub fn new(fabric: Box<dyn Fabric>, tuning: Tuning, contexts: Contexts) -> Lane {
        let parks_first = fabric.caps().cheap_park;
        // In virtual time it makes a difference what waits for what.
        let looks = match fabric.caps() {
            _ if fabric.virtual_time().is_some() => 0,
            Caps { own_cores: true, .. } => LOOKS,
            _ => 1,
        };
        let core = Core::new(&*fabric, tuning);
        let at_once_below = if looks > 0 { core.choice.announce_min } else { 0 };
        Lane {
            core: RefCell::new(core),
            fabric,
            schedules: Schedules::new(),
            contexts,
            services: Services::default(),
            gate: OnceCell::new(),
            signal_barriers: Cell::new(0),
            circle: OnceCell::new(),
            boards: Rc::default(),
            parks_first,
            looks: Cell::new(looks),
            at_once_below,
            fruitless: Cell::new(0),
            takes_in_after: Cell::new(0),
            lookout: OnceCell::new(),
            stretches: Cell::new(0),
            polling: Cell::default(),
        }
    }

    /// Its end of the fabric.
    #[inline]
    pub fn fabric(&self) -> &dyn Fabric {
        &*self.fabric
    }

    /// From now on this is served in every round of a wait.
    pub fn offer(&self, service: Rc<dyn Service>) {
        self.services.offer(service);
        self.choose_looks();
    }

    /// No longer.
    pub fn end_service(&self, service: &Rc<dyn Service>) {
        self.services.end(service);
        self.choose_looks();
    }

    fn choose_looks(&self) {
        if self.parks_first && self.at_once_below > 0 {
            self.looks.set(if self.services.any() { 0 } else { 1 });
        }
    }

    /// One round of a wait.
    #[inline]
    pub fn park(&self, rounds: u32, idle: Idle) -> Woke {
        if self.schedules.boarded.get() > 0 && idle == Idle::UntilWoken {
            return self.park_aboard(rounds, idle);
        }
        self.park_now(rounds, idle)
    }

    /// The same where no collective on a board is to be thought of.
    #[inline]
    pub fn park_now(&self, rounds: u32, idle: Idle) -> Woke {
        let rounds = match self.services.serve(self.fabric(), rounds) {
            Served::Some => return Woke::Again,
            Served::None(rounds) => rounds,
            Served::NoneYet(rounds) => return self.wait_outside(rounds),
        };
        match self.gate.get() {
            None => self.fabric.park(rounds, idle),
            Some(gate) => gate.park(&*self.fabric, rounds, idle),
        }
    }

    /// One round of a wait that does not sleep, as long as the fabric thinks right. `None` when it is time to.
    #[inline]
    pub fn bide(&self, rounds: u32) -> Option<Woke> {
        /// The same where threads take turns: there a fabric's patience is for those who may sleep.
        const GATED: u32 = 1500;
        if self.gate.get().is_some() {
            return (rounds < GATED).then(|| self.park(rounds, Idle::Briefly));
        }
        match self.services.serve(self.fabric(), rounds) {
            Served::Some => Some(Woke::Again),
            Served::None(rounds) => self.fabric.bide(rounds, Idle::UntilWoken),
            Served::NoneYet(rounds) => Some(self.wait_outside(rounds)),
        }
    }

    /// One round of a wait in which somebody waits for what the fabric does not tell of: an alarm may be rung for that, or not, and nobody is to take the rank for
    /// one that waits for ever.
    #[cold]
    fn wait_outside(&self, rounds: u32) -> Woke {
        /// Rounds in which it does not sleep.
        const AWAKE: u32 = 16;
        /// How often in a second a rank looks again by itself.
        const LOOKS: u64 = 2000;
        let woke = if rounds < AWAKE && self.gate.get().is_none() {
            self.fabric.park(rounds, Idle::Briefly)
        } else {
            let ticks = self.fabric.caps().ticks_per_second / LOOKS;
            self.rest_until(rounds, self.fabric.now().saturating_add(ticks))
        };
        // However long it takes: it is not other ranks that keep this one waiting.
        if woke == Woke::Look { Woke::Again } else { woke }
    }

    /// Gives the core away until something comes or the clock shows `until`; where threads take turns, for a moment.
    pub fn rest_until(&self, rounds: u32, until: u64) -> Woke {
        if let Some(gate) = self.gate.get() {
            return gate.park(&*self.fabric, rounds, Idle::Briefly);
        }
        let armed = self.fabric.arm();
        if self.fabric.pending() {
            self.fabric.disarm(armed);
            return Woke::Again;
        }
        self.fabric.sleep(armed, Some(until))
    }

    /// Something has come, or ended, that another thread may wait for.
    #[inline]
    pub fn stir(&self) {
        if let Some(gate) = self.gate.get() {
            gate.stir();
        }
    }

    /// What plans are made with.
    #[inline]
    pub fn shop(&self) -> Workshop<'_> {
        Workshop { schedules: &self.schedules, fabric: &*self.fabric }
    }

    /// What can be asked what the lane waits for.
    pub fn view(&self) -> View<'_> {
        View { core: &self.core, schedules: &self.schedules, contexts: &self.contexts, fabric: &*self.fabric }
    }

    /// Tells the observer, if there is one, that something begins.
    #[inline]
    pub fn begins<'a>(&self, what: impl Fn() -> Begin<'a>) {
        self.core.borrow_mut().tell(self.fabric(), |observer, fabric| observer.begins(fabric, &what()));
    }

    /// Tells the observer, if there is one, that something has ended.
    #[inline]
    pub fn ends(&self, what: End) {
        self.core.borrow_mut().tell(self.fabric(), |observer, fabric| observer.ends(fabric, &what));
    }

    /// True if anybody watches, an observer or a meter.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.core.borrow().watch.is_some()
    }

    /// True if an observer watches.
    pub fn is_observed(&self) -> bool {
        self.core.borrow().watch.as_ref().is_some_and(|watch| watch.is_observed())
    }
}
