//! Chance that can be repeated, and how much of it is wanted.

#![allow(dead_code, missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::SystemTime;

use fastrand::Rng;

/// How many times as much is wanted as in a normal run: `AIDEN_SOAK`.
pub fn soak() -> usize {
    std::env::var("AIDEN_SOAK").map_or(1, |times| times.parse().expect("AIDEN_SOAK is a number"))
}

/// Seeded by `AIDEN_POWER_LOSS_SEED`; else always the same, and while soaking always another. Says which. Each purpose has
/// its own sequence.
pub fn rng(purpose: &str) -> Rng {
    let seed = match std::env::var("AIDEN_POWER_LOSS_SEED") {
        Ok(seed) => seed.parse().expect("AIDEN_POWER_LOSS_SEED is a number"),
        Err(_) if soak() == 1 => 1,
        Err(_) => {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            u64::from(now.unwrap().subsec_nanos())
        }
    };
    println!("power-loss: {purpose}: AIDEN_POWER_LOSS_SEED={seed}");
    let salt = purpose.bytes().fold(0_u64, |salt, byte| {
        salt.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    Rng::with_seed(seed ^ salt)
}
