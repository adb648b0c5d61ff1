//! Reports from outside: traces are made, and what is said about them is held against what is known of them.

mod compare;
mod filter;
mod findings;
mod formats;
mod page;
mod profile;
mod regions;
mod support;
