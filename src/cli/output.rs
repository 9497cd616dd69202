//! Standard output: text for people, one fact a line, or one JSON document.

use std::io::{IsTerminal, Write};

use serde::Serialize;

use super::args::{Global, LogTarget};

/// What the output looks like.
pub(super) struct Output {
    json: bool,
    quiet: bool,
    verbose: u8,
    /// Nobody may look at standard output: facts go where the diagnostics go as well.
    syslog: bool,
    terminal: bool,
    colour: bool,
}

/// What a colour means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Attention,
    Bad,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Good => "\x1b[32m",
            Self::Attention => "\x1b[33m",
            Self::Bad => "\x1b[31m",
        }
    }
}

impl Output {
    pub fn new(global: &Global) -> Self {
        let terminal = std::io::stdout().is_terminal();
        // https://no-color.org: any value but the empty one.
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            json: global.json,
            quiet: global.quiet,
            verbose: global.verbose,
            syslog: global.log == LogTarget::Syslog,
            terminal,
            colour: terminal && !refused,
        }
    }

    pub fn is_verbose(&self) -> bool {
        self.verbose > 0
    }

    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// A fact for people; also for the system log, where a boot is read later. A bad one is never silent.
    pub fn say(&self, tone: Tone, line: &str) {
        let shown = !self.json && !self.quiet;
        if shown {
            self.print_line(tone, line);
        }
        match tone {
            Tone::Bad if self.syslog || !shown => log::error!("{line}"),
            _ if self.syslog => log::info!("{line}"),
            _ => {}
        }
    }

    /// A part of a longer text, such as a table. Names come from outside: none may forge a line.
    pub fn print_line(&self, tone: Tone, line: &str) {
        if !self.json {
            self.print(&self.coloured(tone, &one_line(line)));
        }
    }

    /// A line of a diff, as it is, so that it can be applied; but a terminal must not act on it.
    pub fn print_raw(&self, tone: Tone, line: &str) {
        if self.json {
            return;
        }
        if self.terminal {
            return self.print_line(tone, line);
        }
        self.print(line);
    }

    /// A text that is the answer itself, byte for byte, and a line break where it has none; not to a terminal, which must not
    /// act on it.
    pub fn print_text(&self, text: &str) {
        if self.json {
            return;
        }
        if self.terminal {
            for line in text.lines() {
                self.print_line(Tone::Plain, line);
            }
            return;
        }
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(std::io::stdout(), "{text}{end}");
    }

    /// An answer that is JSON whether or not JSON was asked for.
    pub fn answer(&self, document: &impl Serialize) {
        if let Ok(text) = serde_json::to_string_pretty(document) {
            let _ = writeln!(std::io::stdout(), "{text}");
        }
    }

    /// Why a command did nothing, as the JSON document that is printed then.
    pub fn failure(&self, error: &dyn std::fmt::Display) {
        self.document(&serde_json::json!({ "error": error.to_string() }));
    }

    /// The JSON document.
    pub fn document(&self, document: &impl Serialize) {
        if self.json
            && let Ok(text) = serde_json::to_string_pretty(document)
        {
            let _ = writeln!(std::io::stdout(), "{text}");
        }
    }

    fn coloured(&self, tone: Tone, text: &str) -> String {
        if self.colour && tone != Tone::Plain {
            format!("{}{text}\x1b[0m", tone.code())
        } else {
            text.to_owned()
        }
    }

    fn print(&self, line: &str) {
        // Nobody listens any more: that is no error of ours.
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}

/// A text without line breaks and control sequences.
pub(super) fn one_line(text: &str) -> String {
    let escape = |c: char| c.is_control() && c != '\t';
    if !text.contains(escape) {
        return text.to_owned();
    }
    let mut shown = String::new();
    for c in text.chars() {
        if escape(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}
