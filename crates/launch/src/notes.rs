//! What `--check` found, shown to the user: the ranks name call sites by module and offset, the launcher by file and line.

use symbols::Symbols;

/// Shows findings. Debug information is read when the first call site needs it.
#[derive(Default)]
pub(crate) struct Notes(Option<Symbols>);

impl Notes {
    /// The line for the user. Call sites are between backquotes; what else is between some stays as it is.
    pub(crate) fn line(&mut self, rank: u32, text: &str) -> String {
        let symbols = self.0.get_or_insert_with(Symbols::new);
        let parts: Vec<String> = text
            .split('`')
            .enumerate()
            .map(|(index, part)| if index % 2 == 1 { symbols.explain(part) } else { part.to_owned() })
            .collect();
        format!("check: rank {rank}: {}", parts.concat())
    }
}

/// The last word on findings, if there were some.
pub(crate) fn summary(findings: usize) -> Option<String> {
    match findings {
        0 => None,
        1 => Some("check: 1 finding".into()),
        n => Some(format!("check: {n} findings")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_sites_between_backquotes_are_explained_and_nothing_else() {
        let line = Notes::default().line(3, "MPI_Send at `/no/such/heat+0x1f` changed `x`, at `/b+0x2`");
        assert_eq!(line, "check: rank 3: MPI_Send at heat+0x1f changed x, at b+0x2");
        assert_eq!(Notes::default().line(0, "plain"), "check: rank 0: plain");
    }
}
