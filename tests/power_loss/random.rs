//! Chance that can be repeated, and how much of it is wanted.

use std::time::SystemTime;

/// splitmix64: nothing here needs better.
pub struct Random(u64);

impl Random {
    /// The same for the same seed and purpose.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let salt = purpose.bytes().fold(0_u64, |salt, byte| {
            salt.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        Self(seed ^ salt)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// Once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// From 0 to 1.
    pub fn fraction(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap()) / f64::from(u32::MAX)
    }
}

/// How many times as much is wanted as in a normal run: `AIDEN_SOAK`.
pub fn soak() -> usize {
    std::env::var("AIDEN_SOAK").map_or(1, |times| times.parse().expect("AIDEN_SOAK is a number"))
}

/// `AIDEN_POWER_LOSS_SEED`; else always the same one, and while soaking always another. Says which.
pub fn seed(purpose: &str) -> u64 {
    let seed = match std::env::var("AIDEN_POWER_LOSS_SEED") {
        Ok(seed) => seed.parse().expect("AIDEN_POWER_LOSS_SEED is a number"),
        Err(_) if soak() == 1 => 1,
        Err(_) => {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            u64::from(now.unwrap().subsec_nanos())
        }
    };
    println!("power-loss: {purpose}: AIDEN_POWER_LOSS_SEED={seed}");
    seed
}
