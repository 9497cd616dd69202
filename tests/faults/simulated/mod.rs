//! A file system in memory that keeps names and data apart, and knows what a power cut may take.

mod cut;
mod disk;
mod effect;
mod filesystem;

pub use cut::{Cut, Effort, MEDIA, Medium};
pub use disk::Disk;
pub use effect::History;
pub use filesystem::Simulated;
