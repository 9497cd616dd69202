//! Every mutating call of every operation, stopped in its middle or failed: what must hold afterwards holds.

#![allow(clippy::disallowed_methods)]

mod board;
mod crash;
mod errors;
mod faulty;
mod random;
mod scenario;
