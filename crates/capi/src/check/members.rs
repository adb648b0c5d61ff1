//! What the members of a window have brought into it, and where in the program: so that one of them can say whose memory an operation missed.

use std::rc::Rc;

use super::letters::{Reader, Writer};

/// A member of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) bytes: i64,
    /// Bytes of a displacement.
    pub(super) unit: i64,
    /// The call that made the window there.
    pub(super) place: Rc<str>,
}

impl Member {
    /// One of which nothing was heard: the job is about to fail.
    pub(super) fn unknown() -> Member {
        Member { bytes: 0, unit: 1, place: "a call".into() }
    }
}

/// All members. Most of them come from the same place, which is kept once.
#[derive(Default, Debug, PartialEq, Eq)]
pub(super) struct Members {
    places: Vec<Rc<str>>,
    all: Vec<(i64, i64, u32)>,
}

impl Members {
    pub(super) fn add(&mut self, member: Member) {
        let known = self.places.iter().position(|place| *place == member.place);
        let place = known.unwrap_or_else(|| {
            self.places.push(member.place);
            self.places.len() - 1
        });
        self.all.push((member.bytes, member.unit, place as u32));
    }

    pub(super) fn of(&self, member: u32) -> Member {
        let found = self.all.get(member as usize).and_then(|(bytes, unit, place)| {
            let place = Rc::clone(self.places.get(*place as usize)?);
            Some(Member { bytes: *bytes, unit: *unit, place })
        });
        found.unwrap_or_else(Member::unknown)
    }

    /// The first that is not as the very first is in something.
    pub(super) fn find_other(&self, of: fn(Member) -> i64) -> Option<u32> {
        (1..self.len()).find(|member| of(self.of(*member)) != of(self.of(0)))
    }

    pub(super) fn len(&self) -> u32 {
        self.all.len() as u32
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut letter = Writer::default();
        letter.number(self.places.len() as i64);
        self.places.iter().for_each(|place| letter.text(place));
        letter.number(self.all.len() as i64);
        for (bytes, unit, place) in &self.all {
            [*bytes, *unit, i64::from(*place)].into_iter().for_each(|number| letter.number(number));
        }
        letter.0
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Members> {
        let mut letter = Reader(bytes);
        let places = letter.number()?;
        let places = (0..places).map(|_| letter.text().map(Rc::from)).collect::<Option<_>>()?;
        let all = letter.number()?;
        let mut member = || Some((letter.number()?, letter.number()?, u32::try_from(letter.number()?).ok()?));
        let all = (0..all).map(|_| member()).collect::<Option<_>>()?;
        Some(Members { places, all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_as_they_were_written_and_places_are_kept_once() {
        let mut members = Members::default();
        for (bytes, place) in [(8, "here"), (16, "there"), (0, "here")] {
            members.add(Member { bytes, unit: 4, place: place.into() });
        }
        let letter = members.encode();
        let read = Members::decode(&letter).expect("all of it");
        assert_eq!(read, members);
        assert_eq!((read.places.len(), read.of(2), read.len()), (2, members.of(2), 3));
        assert_eq!(read.of(3), Member::unknown());
        assert_eq!(
            (read.find_other(|member| member.bytes), read.find_other(|member| member.unit)),
            (Some(1), None)
        );
        assert!((0..letter.len()).all(|len| Members::decode(&letter[..len]).is_none()));
    }
}
