//! What the functions do, chapter by chapter.
//!
//! A function `pub(crate) fn mpi_send(` implements `MPI_Send` and `MPI_Send_c`, one `mpix_compute(` implements `MPIX_Compute`; `cargo xtask gen` finds it by that line and
//! generates the call. Its parameters are those of the MPI function, converted by kind.
#![allow(clippy::too_many_arguments, reason = "the signatures are MPI's")]

pub(crate) mod abi;
pub(crate) mod activity;
pub(crate) mod attributes;
pub(crate) mod collectives;
pub(crate) mod comm;
pub(crate) mod datatypes;
pub(crate) mod environment;
pub(crate) mod epochs;
pub(crate) mod errhandlers;
pub(crate) mod errors;
pub(crate) mod extensions;
pub(crate) mod f90;
pub(crate) mod files;
pub(crate) mod files_access;
pub(crate) mod files_begin;
pub(crate) mod files_views;
pub(crate) mod grequests;
pub(crate) mod group;
pub(crate) mod info;
pub(crate) mod intercomm;
pub(crate) mod one_sided;
pub(crate) mod ops;
pub(crate) mod p2p;
pub(crate) mod partitioned;
pub(crate) mod persistent;
pub(crate) mod ports;
pub(crate) mod probe;
pub(crate) mod processes;
pub(crate) mod properties;
pub(crate) mod quick;
pub(crate) mod requests;
pub(crate) mod sessions;
pub(crate) mod status;
pub(crate) mod tools;
pub(crate) mod topologies;
pub(crate) mod type_create;
pub(crate) mod windows;
pub(crate) mod with_state;
