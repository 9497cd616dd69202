//! The room `evolve`, through the binary: a skill that learns. Every case leaves a workspace that `evolve validate` and an
//! independent validator accept, unless it says that it does not.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../merge/stand_in.rs"]
mod stand_in;
#[path = "../tools/mod.rs"]
mod tools;

mod advice;
#[path = "tools.rs"]
mod agent_tools;
mod clocks;
mod decide;
mod documents;
mod feedback;
mod gate;
mod governance;
mod hostile;
mod import;
mod init;
mod judgement;
mod markers;
mod mutations;
mod prune;
mod publish;
mod retrieval;
mod rollback;
mod synthesis;
mod workspace;
