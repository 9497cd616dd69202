//! Counters of the daemon, in the text format of Prometheus (its "Exposition formats", version 0.0.4).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::store::all_flushes;
use crate::tools::Tool;

/// What became of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MergeOutcome {
    Applied,
    Failed,
    /// No answer was had; it is tried again.
    Transient,
}

#[derive(Debug, Default)]
pub(super) struct Metrics {
    counted: Mutex<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    calls: BTreeMap<(&'static str, bool), (u64, Duration)>,
    merges: BTreeMap<MergeOutcome, u64>,
    syncs: BTreeMap<bool, u64>,
}

/// What is looked up when somebody asks.
pub(super) struct Gauges {
    /// By the ledger's status.
    pub skills: BTreeMap<String, usize>,
    pub connections: [(&'static str, usize); 3],
    pub generation: Option<u64>,
}

impl Metrics {
    pub fn call(&self, tool: Tool, is_error: bool, took: Duration) {
        let mut counted = self.lock();
        let entry = counted.calls.entry((tool.name(), is_error)).or_default();
        entry.0 += 1;
        entry.1 += took;
    }

    pub fn merge(&self, outcome: MergeOutcome) {
        *self.lock().merges.entry(outcome).or_default() += 1;
    }

    pub fn sync(&self, is_whole: bool) {
        *self.lock().syncs.entry(is_whole).or_default() += 1;
    }

    pub fn text(&self, gauges: &Gauges) -> String {
        let counted = self.lock();
        let mut text = Text::default();
        text.family("aiden_skills_info", "gauge", "The program.");
        text.sample(
            "aiden_skills_info",
            &[("version", env!("CARGO_PKG_VERSION"))],
            1,
        );
        text.family(
            "aiden_skills_skills",
            "gauge",
            "Skills that the ledger knows, by their status.",
        );
        for (status, count) in &gauges.skills {
            text.sample("aiden_skills_skills", &[("status", status)], count);
        }
        text.family(
            "aiden_skills_syncs_total",
            "counter",
            "Syncs, by whether all went well.",
        );
        for is_whole in [true, false] {
            let count = counted.syncs.get(&is_whole).copied().unwrap_or_default();
            let result = if is_whole { "whole" } else { "partial" };
            text.sample("aiden_skills_syncs_total", &[("result", result)], count);
        }
        text.family(
            "aiden_skills_merges_total",
            "counter",
            "Merges, by what became of them.",
        );
        for (outcome, word) in [
            (MergeOutcome::Applied, "applied"),
            (MergeOutcome::Failed, "failed"),
            (MergeOutcome::Transient, "no_answer"),
        ] {
            let count = counted.merges.get(&outcome).copied().unwrap_or_default();
            text.sample("aiden_skills_merges_total", &[("outcome", word)], count);
        }
        let calls = "aiden_skills_tool_calls_total";
        text.family(
            calls,
            "counter",
            "Calls of the skill tools, by whether they were refused.",
        );
        let seconds = "aiden_skills_tool_call_seconds_total";
        let of_call = |tool: &'static str, is_error: bool| {
            let result = if is_error { "error" } else { "ok" };
            [("tool", tool), ("result", result)]
        };
        let of_tools = Tool::ALL
            .into_iter()
            .flat_map(|tool| [(tool.name(), false), (tool.name(), true)]);
        let of_tools: Vec<_> = of_tools.collect();
        let known = |key| counted.calls.get(key).copied().unwrap_or_default();
        for key in &of_tools {
            text.sample(calls, &of_call(key.0, key.1), known(key).0);
        }
        text.family(seconds, "counter", "Time that they took.");
        for key in &of_tools {
            text.sample(seconds, &of_call(key.0, key.1), known(key).1.as_secs_f64());
        }
        let flushes = "aiden_skills_flushes_total";
        text.family(flushes, "counter", "How often data was forced to flash.");
        text.sample(flushes, &[], all_flushes());
        text.family(
            "aiden_skills_connections",
            "gauge",
            "Open connections, by door.",
        );
        for (door, count) in gauges.connections {
            text.sample("aiden_skills_connections", &[("door", door)], count);
        }
        if let Some(generation) = gauges.generation {
            let name = "aiden_skills_generation";
            text.family(
                name,
                "gauge",
                "Grows with each change of what an agent sees.",
            );
            text.sample(name, &[], generation);
        }
        text.0
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (at, (label, of)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            let of = of
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            let _ = write!(self.0, "{before}{label}=\"{of}\"");
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }
}
