//! A file system in memory that keeps names and data apart, and knows what a power cut may take.

mod cut;
mod disk;
mod effect;
mod filesystem;
mod medium;

pub use cut::{Cut, Effort};
pub use disk::Disk;
pub use effect::{Effect, History};
pub use filesystem::Simulated;
pub use medium::{MEDIA, Medium};
