//! Launcher and compiler wrappers from outside, in an installation with a stand-in for the library.

mod cache;
mod common;
mod compilers;
mod completions;
mod hosts;
mod jobs;
mod names;
