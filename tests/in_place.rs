//! MPI_IN_PLACE: what `spec/` says of it is what the functions do.
//!
//! A program made from the spec passes it in place of every buffer of every collective and point-to-point function, with nonsense in
//! what is then not significant: the call succeeds where the spec allows it, and is MPI_ERR_BUFFER with the argument's name elsewhere.

use std::fmt::Write;
use std::fs;

use serde_json::Value;

use crate::support::{MODES, compile, on, root, scratch};

/// What this library does not have yet, and what attaches memory instead of sending data.
fn is_exempt(function: &Value) -> bool {
    name(function).starts_with("MPI_Isendrecv") || name(function).to_lowercase().contains("buffer")
}

#[test]
fn in_place_is_taken_where_the_spec_has_it_and_refused_by_name_elsewhere() {
    let mut cases = String::new();
    let mut number = 0;
    for chapter in ["03-p2p", "06-collectives"] {
        let text =
            fs::read_to_string(root().join(format!("spec/functions/{chapter}.json"))).expect("the spec");
        let functions: Vec<Value> = serde_json::from_str(&text).expect("the spec's form");
        for function in functions.iter().filter(|function| !is_exempt(function)) {
            for buffer in params(function).iter().filter(|param| param["kind"] == "BUFFER") {
                number += 1;
                case(&mut cases, function, buffer);
            }
        }
    }
    assert!(number > 150, "{number} cases");
    let source = scratch("in-place").join("in_place.c");
    let program = include_str!("c/in_place.c.in").replace("@CASES@", &cases);
    fs::write(&source, program).expect("a file below the build directory");
    let product = source.with_extension("");
    let headers = format!("-I{}", root().join("tests/c").display());
    compile(&source, &product, &[&headers]);
    for mode in MODES {
        on(mode, 2, &product).run().expect_success().expect_output("no errors\n");
    }
}

/// The statements that try one buffer of a function.
fn case(out: &mut String, function: &Value, buffer: &Value) {
    let name = name(function);
    let label = buffer["name"].as_str().expect("a name");
    let arguments: Vec<String> = params(function).iter().map(|param| argument(param, label)).collect();
    let call = format!("{name}({})", arguments.join(", "));
    let starts = name.contains("_init");
    match buffer["in_place"].as_str() {
        Some(place) => {
            writeln!(out, "    comm = own; ACCEPTED({call}, {});", i32::from(starts)).expect("a string");
            if place == "root" {
                // Not at the others; the error is found before anything is sent.
                writeln!(out, "    comm = both; if (rank == 1) REFUSED({call}, \"{label}\");")
                    .expect("a string");
            }
        }
        None => writeln!(out, "    comm = own; REFUSED({call}, \"{label}\");").expect("a string"),
    }
}

fn argument(param: &Value, in_place: &str) -> String {
    let text = |key: &str| param[key].as_str().unwrap_or_default();
    let array = param.get("length").is_some();
    let large = text("ctype").contains("MPI_Count") || text("ctype").contains("MPI_Aint");
    let ignored = text("ignored_with") == in_place;
    match text("kind") {
        "BUFFER" if text("name") == in_place => "MPI_IN_PLACE",
        "BUFFER" if text("name").contains("send") || text("name").contains("in") => "one",
        "BUFFER" => "other",
        "DATATYPE" if ignored && !array => "MPI_DATATYPE_NULL",
        _ if ignored && array => "NULL",
        _ if ignored => "-5",
        "DATATYPE" if array => "types",
        "DATATYPE" => "MPI_INT",
        "POLYDISPLACEMENT" if large => "large_zeros",
        "POLYDISPLACEMENT" => "zeros",
        kind if kind.contains("NUM_ELEM") && array && large => "large_ones",
        kind if kind.contains("NUM_ELEM") && array => "ones",
        kind if kind.contains("NUM_ELEM") => "1",
        "OPERATION" => "MPI_SUM",
        "RANK" if text("name") == "root" => "0",
        "RANK" => "MPI_PROC_NULL",
        "TAG" => "5",
        "COMMUNICATOR" => "comm",
        "INFO" => "MPI_INFO_NULL",
        "REQUEST" => "&request",
        "MESSAGE" => "&message",
        "STATUS" => "MPI_STATUS_IGNORE",
        // The displacements of the w-forms.
        _ if array && large => "large_zeros",
        _ if array => "zeros",
        kind => panic!("no argument for a parameter of the kind {kind}"),
    }
    .to_owned()
}

fn name(function: &Value) -> &str {
    function["name"].as_str().expect("a function has a name")
}

fn params(function: &Value) -> &Vec<Value> {
    function["params"].as_array().expect("a function has parameters")
}
