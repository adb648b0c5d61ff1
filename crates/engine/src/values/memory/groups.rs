//! The members of a board in groups of neighbours, one of which *speaks* for all of its group: so many meet in two rounds, and none looks at more than about twice the square root of their number.
//!
//! `engine/tests/loom.rs` runs this very file under every order of its steps.

use core::ops::Range;

/// Members in groups: the first of each speaks for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups {
    members: u32,
    /// Of a group; the last one may be smaller.
    size: u32,
}

/// Some of the seats of a board, from the first to the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seats {
    pub first: u32,
    pub last: u32,
    /// From one to the next.
    pub step: u32,
}

impl Seats {
    pub fn all(members: u32) -> Seats {
        Seats { first: 0, last: members - 1, step: 1 }
    }

    /// How many these are.
    #[inline]
    pub fn count(self) -> u32 {
        (self.last - self.first) / self.step + 1
    }

    /// One of them.
    #[inline]
    pub fn seat(self, number: u32) -> u32 {
        self.first + number * self.step
    }
}

impl Groups {
    /// About as many groups as there are members in one, so that those who speak look at as many of
    /// their group as of each other. A power of two in each: to combine what groups have combined
    /// is then to combine in the order of `values::pairing`.
    pub const fn of(members: u32) -> Groups {
        let mut size = 1;
        while 2 * size * size < members {
            size *= 2;
        }
        Groups::sized(members, size)
    }

    pub const fn sized(members: u32, size: u32) -> Groups {
        Groups { members, size }
    }

    pub const fn size(self) -> u32 {
        self.size
    }

    /// True if this member speaks for its group.
    pub fn speaks(self, member: u32) -> bool {
        member.is_multiple_of(self.size)
    }

    /// The group of one who speaks.
    pub fn led_by(self, speaker: u32) -> Range<u32> {
        speaker..(speaker + self.size).min(self.members)
    }

    /// All who speak.
    pub fn speakers(self) -> Seats {
        Seats { first: 0, last: (self.members - 1) / self.size * self.size, step: self.size }
    }

    /// Waits until all have come, and one who speaks says so for its group when that has. `see` waits for what a member publishes: it comes, if it does not speak, and its group has come, if it does.
    /// Who comes publishes before this, unless it speaks.
    pub fn meet<C, E>(
        self,
        me: u32,
        by: &mut C,
        see: impl Fn(&mut C, u32) -> Result<(), E>,
        speak: impl FnOnce(&mut C),
    ) -> Result<(), E> {
        let own = me - me % self.size;
        if me == own {
            for member in self.led_by(me).skip(1) {
                see(by, member)?;
            }
            speak(by);
        } else {
            see(by, own)?;
        }
        // From the next group on, so that not all look at the same one first.
        let mut other = own + self.size;
        loop {
            if other >= self.members {
                other = 0;
            }
            if other == own {
                return Ok(());
            }
            see(by, other)?;
            other += self.size;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn each_member_is_in_one_group_and_nobody_looks_at_many() {
        for members in 2..=4096 {
            let groups = Groups::of(members);
            let Seats { first, last, step } = groups.speakers();
            let speakers: Vec<u32> = (first..=last).step_by(step as usize).collect();
            let led: Vec<u32> = speakers.iter().flat_map(|speaker| groups.led_by(*speaker)).collect();
            assert_eq!(led, (0..members).collect::<Vec<_>>());
            assert!(speakers.iter().all(|speaker| groups.speaks(*speaker)));
            let seats = (0..groups.speakers().count()).map(|number| groups.speakers().seat(number));
            assert!(speakers.iter().copied().eq(seats));
            assert!(groups.size().is_power_of_two());
            let most = groups.size() as usize + speakers.len();
            assert!(most * most <= 5 * (members as usize + most), "{most} of {members}");
        }
    }

    #[test]
    fn whoever_has_met_has_seen_all_who_speak_and_those_for_whom_it_does() {
        for (members, size) in [(5, 2), (6, 2), (7, 3), (18, 5), (21, 5), (64, 8)] {
            let groups = Groups::sized(members, size);
            for me in 0..members {
                let mut seen = Vec::new();
                let met: Result<(), ()> = groups.meet(
                    me,
                    &mut seen,
                    |seen, member| {
                        seen.push(member);
                        Ok(())
                    },
                    |seen| assert!(seen.iter().copied().eq(groups.led_by(me).skip(1))),
                );
                assert_eq!(met, Ok(()));
                let mut expected: Vec<u32> = (0..members)
                    .filter(|member| *member != me)
                    .filter(|member| {
                        groups.speaks(*member) || groups.speaks(me) && groups.led_by(me).contains(member)
                    })
                    .collect();
                seen.sort_unstable();
                expected.sort_unstable();
                assert_eq!(seen, expected, "{me} of {members}");
            }
        }
    }
}
