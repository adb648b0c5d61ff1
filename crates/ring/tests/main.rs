//! Rings and exchanges from outside: against a model, against damage, and as loom models.

#[cfg(not(loom))]
mod damage;
#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod model;
