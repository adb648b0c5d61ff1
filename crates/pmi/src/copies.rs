//! What is agreed on the second form of a program, of which ranks as threads and fibers run copies: where it is found, and how its code is named.

/// The section of a program that holds a shared object, made of the same objects as the program itself, of which a process may load any number
/// of copies. `mpicc` writes it, the loader and who explains call sites read it. No part of it is in the program's own memory.
pub const SECTION: &str = ".corelace.copies";

/// Behind the path of a program in the name of a call site: the address is one of a copy, whose code lies elsewhere than that of the program itself.
pub const OF_A_COPY: &str = "#copy";
