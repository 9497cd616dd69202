//! Merging a skill that both the firmware and the user changed (contract §5, seeds §8 to §13).

pub mod structural;
