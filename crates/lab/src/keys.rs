//! What a user calls a number of a chip's description: its path in the file, an end of the path that only one number has, or with `*` for a part of it
//! several at once.

use sim::Chip;
use sim::chip::Fact;

/// The numbers that a key means: all whose path has its parts at the end, if it has a `*`; otherwise one of them.
pub fn resolve<'c>(key: &str, chip: &'c Chip) -> Result<Vec<&'c Fact>, String> {
    let numbers = || chip.facts.iter().filter(|fact| !fact.unit.is_empty());
    let found: Vec<&Fact> = numbers().filter(|fact| ends_with(&fact.path, key)).collect();
    let several = key.split('.').any(|part| part == "*");
    let exact = found.iter().copied().find(|fact| fact.path == key);
    match (found.as_slice(), exact.or_else(|| first_meant(&found, chip))) {
        ([], _) => {
            let meant = match like(key, numbers().map(|fact| fact.path.as_str())).as_slice() {
                [] => String::new(),
                some => format!("; did you mean {}?", some.join(", ")),
            };
            Err(format!(
                "{} has no number '{key}'{meant} (`corelace chips show {}` lists all)",
                chip.name, chip.name
            ))
        }
        (found, _) if several => Ok(found.to_vec()),
        ([one], _) => Ok(vec![*one]),
        (_, Some(one)) => Ok(vec![one]),
        (found, None) => {
            let paths: Vec<&str> = found.iter().map(|fact| fact.path.as_str()).collect();
            Err(format!(
                "'{key}' may be {}; say more of the path, or *.{key} for all of them",
                paths.join(", ")
            ))
        }
    }
}

/// The three paths that are most like a key, as wholes or by their ends. Those that hold the key come first.
fn like<'c>(key: &str, paths: impl Iterator<Item = &'c str> + Clone) -> Vec<&'c str> {
    let parts = key.split('.').count();
    let end = |path: &'c str| {
        let skipped = path.split('.').count().saturating_sub(parts);
        let at: usize = path.split('.').take(skipped).map(|part| part.len() + 1).sum();
        &path[at..]
    };
    let near = cli::flags::alike(key, paths.clone().map(end), usize::MAX);
    let last = key.rsplit('.').next().unwrap_or(key);
    let mut found: Vec<&str> = Vec::new();
    let holding = paths.clone().filter(|path| path.contains(last));
    let alike = near.into_iter().flat_map(|near| paths.clone().filter(move |path| end(path) == near));
    for path in holding.chain(alike) {
        if !found.contains(&path) && found.len() < 3 {
            found.push(path);
        }
    }
    found
}

/// Of several numbers of one short name, the one that people mean: of the data plane rather than the control plane, of clusters rather than I/O subsystems,
/// of the software that is used when nobody names one.
fn first_meant<'c>(found: &[&'c Fact], chip: &Chip) -> Option<&'c Fact> {
    let software = format!("ipc.{}.cluster.", chip.default_ipc);
    let mut first = found.iter().copied().filter(|fact| {
        ["network.data.", "cluster.", software.as_str()]
            .iter()
            .any(|section| fact.path.strip_prefix(section).is_some_and(|key| !key.contains('.')))
    });
    let one = first.next();
    one.filter(|_| first.next().is_none())
}

/// Whether the parts of a path end with those of a key, of which `*` is any.
fn ends_with(path: &str, key: &str) -> bool {
    let (mut parts, wanted) = (path.rsplit('.'), key.rsplit('.'));
    wanted.into_iter().all(|part| parts.next().is_some_and(|given| part == "*" || part == given))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(key: &str) -> Vec<String> {
        let chip = Chip::builtin("mppa256-andey").unwrap();
        resolve(key, &chip).unwrap().iter().map(|fact| fact.path.clone()).collect()
    }

    #[test]
    fn a_number_is_named_by_its_path_or_by_what_only_it_ends_with() {
        for key in ["network.data.credits", "data.credits", "credits"] {
            assert_eq!(paths(key), ["network.data.credits"]);
        }
    }

    #[test]
    fn a_short_name_means_data_before_control_clusters_before_io_and_the_default_software() {
        for (key, path) in [
            ("link", "network.data.link"),
            ("scratchpad", "cluster.scratchpad"),
            ("post", "ipc.mppaipc.cluster.post"),
            ("io.post", "ipc.mppaipc.io.post"),
        ] {
            assert_eq!(paths(key), [path]);
        }
    }

    #[test]
    fn a_star_names_several_numbers_at_once() {
        assert_eq!(paths("network.*.link"), ["network.data.link", "network.control.link"]);
        assert_eq!(paths("ipc.mppaipc.*.post"), ["ipc.mppaipc.cluster.post", "ipc.mppaipc.io.post"]);
    }
}
