//! What a chip file says, and what is refused: with file, line and reason.

use super::*;

/// The teaching chip, whose numbers are easy to find in the text.
const TEXT: &str = include_str!("../../../../chips/mesh16.toml");

/// The error for the teaching chip's text with one change, without the file's name; and the line where the change is.
fn refused(old: &str, new: &str) -> (usize, String, usize) {
    let at = TEXT.find(old).unwrap_or_else(|| panic!("the text has no {old}"));
    let text = format!("{}{new}{}", &TEXT[..at], &TEXT[at + old.len()..]);
    let changed = TEXT[..at].lines().count().max(1) + usize::from(TEXT[..at].ends_with('\n'));
    let error = Chip::from_toml(&text, "my.toml").expect_err("the change is refused");
    assert_eq!(error.to_string(), format!("my.toml:{}: {}", error.line, error.reason));
    (error.line, error.reason, changed)
}

/// Checks that a change is refused on its own line, for a reason with these words.
fn refuses(old: &str, new: &str, words: &str) {
    let (line, reason, changed) = refused(old, new);
    assert!(reason.contains(words), "expected '{words}' in '{reason}'");
    assert_eq!(line, changed, "the line of the change: {reason}");
}

#[test]
fn every_chip_that_comes_with_the_program_is_valid_and_has_its_own_name() {
    for (name, text) in BUILTIN {
        let chip = Chip::from_toml(text, name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(chip.name, name);
    }
}

#[test]
fn every_number_of_a_file_becomes_a_fact_with_its_provenance() {
    for (name, text) in BUILTIN {
        let chip = Chip::builtin(name).unwrap();
        let complete = base::complete(text, name).unwrap();
        let text = complete.as_deref().unwrap_or(text);
        assert_eq!(chip.facts.len(), text.matches("value = ").count(), "{name}");
        for fact in &chip.facts {
            let line = text.lines().nth(fact.line - 1).unwrap();
            assert!(
                line.contains(fact.path.rsplit('.').next().unwrap()),
                "{name}: {fact:?} is not on {line}"
            );
        }
    }
}

#[test]
fn numbers_arrive_in_the_units_of_the_model() {
    let chip = Chip::builtin("mppa256-andey").unwrap();
    assert_eq!(chip.clock_hz, 400_000_000);
    assert_eq!(chip.ticks_per_second(), 400_000_000_000);
    assert_eq!((chip.clusters(), chip.places(), chip.ranks_max()), (16, 20, 192));
    assert_eq!(chip.cluster.usable, 3 << 19);
    assert_eq!(chip.cluster.receive_per_byte, Rate::ticks(270));
    assert_eq!((chip.network.data.router, chip.network.data.flit_time), (7000, Rate::ticks(1000)));
    assert_eq!((chip.power.idle_microwatts, chip.power.core_cycle), (4_000_000, 56_000));
    assert_eq!(chip.ipc("mppaipc").unwrap().cluster.put_per_byte, Rate::ticks(980));
    assert_eq!(chip.ipc("smoke signals"), None);
    let nanvix = Chip::builtin("mppa256-nanvix").unwrap();
    let costs = nanvix.ipc("nanvix").unwrap().cluster;
    assert_eq!((costs.page, costs.slots), (4096, Some(16)));
}

#[test]
fn places_are_clusters_and_then_io_subsystems() {
    let chip = Chip::builtin("mppa256-andey").unwrap();
    assert_eq!(chip.io_place(0), Place(16));
    assert_eq!(chip.io_at(Place(17)).unwrap().name, "south");
    assert_eq!(chip.io_at(Place(15)), None);
    assert_eq!(chip.ports(Place(5)), [Position { x: 1, y: 1 }]);
    assert_eq!(chip.ports(Place(16)).len(), 4);
}

#[test]
fn a_file_that_is_not_toml_is_refused_where_it_stops_to_be() {
    refuses("shape = \"mesh\"", "shape = mesh", "");
    refuses("[dma]", "[dma", "");
}

#[test]
fn a_section_that_stands_twice_is_refused() {
    refuses("[dma]", "[clock]", "duplicate");
}

#[test]
fn a_missing_key_is_refused_at_its_section() {
    let (line, reason, changed) = refused("channels       =", "# channels =");
    assert_eq!(reason, "missing key 'dma.channels'");
    assert_eq!(line, changed - 1, "the line of [dma]");
}

#[test]
fn a_missing_section_is_refused() {
    assert_eq!(refused("[dma]", "[power.dma]").1, "missing key 'dma'");
}

#[test]
fn a_misspelled_key_is_refused_on_its_own_line() {
    let (old, new) = ("router         =", "rooter         =");
    refuses(old, new, "missing key 'network.data.router'; is 'rooter' meant to be it?");
}

#[test]
fn an_unknown_key_is_refused_with_what_may_have_been_meant() {
    refuses("[power]\n", "reed = 3\n[power]\n", "unknown key 'io.north.ddr.reed'; did you mean 'read'?");
    refuses("[power]\n", "colour = 3\n[power]\n", "unknown key 'io.north.ddr.colour'");
}

#[test]
fn an_unknown_section_is_refused() {
    refuses("[dma]\n", "[cache]\nlines = 3\n[dma]\n", "unknown key 'cache'");
}

#[test]
fn a_text_in_the_place_of_a_number_is_refused() {
    refuses("channels       = { value = 4", "channels       = { value = \"4\"", "expected a decimal number");
}

#[test]
fn a_number_without_provenance_is_refused() {
    let old = "channels       = { value = 4, unit = \"channels\", from = \"chosen: a round number\" }";
    refuses(old, "channels = { value = 4, unit = \"channels\" }", "a number without provenance");
    refuses(old, "channels = 4", "expected a number with provenance");
    refuses(old, "channels = { value = 4, unit = \"channels\", from = \"\" }", "is empty");
    let both = "channels = { value = 4, unit = \"channels\", from = \"a\", calibrated = \"b\" }";
    refuses(old, both, "one provenance");
}

#[test]
fn positions_without_provenance_are_refused() {
    refuses(
        "ports = { value = [[0, 0]], from = \"chosen: a round number\" }",
        "ports = { value = [[0, 0]] }",
        "without",
    );
}

#[test]
fn a_unit_of_something_else_is_refused() {
    refuses("unit = \"GHz\"", "unit = \"GB\"", "\"GB\" does not fit here: expected \"MHz\" or \"GHz\"");
    let (_, reason, _) = refused("value = 1, unit = \"GHz\",", "value = 1,");
    assert_eq!(reason, "missing key 'clock.frequency.unit'");
}

#[test]
fn zero_width_and_other_numbers_out_of_range_are_refused() {
    refuses("link           = { value = 4", "link           = { value = 0", "0 bytes/cycle is out of range");
    refuses(
        "credits        = { value = 8",
        "credits        = { value = 0",
        "out of range: expected 1 to 65535 packets",
    );
    refuses("columns        = { value = 4", "columns        = { value = 65", "expected 1 to 64 routers");
    refuses("wire           = { value = 5", "wire           = { value = -5", "-5 cycles is out of range");
    refuses("wire           = { value = 5", "wire           = { value = nan", "no finite number");
    refuses(
        "wire           = { value = 5",
        "wire           = { value = 0.0001",
        "finer than the model counts",
    );
}

#[test]
fn two_clusters_at_one_position_are_refused() {
    refuses("[0, 1], [1, 1]", "[0, 1], [1, 0]", "clusters 1 and 5 are both at (1, 0)");
}

#[test]
fn a_place_that_no_route_reaches_is_refused() {
    refuses(
        "[0, 1], [1, 1]",
        "[0, 1], [7, 1]",
        "cluster 5 at (7, 1) is unreachable: the network has 4 columns and 4 rows",
    );
    refuses(
        "ports = { value = [[0, 0]]",
        "ports = { value = [[0, 4]]",
        "a port of io north at (0, 4) is unreachable",
    );
    refuses("ports = { value = [[0, 0]]", "ports = { value = []", "io north is unreachable");
}

#[test]
fn something_that_is_no_position_is_refused() {
    refuses("[0, 1], [1, 1]", "[0, 1], [1]", "[1] is no position: expected [column, row]");
    refuses("[0, 1], [1, 1]", "[0, 1], [1, -1]", "[1, -1] is no position");
    refuses("ports = { value = [[0, 0]]", "ports = { value = 3", "expected a list of positions");
}

#[test]
fn a_chip_without_clusters_is_refused() {
    let start = TEXT.find("positions = { value = [").unwrap();
    let end = start + TEXT[start..].find("\n]").unwrap() + 2;
    refuses(&TEXT[start..end], "positions = { value = []", "at least one cluster");
}

#[test]
fn numbers_that_contradict_each_other_are_refused() {
    refuses("ranks_max      = { value = 4", "ranks_max      = { value = 5", "5 ranks do not fit on 4 cores");
    refuses("usable         = { value = 1", "usable         = { value = 2", "more than the scratchpad's");
}

#[test]
fn a_shape_that_nobody_knows_is_refused() {
    let known = "\"ring\": expected \"mesh\", \"torus\", \"crossbar\", \"fat-tree\" or \"graph\"";
    refuses("shape = \"mesh\"", "shape = \"ring\"", known);
}

#[test]
fn a_default_for_costs_that_are_not_there_is_refused() {
    refuses("default_ipc = \"native\"", "default_ipc = \"nativ\"", "there is no section [ipc.nativ]");
}

#[test]
fn two_io_subsystems_of_one_name_are_refused() {
    let (_, reason, _) = refused("\n[power]", &format!("{}\n[power]", io_section()));
    assert!(reason.contains("another I/O subsystem \"north\""), "{reason}");
}

#[test]
fn two_ports_of_an_io_subsystem_at_one_router_are_refused() {
    refuses("value = [[0, 0]]", "value = [[0, 0], [0, 0]]", "two ports of io north are at (0, 0)");
}

#[test]
fn a_second_io_subsystem_is_one_more_place() {
    let second = io_section().replace("\"north\"", "\"south\"");
    let chip =
        Chip::from_toml(&TEXT.replace("\n[power]", &format!("{second}\n[power]")), "two.toml").unwrap();
    assert_eq!(chip.places(), 18);
    assert!(chip.facts.iter().any(|fact| fact.path == "io.south.ddr.read"));
}

#[test]
fn a_chip_without_io_is_a_chip() {
    let chip = Chip::from_toml(&TEXT.replace(io_section(), "\n"), "no-io.toml").unwrap();
    assert_eq!(chip.places(), 16);
}

#[test]
fn a_word_is_the_name_of_a_chip_or_of_a_file() {
    assert_eq!(Chip::find("mesh16").unwrap().name, "mesh16");
    let unknown = Chip::find("mesh61").unwrap_err().to_string();
    assert!(unknown.contains("did you mean 'mesh16'?"), "{unknown}");
    let unlike = Chip::find("toaster").unwrap_err().to_string();
    assert!(unlike.contains("mppa256-andey, mppa256-bostan, epiphany-iv, mesh16"), "{unlike}");
    let missing = Chip::find("no/such.toml").unwrap_err().to_string();
    assert!(missing.starts_with("no/such.toml: "), "{missing}");
}

/// The teaching chip's I/O subsystem, with its memory.
fn io_section() -> &'static str {
    let start = TEXT.find("\n[[io]]").unwrap();
    &TEXT[start..TEXT.find("\n[power]").unwrap()]
}

/// The teaching chip in another shape: what `[network]` says before its planes, how many clusters there are, and the links.
fn shaped(network: &str, clusters: u32, links: &str) -> Result<Chip, ChipError> {
    let without = |text: &str, from: &str, to: &str| {
        let start = text.find(from).unwrap();
        let end = start + text[start..].find(to).unwrap() + to.len();
        format!("{}{}", &text[..start], &text[end..])
    };
    let text = without(TEXT, "positions = {", "\n], from = \"chosen: a round number\" }\n");
    let text = without(&text, "ports = {", "}\n");
    let text = without(&text, "shape = \"mesh\"\n", "\n[network.data]");
    let chosen = "from = \"chosen: so\"";
    let count = format!("[cluster]\ncount = {{ value = {clusters}, unit = \"clusters\", {chosen} }}\n");
    let text = text
        .replace("[cluster]\n", &count)
        .replace("[network]\n", &format!("[network]\n{network}\n\n[network.data]"));
    Chip::from_toml(&format!("{text}\n{links}").replace("CHOSEN", chosen), "my.toml")
}

/// Why such a chip is refused.
fn shape_refused(network: &str, clusters: u32, links: &str) -> String {
    shaped(network, clusters, links).expect_err("it is refused").reason
}

#[test]
fn a_crossbar_and_a_fat_tree_take_a_count_of_clusters() {
    let chip = shaped("shape = \"crossbar\"", 639, "").unwrap();
    assert_eq!((chip.clusters(), chip.places()), (639, 640));
    let tree = "shape = \"fat-tree\"\narity = { value = 4, unit = \"links\", CHOSEN }\nlevels = { value = 3, unit = \"levels\", CHOSEN }";
    let chip = shaped(tree, 63, "").unwrap();
    assert_eq!((chip.network.columns, chip.network.rows), (16, 3));
    assert_eq!(chip.ports(Place(63)), [Position { x: 15, y: 0 }]);
    assert_eq!(
        shape_refused(tree, 64, ""),
        "io.north.name: there is no room for place 64: the network has 64"
    );
    let deep = tree.replace("value = 3", "value = 12");
    assert!(shape_refused(&deep, 4, "").starts_with("network.levels: 12 levels of 4 links are more"));
}

/// Three places and a switch in a star.
const STAR: &str = "
[[link]]
from = \"cluster 0\"
to = \"switch 0\"
bandwidth = { value = 2000, unit = \"GB/s\", CHOSEN }
latency = { value = 7.5, unit = \"ns\", CHOSEN }
back.bandwidth = { value = 1, unit = \"GB/s\", CHOSEN }
[[link]]
from = \"cluster 1\"
to = \"switch 0\"
[[link]]
from = \"io north\"
to = \"switch 0\"
";

const ONE_SWITCH: &str = "switches = { value = 1, unit = \"switches\", CHOSEN }";

#[test]
fn a_list_of_links_is_a_graph_with_rates_of_its_own_each_way() {
    let chip = shaped(ONE_SWITCH, 2, STAR).unwrap();
    assert_eq!((chip.network.shape, chip.network.columns), (Shape::Graph, 4));
    // At 1 GHz, 2000 bytes pass in a cycle of a thousand ticks.
    let there =
        Link { from: 0, to: 3, per_byte: Some(Rate::from_steps(Rate::STEPS / 2)), latency: Some(7500) };
    let back = Link { from: 3, to: 0, per_byte: Some(Rate::ticks(1000)), latency: None };
    assert_eq!(chip.links[..2], [there, back]);
    let usual = Link { from: 1, to: 3, per_byte: None, latency: None };
    assert_eq!(chip.links[2..4], [usual, Link { from: 3, to: 1, ..usual }]);
    let words = Chip::from_words(&chip.to_words()).unwrap();
    assert_eq!((words.network, words.links), (chip.network, chip.links));
}

/// Two nodes of a card and a host at a switch.
const NODES: &str = "
[[place]]
name = \"host\"
count = { value = 2, unit = \"places\", CHOSEN }
cores = { value = 4, unit = \"cores\", CHOSEN }
ranks_max = { value = 4, unit = \"ranks\", CHOSEN }
memory = { value = 1, unit = \"GiB\", CHOSEN }
[[place]]
name = \"adapter\"
count = { value = 2, unit = \"places\", CHOSEN }
[[link]]
from = \"cluster\"
to = \"adapter\"
bandwidth = { value = 1, unit = \"GB/s\", CHOSEN }
[[link]]
from = \"host\"
to = \"adapter\"
[[link]]
from = \"adapter\"
to = \"switch 0\"
[[link]]
from = \"io north\"
to = \"switch 0\"
";

#[test]
fn places_of_further_kinds_follow_the_io_subsystems_and_are_linked_by_number() {
    let chip = shaped(ONE_SWITCH, 2, NODES).unwrap();
    assert_eq!((chip.clusters(), chip.places(), chip.network.columns), (2, 7, 8));
    let names: Vec<String> = (0..7).map(|place| chip.name_of(Place(place))).collect();
    assert_eq!(names, ["cluster 0", "cluster 1", "io north", "host 0", "host 1", "adapter 0", "adapter 1"]);
    let ends: Vec<(u16, u16)> = chip.links.iter().step_by(2).map(|link| (link.from, link.to)).collect();
    assert_eq!(ends, [(0, 5), (1, 6), (3, 5), (4, 6), (5, 7), (6, 7), (2, 7)]);
    assert_eq!((chip.kind_at(Place(4)), chip.place_of_kind(1, 1)), (Some((0, 1)), Some(Place(6))));
    let words = Chip::from_words(&chip.to_words()).unwrap();
    assert_eq!((words.kinds, words.links, words.ipc), (chip.kinds, chip.links, chip.ipc));
}

#[test]
fn ranks_run_on_the_kinds_that_were_chosen() {
    let mut chip = shaped(ONE_SWITCH, 2, NODES).unwrap();
    let clusters = chip.ranks_max();
    chip.run_on("host").unwrap();
    assert_eq!(chip.homes(), [Home { first: Place(3), places: 2, each: 4 }]);
    chip.run_on("host,cluster").unwrap();
    assert_eq!(chip.ranks_max(), 2 * clusters.min(8));
    assert_eq!(chip.run_on("adapter").unwrap_err(), "\"adapter\", expected one of: cluster host");
    assert_eq!(chip.use_software("fast").unwrap_err(), "\"fast\", expected one of: native");
}

#[test]
fn kinds_of_places_with_one_name_and_links_between_unequal_numbers_are_refused() {
    let refused = |old: &str, new: &str| shape_refused(ONE_SWITCH, 2, &NODES.replace(old, new));
    assert_eq!(
        refused("name = \"adapter\"", "name = \"host\""),
        "place.name: there is another kind of places \"host\""
    );
    let reason =
        refused("name = \"adapter\"\ncount = { value = 2", "name = \"adapter\"\ncount = { value = 3");
    assert_eq!(reason, "link.0.to: 2 ends meet 3: expected as many, or one");
    assert_eq!(
        refused("ranks_max = { value = 4", "ranks_max = { value = 5"),
        "place.host.ranks_max: 5 ranks do not fit on 4 cores"
    );
}

#[test]
fn a_set_of_costs_that_is_like_another_says_what_differs_and_so_does_a_kind_of_places() {
    let chip = Chip::builtin("xeonphi-ib8").unwrap();
    let [direct, dcfa, intel] =
        ["dcfa-direct", "dcfa", "intel-phi"].map(|set| chip.ipc(set).unwrap().clone());
    assert_eq!((dcfa.cluster.post, dcfa.kinds[0].post), (direct.cluster.post, direct.kinds[0].post));
    assert!(intel.cluster.post > direct.cluster.post && intel.cluster.adapter == direct.cluster.adapter);
    let shadow = |set: &Ipc| set.cluster.adapter.unwrap().shadow.map(|shadow| shadow.min);
    assert_eq!((shadow(&direct), shadow(&dcfa)), (None, Some(8192)));
    let host = chip.costs(&dcfa, chip.place_of_kind(0, 3).unwrap());
    assert!(host.post < dcfa.cluster.post && host.eager_max == dcfa.cluster.eager_max);
    let unknown = include_str!("../../../../chips/xeonphi-ib8.toml")
        .replace("[ipc.dcfa]\nlike = \"dcfa-direct\"", "[ipc.dcfa]\nlike = \"dcfa-shadow\"");
    let reason = Chip::from_toml(&unknown, "my.toml").unwrap_err().reason;
    assert_eq!(reason, "ipc.dcfa.like: there is no section [ipc.dcfa-shadow] before this one");
}

#[test]
fn a_graph_that_is_not_connected_is_refused() {
    let cut = STAR.rsplit_once("[[link]]").unwrap().0;
    let reason = shape_refused(ONE_SWITCH, 2, cut);
    assert_eq!(reason, "link: there is no way from cluster 0 to io north of at most 250 links");
    assert!(shape_refused(ONE_SWITCH, 3, STAR).contains("no way from cluster 0 to cluster 2"));
}

#[test]
fn links_with_unknown_ends_and_links_of_other_shapes_are_refused() {
    let reason = shape_refused(ONE_SWITCH, 2, &STAR.replace("cluster 1", "cluster 2"));
    let known = "\"cluster 0\" to \"cluster 1\", \"switch 0\" to \"switch 0\", \"io north\"";
    assert_eq!(reason, format!("link.1.from: \"cluster 2\" is no end of a link: expected {known}"));
    let reason = shape_refused("shape = \"crossbar\"", 2, STAR);
    assert_eq!(reason, "link: a crossbar has its links by its shape: expected shape = \"graph\"");
}

#[test]
fn times_and_rates_may_be_in_seconds() {
    let text = TEXT.replacen(
        "wire           = { value = 5, unit = \"cycles\"",
        "wire           = { value = 5, unit = \"ns\"",
        1,
    );
    let half = text.replacen("value = 1, unit = \"GHz\"", "value = 500, unit = \"MHz\"", 1);
    assert_eq!(Chip::from_toml(&text, "a").unwrap().network.data.wire, 5000);
    assert_eq!(Chip::from_toml(&half, "a").unwrap().network.data.wire, 2500);
    let wide = TEXT.replacen(
        "link           = { value = 4, unit = \"bytes/cycle\"",
        "link           = { value = 16000, unit = \"GB/s\"",
        1,
    );
    assert_eq!(
        Chip::from_toml(&wide, "a").unwrap().network.data.flit_time,
        Rate::from_steps(Rate::STEPS / 4)
    );
    refuses(
        "receive        = { value = 0.25, unit = \"cycles/byte\"",
        "receive        = { value = 0, unit = \"GB/s\"",
        "0 GB/s is out of range",
    );
}

const CHANNELS: &str =
    "channels       = { value = 4, unit = \"channels\", from = \"chosen: a round number\" }";

/// The provenance of the number of channels, written like this.
fn provenance(written: &str) -> Provenance {
    let entry = format!("channels = {{ value = 4, unit = \"channels\", {written} }}");
    let chip = Chip::from_toml(&TEXT.replace(CHANNELS, &entry), "my.toml").unwrap();
    chip.facts.into_iter().find(|fact| fact.path == "dma.channels").unwrap().provenance
}

#[test]
fn a_number_says_by_which_figures_it_was_set_or_which_its_choice_knew() {
    let calibrated = provenance("calibrated = \"a law\", by = [\"x.K\", \"x.h\"]");
    assert_eq!(calibrated.figures(), ["x.K", "x.h"]);
    assert_eq!(calibrated.to_string(), "calibrated: a law (x.K, x.h)");
    let chosen = provenance("from = \"chosen: it looks good\", knowing = [\"x.K\"]");
    assert_eq!(chosen, Provenance::Chosen { why: "it looks good".into(), knowing: vec!["x.K".into()] });
    assert_eq!(provenance("from = \"a manual\"").figures(), [] as [&str; 0]);
}

#[test]
fn figures_beside_what_is_published_are_refused() {
    let beside = |words: &str| format!("channels = {{ value = 4, unit = \"channels\", {words} }}");
    refuses(CHANNELS, &beside("from = \"a manual\", by = [\"x\"]"), "unknown key 'dma.channels.by'");
    refuses(CHANNELS, &beside("calibrated = \"a law\", by = []"), "is empty");
    refuses(CHANNELS, &beside("calibrated = \"a law\", by = \"x\""), "expected a list of names");
}

const FREE: &str = "
[[free]]
section = \"dma\"
what = \"how much is set up at once\"
sums = [[\"channels\", \"piece\"]]
decides = [\"x.K\"]
low = { channels = 2, piece = LOW }
high = { channels = 6, piece = HIGH }
";

#[test]
fn a_free_division_changes_its_numbers_and_keeps_their_sum() {
    let piece: u64 = {
        let chip = Chip::builtin("mesh16").unwrap();
        chip.dma.piece / CYCLE
    };
    let free = FREE.replace("LOW", &(piece + 2).to_string()).replace("HIGH", &piece.to_string());
    let text = format!("{TEXT}{free}");
    let chip = Chip::from_toml(&text, "free.toml").unwrap();
    let [division] = &chip.free[..] else { panic!("{:?}", chip.free) };
    assert_eq!((division.section.as_str(), &division.decides[..]), ("dma", &["x.K".to_string()][..]));
    let low = division.apply(End::Low, &text, &chip.facts).unwrap();
    let changed = Chip::from_toml(&low, "low.toml").unwrap();
    assert_eq!((changed.dma.channels, changed.dma.piece), (2, (piece + 2) * CYCLE));
    assert_eq!(changed.network, chip.network);
    let refused = division.apply(End::High, &text, &chip.facts).unwrap_err();
    assert!(refused.contains("the sum of dma.channels, dma.piece"), "{refused}");
}

#[test]
fn the_free_divisions_of_every_chip_keep_their_sums() {
    for (name, text) in BUILTIN {
        let chip = Chip::builtin(name).unwrap();
        for division in &chip.free {
            for end in [End::Low, End::High] {
                let changed =
                    division.apply(end, text, &chip.facts).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_ne!(changed, text, "{name}");
                Chip::from_toml(&changed, name).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }
}

#[test]
fn a_file_of_numbers_gives_facts_and_wants_provenance() {
    let facts = numbers("[\"a.c\"]\nN = { value = 3, unit = \"cycles\", from = \"chosen: so\" }\n", "n.toml")
        .unwrap();
    assert_eq!((facts[0].path.as_str(), facts[0].value.as_str()), ("a.c.N", "3"));
    let refused = numbers("[run]\nN = { value = 3 }\n", "n.toml").unwrap_err();
    assert_eq!((refused.line, refused.reason.contains("without provenance")), (2, true), "{refused}");
}

#[test]
fn buffers_that_have_no_room_or_could_wait_for_each_other_for_ever_are_refused() {
    let credits = "credits        = { value = 8, unit = \"packets\"";
    let described = |flits: u32, channels: u32| {
        format!(
            "buffers = {{ value = {flits}, unit = \"flits\", from = \"chosen\" }}\nchannels = {{ value = {channels}, unit = \"channels\", from = \"chosen\" }}\n{credits}"
        )
    };
    let with = |text: &str, flits, channels| {
        Chip::from_toml(&text.replace(credits, &described(flits, channels)), "my.toml")
    };
    let buffers = |text: &str, flits, channels| with(text, flits, channels).unwrap().network.buffers;
    assert_eq!(Chip::builtin("mesh16").unwrap().network.buffers, None);
    assert_eq!(buffers(TEXT, 100, 1), Some(Buffers { flits: 100, channels: 1 }));
    let torus = TEXT.replace("shape = \"mesh\"", "shape = \"torus\"");
    assert_eq!(buffers(&torus, 250, 4), Some(Buffers { flits: 250, channels: 4 }));
    for (text, flits, channels, words) in [
        (TEXT, 99, 1, "network.data.buffers: 99 flits have no room for a packet: expected at least 100"),
        (&torus, 100, 1, "channels: 1 channels on a torus"),
        (&torus, 100, 3, "expected a multiple of 2"),
    ] {
        let reason = with(text, flits, channels).unwrap_err().reason;
        assert!(reason.contains(words), "expected '{words}' in '{reason}'");
    }
    let alone = format!("channels = {{ value = 2, unit = \"channels\", from = \"chosen\" }}\n{credits}");
    assert_eq!(refused(credits, &alone).1, "missing key 'network.data.buffers'");
}

#[test]
fn a_graph_whose_ways_form_a_circle_has_no_finite_buffers() {
    let mut chip = Chip::builtin("mesh16").unwrap();
    chip.io.clear();
    chip.positions = (0..4).map(|x| Position { x, y: 0 }).collect();
    (chip.network.shape, chip.network.columns, chip.network.rows) = (Shape::Graph, 4, 1);
    let link = |from, to| Link { from, to, per_byte: None, latency: None };
    let buffers = Some(Buffers { flits: 100, channels: 2 });
    chip.links = vec![link(0, 1), link(1, 2), link(2, 3), link(3, 0)];
    let reason = chip.set_buffers(buffers).unwrap_err();
    assert!(reason.contains("the ways over router of cluster "), "{reason}");
    // A line, both ways, has none.
    chip.links = vec![link(0, 1), link(1, 0), link(1, 2), link(2, 1), link(2, 3), link(3, 2)];
    assert_eq!(chip.set_buffers(buffers), Ok(()));
    let read = Chip::from_words(&chip.to_words()).expect("a chip");
    assert_eq!(read.network.buffers, buffers);
}

#[test]
fn multicast_is_left_out_where_its_copies_would_wait_for_buffers_and_refused_where_they_would_meet_again() {
    let credits = "credits        = { value = 8, unit = \"packets\"";
    let number =
        |key: &str, unit: &str| format!("{key} = {{ value = 4, unit = \"{unit}\", from = \"chosen\" }}\n");
    let section = format!(
        "[network.data.multicast]\n{}{}{}",
        number("setup", "cycles"),
        number("copy", "cycles"),
        number("destinations", "places")
    );
    let with = |text: &str| Chip::from_toml(&format!("{text}\n{section}"), "my.toml");
    let chip = with(TEXT).unwrap();
    let four = Multicast { setup: 4 * CYCLE, copy: 4 * CYCLE, destinations: 4 };
    assert_eq!((chip.network.data.multicast, chip.network.control.multicast), (Some(four), None));
    assert!(!chip.has_multicast(), "letters are not copied");
    let finite = format!("{}{}{credits}", number("buffers", "flits"), number("channels", "channels"));
    let finite = TEXT
        .replace(credits, &finite.replace("value = 4, unit = \"flits\"", "value = 100, unit = \"flits\""));
    assert_eq!(with(&finite).unwrap().network.data.multicast, None, "what is not modelled is not there");
    let mut buffered = chip;
    buffered.set_buffers(Some(Buffers { flits: 100, channels: 1 })).unwrap();
    assert_eq!(buffered.network.data.multicast, None, "what is not modelled is not there");
    let words = Chip::from_words(&with(TEXT).unwrap().to_words()).expect("a chip");
    assert_eq!(words.network.data.multicast, Some(four));
    let mut graph = with(TEXT).unwrap();
    graph.network.shape = Shape::FatTree { arity: 4 };
    assert!(Chip::from_words(&graph.to_words()).is_none(), "ways of a tree may meet again");
}
