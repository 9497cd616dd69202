//! Faults built in on purpose, to show that the tests notice them: what a batch would be if somebody left a step out.
//! Only a build with the feature `mutants` has them; no release has that feature.

/// What is left out, or done in the wrong order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// What is staged is not flushed before it is renamed.
    NoDataFlush,
    /// The names in library and bases are not flushed before the final ledger.
    NoNamesFlush,
    /// The state dir is not flushed after a ledger came into place.
    NoLastFlush,
    /// The final ledger comes, and is flushed, before what it tells of.
    LedgerFirst,
    /// The ledger with the intents is left out.
    NoIntent,
}

#[cfg(feature = "mutants")]
mod switch {
    use super::Mutant;
    use std::cell::Cell;

    /// Names a mutant for the whole process.
    const VARIABLE: &str = "AIDEN_MUTANT";

    thread_local! {
        static ON: Cell<Option<Mutant>> = Cell::new(named());
    }

    fn named() -> Option<Mutant> {
        match std::env::var(VARIABLE).ok()?.as_str() {
            "no-data-flush" => Some(Mutant::NoDataFlush),
            "no-names-flush" => Some(Mutant::NoNamesFlush),
            "no-last-flush" => Some(Mutant::NoLastFlush),
            "ledger-first" => Some(Mutant::LedgerFirst),
            "no-intent" => Some(Mutant::NoIntent),
            _ => None,
        }
    }

    /// Switches a mutant on, or all off, for this thread.
    pub fn switch(mutant: Option<Mutant>) {
        ON.set(mutant);
    }

    pub(in crate::store) fn is_on(mutant: Mutant) -> bool {
        ON.get() == Some(mutant)
    }
}

#[cfg(feature = "mutants")]
pub use switch::switch;

/// Whether a mutant is switched on.
#[cfg(feature = "mutants")]
pub(super) use switch::is_on;

#[cfg(not(feature = "mutants"))]
pub(super) const fn is_on(_: Mutant) -> bool {
    false
}
