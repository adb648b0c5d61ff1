//! How a parameter becomes what an implementation takes, by its kind.
//!
//! Each parameter yields a statement that checks and converts it, and the expression that is passed on. The functions that
//! the statements call (`call.comm`, `call.count`, …) are `capi`'s conversion layer; this file only chooses among them.
//! Statements run in four stages, since a later one may need an earlier one's result: handles and numbers, then what is
//! significant at the root, then arrays, whose length is one of the numbers, then buffers, which need count and datatype.

use super::ctype::{CType, rust_name};
use crate::spec::{Direction, Function, InPlace, Param, Spec};

/// A conversion: when, what, and the resulting argument.
pub struct Conversion {
    pub stage: u8,
    pub statement: String,
    pub argument: String,
}

/// The conversions of a function's parameters, in their order.
pub fn conversions(spec: &Spec, function: &Function) -> Vec<Conversion> {
    let shape = Shape { spec, function };
    function.params.iter().filter(|param| !param.is_variadic()).map(|param| shape.convert(param)).collect()
}

/// Whether a statement tests `at_root`.
pub fn needs_root(function: &Function) -> bool {
    function.params.iter().any(|param| param.root_only)
        && function.params.iter().any(|param| param.name == "root")
}

/// Whether a parameter is an array of numbers, which the conversion layer reads in either width.
pub fn is_number_array(param: &Param) -> bool {
    param.dir == Direction::In && param.length.is_some() && (is_number(&param.kind) || is_count(&param.kind))
}

struct Shape<'a> {
    spec: &'a Spec,
    function: &'a Function,
}

/// How long an array is, in terms of the other parameters.
enum Length {
    None,
    /// An expression of type `usize`.
    Known(String),
    /// Only the implementation can tell.
    Unknown,
}

impl Shape<'_> {
    fn convert(&self, param: &Param) -> Conversion {
        let name = rust_name(param);
        let ctype = CType::parse(&param.ctype);
        let plain = Conversion { stage: 0, statement: String::new(), argument: name.clone() };
        if param.kind == "BUFFER" || param.kind == "C_BUFFER" && self.function.name.starts_with("MPI_T_") {
            return self.buffer(param, &name);
        }
        let statement = if ctype.is_pointer() { self.pointer(param, &ctype) } else { self.scalar(param) };
        let Some((stage, expression)) = statement else { return plain };
        let expression = self.at_root(param, stage, expression);
        let by_reference = !ctype.is_pointer()
            && matches!(handle(&param.kind), Some(method) if method != "info")
            && !param.root_only
            && !param.or_null;
        Conversion {
            stage,
            statement: format!("let {name} = {expression};"),
            argument: if by_reference { format!("&{name}") } else { name },
        }
    }

    fn scalar(&self, param: &Param) -> Option<(u8, String)> {
        let name = rust_name(param);
        let label = &param.name;
        if let Some(method) = handle(&param.kind) {
            let given = match self.ignored_with(param) {
                Some(buffer) => format!("call::unless_in_place({buffer}, {name})"),
                None => name.clone(),
            };
            let given = match (self.silence(param), neutral(&param.kind)) {
                (Some(silence), Some(neutral)) => format!("if {silence} {{ {neutral} }} else {{ {given} }}"),
                _ => given,
            };
            let found = format!("call.{method}(\"{label}\", {given})?");
            let expression = match null(&param.kind) {
                Some(null) if param.or_null => {
                    format!("if {name} == {null} {{ None }} else {{ Some({found}) }}")
                }
                _ => found,
            };
            return Some((u8::from(param.root_only), expression));
        }
        let expression = match param.kind.as_str() {
            "RANK" | "RANK_NNI" => format!("RankArg {{ name: \"{label}\", value: {name} }}"),
            "TAG" => format!("TagArg {{ name: \"{label}\", value: {name} }}"),
            "LOGICAL" => format!("{name} != 0"),
            kind if is_length(kind) => format!("call.length(\"{label}\", {name})?"),
            kind if is_count(kind) => match self.ignored_with(param) {
                Some(buffer) => {
                    format!(
                        "if call::in_place({buffer}) {{ 0 }} else {{ call.count(\"{label}\", {name} as i64)? }}"
                    )
                }
                None => format!("call.count(\"{label}\", {name} as i64)?"),
            },
            kind if is_number(kind) => format!("{name} as i64"),
            _ => return None,
        };
        let expression = match self.silence(param) {
            Some(silence) if is_count(&param.kind) => format!("if {silence} {{ 0 }} else {{ {expression} }}"),
            _ => expression,
        };
        Some((u8::from(param.root_only), expression))
    }

    /// When a parameter of a collective with a root means nothing, because of what this process is on an intercommunicator (MPI section
    /// 6.2.3): beside the root none does; at the root, those of the data that the other group sends or gets do not. Or because the spec says when.
    fn silence<'a>(&self, param: &'a Param) -> Option<&'a str> {
        if let Some(condition) = &param.ignored_if {
            return Some(condition);
        }
        let is_rooted = self.function.params.iter().any(|other| other.name == "root");
        let has_data = self.function.params.iter().any(|other| other.kind == "BUFFER");
        if !is_rooted || !has_data || param.root_only {
            return None;
        }
        let two_sided = self.function.params.iter().any(|other| other.root_only && other.kind == "DATATYPE");
        Some(if two_sided { "root < 0" } else { "root == MPI_PROC_NULL" })
    }

    fn pointer(&self, param: &Param, ctype: &CType<'_>) -> Option<(u8, String)> {
        let name = rust_name(param);
        let label = &param.name;
        let length = self.length(param);
        let number = is_number(&param.kind) || is_count(&param.kind);
        let expression = match (param.kind.as_str(), param.dir, length) {
            ("STRING", Direction::Out, Length::Unknown) if param.or_null => {
                let length = param.length.as_deref().unwrap_or_default().trim_start_matches('*');
                format!("call.out_text({name}, {length})")
            }
            // Seen to with the string itself.
            ("STRING_LENGTH", ..) if param.or_null => return None,
            (_, Direction::Out, Length::None) if param.or_null => format!("call.out_or_null({name})"),
            (_, Direction::Inout, Length::None) if param.or_null => format!("call.cell_or_null({name})"),
            ("STATUS", Direction::Out, Length::None) => format!("StatusOut::new({name})"),
            ("STATUS", Direction::Out, Length::Known(length)) => {
                format!("StatusesOut::new({name}, {length})")
            }
            ("STRING", Direction::In, _) => format!("call.string(\"{label}\", {name})?"),
            ("STRING", Direction::Out, Length::Known(length)) => {
                format!("call.out_string(\"{label}\", {name}, {length})?")
            }
            ("ATTRIBUTE_VAL" | "ATTRIBUTE_VAL_10" | "C_BUFFER" | "C_BUFFER2", Direction::Out, _) => {
                format!("call.out(\"{label}\", {name}.cast::<*mut c_void>())?")
            }
            // Their number is known at the root only.
            ("ERROR_CODE", Direction::Out, Length::Known(_)) => return None,
            (_, _, Length::Unknown) => return None,
            // MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY are addresses of nothing.
            ("WEIGHT", ..) if ctype.stars == 0 => return None,
            _ if ctype.stars > 0 && ctype.base == "void" => return None,
            _ if ctype.stars + usize::from(!ctype.array.is_empty()) > 1 => return None,
            _ if self.spec.callbacks().any(|entry| entry.name == ctype.base) => return None,
            (kind, Direction::In, Length::Known(length)) if number => {
                let method = if is_count(kind) { "counts" } else { "numbers" };
                format!("call.{method}(\"{label}\", {name}, {length})?")
            }
            (_, Direction::In, Length::Known(length)) => {
                format!("call.slice(\"{label}\", {name}, {length})?")
            }
            (_, Direction::Out, Length::Known(length)) => {
                format!("call.outs(\"{label}\", {name}, {length})?")
            }
            (_, Direction::Inout, Length::Known(length)) => {
                format!("call.cells(\"{label}\", {name}, {length})?")
            }
            (_, Direction::Out, Length::None) if number => format!("call.out_number(\"{label}\", {name})?"),
            (_, Direction::Inout, Length::None) if number => {
                format!("call.number_cell(\"{label}\", {name})?")
            }
            (_, Direction::Out, Length::None) => format!("call.out(\"{label}\", {name})?"),
            ("STATUS", Direction::In, Length::None) => format!("call.input(\"{label}\", {name})?"),
            ("ARGUMENT_COUNT", ..) => return None,
            (_, Direction::Inout | Direction::In, Length::None) => format!("call.cell(\"{label}\", {name})?"),
        };
        Some(match self.ignored_with(param) {
            Some(buffer) => {
                (2, format!("if call::in_place({buffer}) {{ Default::default() }} else {{ {expression} }}"))
            }
            None => (2, expression),
        })
    }

    fn is_among_neighbors(&self) -> bool {
        self.function.name.to_lowercase().contains("neighbor_")
    }

    /// Null is refused where it cannot be right; with array counts only the implementation knows. MPI_IN_PLACE is refused where the
    /// spec does not have it.
    fn buffer(&self, param: &Param, name: &str) -> Conversion {
        let index = self.position(param);
        let after = &self.function.params[index + 1..];
        let scalar = |param: &&Param| !CType::parse(&param.ctype).is_pointer();
        let described = after.iter().find(|param| is_count(&param.kind));
        let count = described.filter(scalar);
        let datatype = after.iter().find(|param| param.kind == "DATATYPE").filter(scalar);
        let label = &param.name;
        let address =
            if CType::parse(&param.ctype).constant { format!("{name}.cast_mut()") } else { name.to_owned() };
        let unchecked = format!("Buf::new({address})");
        // Without neighbours there are no blocks, whatever the count.
        let elements = |count: &Param| match label.as_str() {
            "sendbuf" if self.is_among_neighbors() => format!("comm.blocks_out({})", rust_name(count)),
            "recvbuf" if self.is_among_neighbors() => format!("comm.blocks_in({})", rust_name(count)),
            _ => rust_name(count),
        };
        let checked = match (count, datatype) {
            (Some(count), Some(datatype)) => {
                let reference = if datatype.root_only {
                    rust_name(datatype)
                } else {
                    format!("Some(&{})", rust_name(datatype))
                };
                format!("call.buffer(\"{label}\", {address}, {}, {reference})?", elements(count))
            }
            (Some(count), None) => format!("call.bytes(\"{label}\", {address}, {})?", rust_name(count)),
            _ if described.is_some() => format!("call.parts(\"{label}\", {address})?"),
            _ => unchecked.clone(),
        };
        let expression = match param.in_place {
            Some(InPlace::All) => {
                format!("if call::in_place({name}) {{ {unchecked} }} else {{ {checked} }}")
            }
            Some(InPlace::Root) => {
                format!(
                    "if at_root && (call::in_place({name}) || root.value < 0) {{ {unchecked} }} else {{ {checked} }}"
                )
            }
            None if param.root_only && needs_root(self.function) => {
                format!("if at_root {{ {checked} }} else {{ {unchecked} }}")
            }
            None => checked,
        };
        Conversion { stage: 3, statement: format!("let {name} = {expression};"), argument: name.to_owned() }
    }

    fn position(&self, param: &Param) -> usize {
        self.function.params.iter().position(|other| other.name == param.name).unwrap_or(0)
    }

    /// The buffer with which a parameter is not significant if that is MPI_IN_PLACE.
    fn ignored_with(&self, param: &Param) -> Option<String> {
        let buffer = param.ignored_with.as_ref()?;
        self.function.params.iter().find(|other| other.name == *buffer).map(rust_name)
    }

    /// What counts at the root only may be anything elsewhere, a stale handle too: it is not looked at there.
    fn at_root(&self, param: &Param, stage: u8, expression: String) -> String {
        if !param.root_only || !needs_root(self.function) {
            return expression;
        }
        match stage {
            1 if handle(&param.kind).is_some() => {
                format!("if at_root {{ Some({expression}) }} else {{ None }}")
            }
            1 => format!("if at_root {{ {expression} }} else {{ 0 }}"),
            _ => format!("if at_root {{ {expression} }} else {{ Default::default() }}"),
        }
    }

    fn length(&self, param: &Param) -> Length {
        let Some(text) = param.length.as_deref() else { return Length::None };
        let text = text.strip_suffix(" x 3").unwrap_or(text);
        if text.starts_with("MPI_MAX_") {
            return Length::Known(format!("{text} as usize"));
        }
        for method in ["peer_size", "local_size", "indegree", "outdegree", "ndims"] {
            let inner = text.strip_prefix(method).and_then(|rest| rest.strip_prefix('('));
            if let Some(comm) = inner.and_then(|rest| rest.strip_suffix(')')) {
                return Length::Known(format!("{comm}.{method}()"));
            }
        }
        match self.function.params.iter().find(|other| other.name == text) {
            Some(other) if !CType::parse(&other.ctype).is_pointer() && is_length(&other.kind) => {
                Length::Known(rust_name(other))
            }
            Some(other) if !CType::parse(&other.ctype).is_pointer() => {
                Length::Known(format!("{} as usize", rust_name(other)))
            }
            _ => Length::Unknown,
        }
    }
}

/// The conversion of a handle given by value. Messages stay as they are.
fn handle(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "COMMUNICATOR" => "comm",
        "GROUP" => "group",
        "DATATYPE" => "datatype",
        "OPERATION" => "op",
        "INFO" => "info",
        "ERRHANDLER" => "errhandler",
        "FILE" => "file",
        "SESSION" => "session",
        "WINDOW" => "window",
        _ => return None,
    })
}

/// The null handle of a kind that the conversion layer looks up.
fn null(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "COMMUNICATOR" => "MPI_COMM_NULL",
        "DATATYPE" => "MPI_DATATYPE_NULL",
        "FILE" => "MPI_FILE_NULL",
        "GROUP" => "MPI_GROUP_NULL",
        "WINDOW" => "MPI_WIN_NULL",
        _ => return None,
    })
}

/// A handle of a kind that serves where it means nothing.
fn neutral(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "DATATYPE" => "MPI_BYTE",
        "OPERATION" => "MPI_SUM",
        _ => return None,
    })
}

/// Lengths of the call's own arrays: never negative, and an index in Rust.
fn is_length(kind: &str) -> bool {
    matches!(
        kind,
        "ARRAY_LENGTH"
            | "ARRAY_LENGTH_NNI"
            | "ARRAY_LENGTH_PI"
            | "COMM_SIZE"
            | "DEGREE"
            | "NUM_DIMS"
            | "POLYNUM_PARAM_VALUES"
    )
}

/// Counts that must not be negative, 64 bits wide from here on.
fn is_count(kind: &str) -> bool {
    matches!(
        kind,
        "POLYXFER_NUM_ELEM"
            | "POLYXFER_NUM_ELEM_NNI"
            | "XFER_NUM_ELEM_NNI"
            | "POLYDTYPE_NUM_ELEM_NNI"
            | "POLYDTYPE_NUM_ELEM_PI"
            | "POLYNUM_BYTES_NNI"
            | "ALLOC_MEM_NUM_BYTES"
    )
}

/// Numbers of any sign whose width differs between the forms of a function.
fn is_number(kind: &str) -> bool {
    kind.starts_with("POLYD")
        || matches!(
            kind,
            "POLYLOCATION"
                | "POLYNUM_BYTES"
                | "XFER_NUM_ELEM"
                | "NUM_BYTES"
                | "POLYRMA_DISPLACEMENT"
                | "WINDOW_SIZE"
        )
}
