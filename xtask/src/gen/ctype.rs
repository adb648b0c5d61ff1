//! C types of the spec, taken apart, and their Rust counterparts.

use crate::spec::{Param, Spec};

/// A parameter's type: `const MPI_Datatype[]` is base `MPI_Datatype`, const, no star, one array.
pub struct CType<'a> {
    pub base: &'a str,
    pub constant: bool,
    pub stars: usize,
    /// `""`, `"[]"` or `"[][3]"`.
    pub array: &'a str,
}

impl<'a> CType<'a> {
    pub fn parse(text: &'a str) -> Self {
        let (text, array) = text.find('[').map_or((text, ""), |at| text.split_at(at));
        let (constant, text) = text.strip_prefix("const ").map_or((false, text), |rest| (true, rest));
        let base = text.trim_end_matches(['*', ' ']);
        let stars = text.matches('*').count();
        Self { base, constant, stars, array }
    }

    /// Whether the caller passes an address.
    pub fn is_pointer(&self) -> bool {
        self.stars > 0 || !self.array.is_empty()
    }

    /// How C declares a parameter or member of this type.
    pub fn declare(&self, name: &str) -> String {
        let constant = if self.constant { "const " } else { "" };
        let stars = "*".repeat(self.stars);
        format!("{constant}{} {stars}{name}{}", self.base, self.array)
    }

    /// The Rust type with the same representation.
    pub fn rust(&self, spec: &Spec) -> String {
        let callback = spec.callbacks().any(|entry| entry.name == self.base);
        let mut rendered = base(self.base).to_owned();
        // A callback's Rust type is already a (nullable) pointer to a function.
        let mut levels = if callback { self.stars.saturating_sub(1) } else { self.stars };
        if let Some(inner) = self.array.strip_prefix("[]") {
            if let Some(size) = inner.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
                rendered = format!("[{rendered}; {size}]");
            }
            levels += 1;
        }
        for level in 0..levels {
            // `const` binds to the innermost type: `const char *` but `char *[]`.
            let mutability = if self.constant && level == 0 { "const" } else { "mut" };
            rendered = format!("*{mutability} {rendered}");
        }
        rendered
    }
}

/// The name of a parameter in Rust, free of keywords.
pub fn rust_name(param: &Param) -> String {
    let name = param.declared_name();
    if matches!(name, "type" | "in" | "ref" | "move" | "fn" | "match" | "loop") {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}

fn base(ctype: &str) -> &str {
    match ctype {
        "int" => "c_int",
        "char" => "c_char",
        "void" => "c_void",
        "double" => "f64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::CType;

    #[test]
    fn arrays_and_stars_go_to_their_side_of_the_name() {
        assert_eq!(CType::parse("const MPI_Datatype[]").declare("types"), "const MPI_Datatype types[]");
        assert_eq!(CType::parse("int[][3]").declare("ranges"), "int ranges[][3]");
        assert_eq!(CType::parse("char **[]").declare("argv"), "char **argv[]");
        assert_eq!(CType::parse("const void *").declare("buf"), "const void *buf");
    }
}
