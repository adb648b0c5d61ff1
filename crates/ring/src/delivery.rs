//! What backends over an [`Endpoint`](crate::Endpoint) have in common, word by word: `deliver_by_endpoint!`.

/// Mailbox and signals of a fabric that has an `endpoint`, a method `wake` for whoever may sleep, one `finds_asleep` that tells whether it has to be called (and is given his doorbell), a method
/// `has_lost` that tells whether the rank whose mailbox was full is gone, a method `has_left` that tells at the price of a look whether one has signed off, and a method `gives_way` that lets those run who share
/// the core, if that is what a rank can do for a letter that is not here, and tells whether it has: what backends on this crate have in common, word by word. The methods are not for inlining: they would be compiled where a fabric is made, and not with it.
///
/// What most calls come to calls nothing but, last, what is cold: so it keeps nothing on the stack.
#[macro_export]
macro_rules! deliver_by_endpoint {
    ($fabric:ty) => {
        impl $fabric {
            #[cold]
            #[inline(never)]
            fn refuses(&self, to: ::fabric::Node) -> ::core::result::Result<(), ::fabric::PostError> {
                let lost = self.has_lost(to);
                ::core::result::Result::Err(if lost {
                    ::fabric::PostError::Lost
                } else {
                    ::fabric::PostError::Full
                })
            }

            #[cold]
            #[inline(never)]
            fn posted_to_sleeper(
                &self,
                to: ::fabric::Node,
            ) -> ::core::result::Result<(), ::fabric::PostError> {
                self.wake(to);
                ::core::result::Result::Ok(())
            }

            #[inline(always)]
            fn posted(
                &self,
                to: ::fabric::Node,
                bell: ::core::option::Option<&$crate::Doorbell>,
            ) -> ::core::result::Result<(), ::fabric::PostError> {
                match bell {
                    ::core::option::Option::None => self.refuses(to),
                    ::core::option::Option::Some(bell) if self.finds_asleep(to, bell) => {
                        self.posted_to_sleeper(to)
                    }
                    ::core::option::Option::Some(_) => ::core::result::Result::Ok(()),
                }
            }

            #[inline(never)]
            fn post_any(
                &self,
                to: ::fabric::Node,
                header: &::fabric::Header,
                payload: &[u8],
            ) -> ::core::result::Result<(), ::fabric::PostError> {
                if payload.len() > $crate::INLINE_BYTES {
                    return self.posted(to, self.endpoint.post_pooled(to, header, payload));
                }
                self.endpoint.get_to_know(to);
                ::fabric::Mailbox::try_post(self, to, header, payload)
            }

            #[inline(never)]
            fn take_next_long(&self, words: (u64, u64), room: &mut [u8]) -> ::fabric::Next {
                self.endpoint.take_next_long(words, room, |next| self.tell_of_room(next))
            }

            #[inline(never)]
            fn await_next(&self, first: u64, second: u64, room: &mut [u8], looks: u32) -> ::fabric::Next {
                if looks == 0 || !(self.gives_way() || self.endpoint.awaits_letter(looks)) {
                    return ::fabric::Next::NOTHING;
                }
                ::fabric::Mailbox::take_next(self, first, second, room, 0)
            }

            #[cold]
            #[inline(never)]
            fn tell_of_room(&self, next: ::fabric::Next) -> ::fabric::Next {
                self.endpoint.tell_of_room(|to| self.wake(to));
                next
            }
        }

        impl ::fabric::Mailbox for $fabric {
            fn try_post(
                &self,
                to: ::fabric::Node,
                header: &::fabric::Header,
                payload: &[u8],
            ) -> ::core::result::Result<(), ::fabric::PostError> {
                self.endpoint.post_quickly(
                    (to, header, payload),
                    || self.post_any(to, header, payload),
                    |bell| self.posted(to, bell),
                )
            }

            fn poll(
                &self,
                limit: usize,
                sink: &mut dyn FnMut(::fabric::Node, &::fabric::Header, &[u8]),
            ) -> usize {
                self.endpoint.poll_and_wake(limit, sink, |to| self.wake(to))
            }

            fn take_next(&self, first: u64, second: u64, room: &mut [u8], looks: u32) -> ::fabric::Next {
                let ends = $crate::endpoint::Ends {
                    nothing: |room: &mut [u8]| self.await_next(first, second, room, looks),
                    long: |room: &mut [u8]| self.take_next_long((first, second), room),
                    wanted: |next| self.tell_of_room(next),
                };
                self.endpoint.take_next((first, second), room, ends)
            }

            fn crosses(&self) {
                self.endpoint.forget_hints();
            }

            fn in_bulk(&self, is: bool) {
                self.endpoint.set_bulk(is);
            }
        }

        impl ::fabric::Signal for $fabric {
            fn raise(
                &self,
                to: ::fabric::Node,
                lane: ::fabric::Lane,
            ) -> ::core::result::Result<(), ::fabric::Lost> {
                if self.has_left(to) {
                    return ::core::result::Result::Err(::fabric::Lost);
                }
                self.endpoint.raise(to, lane);
                self.wake(to);
                ::core::result::Result::Ok(())
            }

            fn raised(&self, lane: ::fabric::Lane) -> u64 {
                self.endpoint.raised(lane)
            }

            fn open(&self, name: u64) -> bool {
                self.endpoint.open(name)
            }

            fn claim(&self, owner: ::fabric::Node, name: u64) -> bool {
                self.endpoint.claim(owner, name)
            }

            fn is_open(&self, owner: ::fabric::Node, name: u64) -> bool {
                self.endpoint.is_open(owner, name)
            }
        }
    };
}
