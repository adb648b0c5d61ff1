//! The standard ABI as data: types, constants, and what the arguments of each function are. `cargo xtask gen` writes the rooms from `spec/`.

pub mod constants;
pub mod shapes;
pub mod types;
