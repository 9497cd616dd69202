//! Unified diffs, as `diff -u` writes them and `patch` reads them.

use std::fmt::{self, Write};

use imara_diff::{
    Algorithm, Diff, InternedInput, Interner, Token, UnifiedDiffConfig, UnifiedDiffPrinter,
};

/// The diff of two texts with the labels of its head; empty if they are the same.
#[must_use]
pub fn unified_diff(before: (&str, &str), after: (&str, &str)) -> String {
    let mut input = InternedInput::default();
    input.update_before(before.1.split_inclusive('\n'));
    input.update_after(after.1.split_inclusive('\n'));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    if diff.count_additions() + diff.count_removals() == 0 {
        return String::new();
    }
    let printer = Printer(&input.interner);
    let hunks = diff.unified_diff(&printer, UnifiedDiffConfig::default(), &input);
    format!("--- {}\n+++ {}\n{hunks}", before.0, after.0)
}

struct Printer<'t>(&'t Interner<&'t str>);

impl Printer<'_> {
    fn line(&self, f: &mut impl Write, sign: char, token: Token) -> fmt::Result {
        let line = self.0[token];
        write!(f, "{sign}{line}")?;
        if !line.ends_with('\n') {
            f.write_str("\n\\ No newline at end of file\n")?;
        }
        Ok(())
    }
}

impl UnifiedDiffPrinter for Printer<'_> {
    fn display_header(
        &self,
        mut f: impl Write,
        start_before: u32,
        start_after: u32,
        len_before: u32,
        len_after: u32,
    ) -> fmt::Result {
        // An empty range stands behind a line, any other begins with one; and one line has no count.
        let range = |start: u32, len: u32| match len {
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            len => format!("{},{len}", start + 1),
        };
        writeln!(
            f,
            "@@ -{} +{} @@",
            range(start_before, len_before),
            range(start_after, len_after)
        )
    }

    fn display_context_token(&self, mut f: impl Write, token: Token) -> fmt::Result {
        self.line(&mut f, ' ', token)
    }

    fn display_hunk(&self, mut f: impl Write, before: &[Token], after: &[Token]) -> fmt::Result {
        for token in before {
            self.line(&mut f, '-', *token)?;
        }
        for token in after {
            self.line(&mut f, '+', *token)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_has_no_diff() {
        assert_eq!(unified_diff(("a", "x\n"), ("b", "x\n")), "");
    }

    #[test]
    fn hunks_are_those_of_diff_u() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = "1\n2\n3\n4\nfive\n6\n7\n8\n9";
        let expected = "--- a\n+++ b\n@@ -2,8 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n-9\n+9\n\\ No newline at end of file\n";
        assert_eq!(unified_diff(("a", before), ("b", after)), expected);
        assert_eq!(
            unified_diff(("/dev/null", ""), ("b", "1\n")),
            "--- /dev/null\n+++ b\n@@ -0,0 +1 @@\n+1\n"
        );
        assert_eq!(
            unified_diff(("a", "1\n2\n"), ("/dev/null", "")),
            "--- a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-1\n-2\n"
        );
    }
}
