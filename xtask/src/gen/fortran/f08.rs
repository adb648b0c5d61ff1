//! The module `mpi_f08`: generic names over the specific procedures that MPI names (section 19.1.5): those with descriptors end in `_f08ts`.

use std::fmt::Write;

use super::argument::{Dialect, Procedure, Role};
use super::{banner, statement};

/// Large-count forms that have a name of their own, since their functions do not tell them apart.
const WITH_OWN_NAME: [&str; 2] = ["MPI_Op_create_c", "MPI_Register_datarep_c"];

/// The module.
pub fn render(procedures: &[Procedure]) -> String {
    let mut out = banner("The module mpi_f08.");
    out.push_str(
        "module mpi_f08\n  use, intrinsic :: iso_c_binding, only : c_ptr\n  use mpi_f08_types\n  use mpi_f08_callbacks\n  use corelace_sizes\n  implicit none\n  private :: c_ptr\n",
    );
    for prefix in ["", "P"] {
        let offered = || procedures.iter().filter(|procedure| is_offered(procedure, procedures));
        out.push_str("  interface\n");
        for procedure in offered() {
            out.push_str(&interface(procedure, prefix));
        }
        out.push_str("  end interface\n");
        for procedure in offered().filter(|procedure| is_first(procedure) && procedure.result().is_none()) {
            writeln!(out, "  interface {prefix}{}", procedure.function.name).expect("a string takes all");
            writeln!(out, "    procedure {}", specific(procedure, prefix)).expect("a string takes all");
            let large = offered().find(|other| {
                !is_first(other) && other.function.small.as_ref() == Some(&procedure.function.name)
            });
            if let Some(large) = large {
                writeln!(out, "    procedure {}", specific(large, prefix)).expect("a string takes all");
            }
            out.push_str("  end interface\n");
        }
    }
    for prefix in ["", "P"] {
        let lower = prefix.to_lowercase();
        writeln!(
            out,
            "  interface {prefix}MPI_F_sync_reg\n    subroutine {prefix}MPI_F_sync_reg_f08ts(buf) bind(C, name=\"{lower}mpi_f_sync_reg_f08ts_\")\n      \
             type(*), dimension(..), asynchronous :: buf\n    end subroutine\n  end interface"
        )
        .expect("a string takes all");
        for (name, from, to) in [
            ("f2f08", "integer, intent(in) :: from(MPI_STATUS_SIZE)", "type(MPI_Status), intent(out) :: to"),
            ("f082f", "type(MPI_Status), intent(in) :: from", "integer, intent(out) :: to(MPI_STATUS_SIZE)"),
        ] {
            writeln!(
                out,
                "  interface {prefix}MPI_Status_{name}\n    subroutine {prefix}MPI_Status_{name}_f08(from, to, ierror)\n      import\n      {from}\n      {to}\n      \
                 integer, optional, intent(out) :: ierror\n    end subroutine\n  end interface"
            )
            .expect("a string takes all");
        }
    }
    out.push_str("end module mpi_f08\n");
    out
}

/// Large-count forms that no compiler could tell from the small ones are left out, as MPI says (section 19.2).
fn is_offered(procedure: &Procedure, all: &[Procedure]) -> bool {
    if procedure.is_of_mpi_1() {
        return false;
    }
    let small = procedure.function.small.as_ref().filter(|_| !is_first(procedure));
    let small = small.and_then(|name| all.iter().find(|other| other.function.name == *name));
    small.is_none_or(|small| small.signature() != procedure.signature())
}

/// Whether a procedure has the generic name that it is called by.
fn is_first(procedure: &Procedure) -> bool {
    procedure.function.small.is_none() || WITH_OWN_NAME.contains(&procedure.function.name.as_str())
}

fn specific(procedure: &Procedure, prefix: &str) -> String {
    let name = &procedure.function.name;
    if procedure.result().is_some() {
        return format!("{prefix}{name}");
    }
    let suffix = if procedure.has(Role::Choice) { "_f08ts" } else { "_f08" };
    format!("{prefix}{name}{suffix}")
}

fn interface(procedure: &Procedure, prefix: &str) -> String {
    let name = specific(procedure, prefix);
    let kind = if procedure.result().is_some() { "function" } else { "subroutine" };
    let mut text = format!("{kind} {name}({})", procedure.dummies());
    if procedure.has(Role::Choice) {
        // Descriptors of C, which only procedures of C get.
        write!(text, " bind(C, name=\"{}_\")", name.to_lowercase()).expect("a string takes all");
    }
    let mut out = statement(4, &text);
    out.push_str("      import\n");
    for argument in &procedure.arguments {
        writeln!(out, "      {}", argument.declaration(Dialect::F08)).expect("a string takes all");
    }
    match procedure.result() {
        Some(result) => writeln!(out, "      {result} :: {name}").expect("a string takes all"),
        None if procedure.has_code() => out.push_str("      integer, optional, intent(out) :: ierror\n"),
        None => (),
    }
    writeln!(out, "    end {kind} {name}").expect("a string takes all");
    out
}
