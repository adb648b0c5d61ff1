//! End-to-end tests: everything as a user gets it, installed, compiled and launched.
//!
//! One file a subject; `support` finds or makes the installed prefix, compiles programs and runs jobs under a deadline; `c`
//! holds the programs, each of which prints "no errors" once.

mod abi;
mod apps;
mod arguments;
mod bench;
mod call_sites;
mod cards;
mod checks;
mod chips;
mod counting;
mod doctor;
mod examples;
mod failures;
mod files;
mod fit;
mod fortran;
mod hangs;
mod hardships;
mod hosted;
mod in_place;
mod installation;
mod launcher;
mod multicast;
mod nanvix;
mod onesided;
mod pages;
mod processes;
mod profile;
mod projects;
mod python;
mod random;
mod replay;
mod reports;
mod reproduce;
mod right;
mod semantics;
mod support;
mod surroundings;
mod sweep;
mod thousands;
mod tools;
mod traces;
mod transfers;
mod two_forms;
mod waiting;
mod wrong;
