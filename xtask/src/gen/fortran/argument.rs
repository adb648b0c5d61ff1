//! What a function's parameters are in Fortran: their part in the call, and how they are declared.

use crate::r#gen::ctype::CType;
use crate::spec::{Direction, Function, Param, Spec};

/// A function with a Fortran binding.
pub struct Procedure<'a> {
    pub function: &'a Function,
    pub arguments: Vec<Argument<'a>>,
}

/// A parameter that Fortran has, too.
pub struct Argument<'a> {
    pub param: &'a Param,
    pub ctype: CType<'a>,
    pub role: Role,
}

/// What a parameter is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A buffer of any type.
    Choice,
    /// A handle, as a number in a variable, or several.
    Handle,
    Handles,
    Status,
    Statuses,
    /// A string, and an array of them.
    Text,
    Texts,
    Logical,
    Integer,
    /// Integers, or a variable that stands for something.
    Weights,
    Codes,
    /// An address that the library gives, and one that `mpi` has no use for.
    Address,
    Detached,
    /// A value as wide as an address, and one of MPI-1.
    Word,
    SmallWord,
    Function,
}

/// Which of the bindings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `mpif.h` and `mpi`.
    Classic,
    F08,
}

impl<'a> Procedure<'a> {
    /// `None` for functions that only C has.
    pub fn of(spec: &Spec, function: &'a Function) -> Option<Self> {
        let name = function.name.as_str();
        let of_tools = name.starts_with("MPI_T_");
        let of_handles = name.ends_with("_toint") || name.ends_with("_fromint");
        if of_tools || of_handles || name.ends_with("_fortran_booleans") {
            return None;
        }
        let is_handle = |base: &str| spec.types_of("handle").any(|entry| entry.name == base);
        let arguments = function
            .params
            .iter()
            .filter(|param| !matches!(param.kind.as_str(), "ARGUMENT_COUNT" | "ARGUMENT_LIST" | "VARARGS"))
            .map(|param| {
                let ctype = CType::parse(&param.ctype);
                let role = role(param, &ctype, is_handle(ctype.base));
                Argument { param, ctype, role }
            })
            .collect();
        Some(Self { function, arguments })
    }

    /// In lower case, without `MPI_`.
    pub fn stem(&self) -> String {
        self.function.stem().to_lowercase()
    }

    pub fn has(&self, role: Role) -> bool {
        self.arguments.iter().any(|argument| argument.role == role)
    }

    /// Deprecated since before `mpi_f08` was thought of.
    pub fn is_of_mpi_1(&self) -> bool {
        ["MPI_Attr_", "MPI_Keyval_"].iter().any(|start| self.function.name.starts_with(start))
    }

    /// The result of a function that gives no error code.
    pub fn result(&self) -> Option<String> {
        let returns = self.function.returns.as_ref()?;
        Some(if returns.ctype == "double" { "double precision".to_owned() } else { integer(&returns.ctype) })
    }

    /// Whether there is a last argument for the error code.
    pub fn has_code(&self) -> bool {
        self.function.returns.is_none() && self.function.name != "MPI_Pcontrol"
    }

    /// The names of the dummy arguments.
    pub fn dummies(&self) -> String {
        let mut names: Vec<&str> =
            self.arguments.iter().map(|argument| argument.param.name.as_str()).collect();
        if self.has_code() {
            names.push("ierror");
        }
        names.join(", ")
    }

    /// What a compiler tells procedures of one generic name apart by.
    pub fn signature(&self) -> Vec<String> {
        let wide = ["MPI_ADDRESS_KIND", "MPI_COUNT_KIND", "MPI_OFFSET_KIND"];
        let one_kind = |text: String| wide.iter().fold(text, |text, kind| text.replace(kind, "8"));
        self.arguments.iter().map(|argument| one_kind(argument.fortran_type(Dialect::F08))).collect()
    }
}

impl Argument<'_> {
    /// The declaration of the dummy argument, several lines for a buffer of any type.
    pub fn declaration(&self, dialect: Dialect) -> String {
        let name = &self.param.name;
        if self.role == Role::Choice || (self.role == Role::Detached && dialect == Dialect::Classic) {
            return match dialect {
                Dialect::Classic => format!(
                    "!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}\n!DIR$ IGNORE_TKR {name}\ntype(*), dimension(*) :: {name}"
                ),
                Dialect::F08 => {
                    // The program may pass MPI_BOTTOM or MPI_IN_PLACE, so only what is read has an intent.
                    let intent = if self.param.dir == Direction::In && self.ctype.constant {
                        ", intent(in)"
                    } else {
                        ""
                    };
                    let asynchronous = if self.param.asynchronous { ", asynchronous" } else { "" };
                    format!("type(*), dimension(..){intent}{asynchronous} :: {name}")
                }
            };
        }
        if self.role == Role::Function {
            return match dialect {
                Dialect::Classic => format!("external :: {name}"),
                Dialect::F08 => format!("procedure({}) :: {name}", self.ctype.base),
            };
        }
        let intent = if dialect == Dialect::F08 { self.intent() } else { "" };
        format!("{}{intent} :: {name}{}", self.fortran_type(dialect), self.shape(dialect))
    }

    /// Variables that stand for something (MPI_STATUS_IGNORE, …) are given for what is written, too.
    fn intent(&self) -> &'static str {
        let may_stand_for_something =
            matches!(self.role, Role::Status | Role::Statuses | Role::Codes | Role::Weights);
        match self.param.dir {
            Direction::In => ", intent(in)",
            Direction::Out if may_stand_for_something => "",
            Direction::Out => ", intent(out)",
            Direction::Inout => ", intent(inout)",
        }
    }

    fn fortran_type(&self, dialect: Dialect) -> String {
        match (self.role, dialect) {
            (Role::Handle | Role::Handles, Dialect::F08) => format!("type({})", self.ctype.base),
            (Role::Status | Role::Statuses, Dialect::F08) => "type(MPI_Status)".to_owned(),
            (Role::Address | Role::Detached, Dialect::F08) => "type(c_ptr)".to_owned(),
            (Role::Address, Dialect::Classic) | (Role::Word, _) => integer("MPI_Aint"),
            (Role::Text | Role::Texts, _) => "character(len=*)".to_owned(),
            (Role::Logical, _) => "logical".to_owned(),
            (Role::Choice | Role::Function, _) => String::new(),
            (Role::Integer | Role::Weights | Role::Codes, _) => integer(self.ctype.base),
            _ => "integer".to_owned(),
        }
    }

    fn shape(&self, dialect: Dialect) -> &'static str {
        match (self.role, dialect, self.ctype.array) {
            (Role::Status, Dialect::Classic, _) => "(MPI_STATUS_SIZE)",
            (Role::Statuses, Dialect::Classic, _) => "(MPI_STATUS_SIZE, *)",
            (Role::Statuses, Dialect::F08, _) => "(*)",
            (Role::Texts, _, _) if self.param.kind == "STRING_2DARRAY" => "(count, *)",
            (_, _, "") => "",
            (_, _, "[][3]") => "(3, *)",
            _ if self.role == Role::Text => "",
            _ => "(*)",
        }
    }
}

/// The integer that has as many bytes as a type of C.
pub fn integer(ctype: &str) -> String {
    let kind = match ctype {
        "MPI_Aint" => "MPI_ADDRESS_KIND",
        "MPI_Count" => "MPI_COUNT_KIND",
        "MPI_Offset" => "MPI_OFFSET_KIND",
        _ => return "integer".to_owned(),
    };
    format!("integer(kind={kind})")
}

fn role(param: &Param, ctype: &CType, is_handle: bool) -> Role {
    match param.kind.as_str() {
        "BUFFER" => Role::Choice,
        "C_BUFFER" => Role::Address,
        "C_BUFFER2" => Role::Detached,
        "EXTRA_STATE" | "ATTRIBUTE_VAL" => Role::Word,
        "EXTRA_STATE2" | "ATTRIBUTE_VAL_10" => Role::SmallWord,
        "FUNCTION" | "POLYFUNCTION" => Role::Function,
        "LOGICAL" | "LOGICAL_OPTIONAL" => Role::Logical,
        "STRING" => Role::Text,
        "STRING_ARRAY" | "STRING_2DARRAY" => Role::Texts,
        "STATUS" if param.length.is_some() => Role::Statuses,
        "STATUS" => Role::Status,
        "WEIGHT" => Role::Weights,
        "ERROR_CODE" if !ctype.array.is_empty() => Role::Codes,
        _ if is_handle && !ctype.array.is_empty() => Role::Handles,
        _ if is_handle => Role::Handle,
        _ => Role::Integer,
    }
}
