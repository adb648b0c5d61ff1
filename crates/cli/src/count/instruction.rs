//! What an instruction of x86-64 does, by its text as compilers write it: in which kinds of work it counts, and what it does to the flow and to the
//! flags.

use sim::{KINDS_OF_WORK, Work};

/// How often an instruction counts as each kind of work.
pub(super) type Counts = [u32; KINDS_OF_WORK];

/// An instruction, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    pub counts: Counts,
    /// Whatever the flags were before it, nobody asks: it sets all of them without reading one, or leaves the function.
    pub forgets_flags: bool,
    /// What follows is not executed after it, or not always.
    pub ends_block: bool,
    /// It must be the target of indirect jumps, so nothing may come before it.
    pub landing: bool,
}

/// Words before a mnemonic that change nothing of what is counted.
const PREFIXES: &[&str] = &[
    "rep", "repe", "repz", "repne", "repnz", "lock", "notrack", "bnd", "rex64", "data16", "addr32",
    "xacquire", "xrelease",
];

/// Integer instructions that set every flag and read none. (Shifts are not among them: by nought they leave the flags as they are.)
const SETS_FLAGS: &[&str] = &["cmp", "test", "add", "sub", "and", "or", "xor", "neg"];

/// Functions of libm, whose code is not counted: each call stands for one of them.
const FUNCTIONS: &[&str] = &[
    "sin",
    "cos",
    "tan",
    "sincos",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "pow",
    "sqrt",
    "cbrt",
    "hypot",
    "fmod",
    "remainder",
    "erf",
    "erfc",
    "tgamma",
    "lgamma",
];

/// Understands the text of an instruction, without label and comment.
pub(super) fn read(text: &str) -> Instruction {
    let (mnemonic, operands) = parts(text);
    let mut instruction =
        Instruction { counts: [0; KINDS_OF_WORK], forgets_flags: false, ends_block: false, landing: false };
    let mut count = |work: Work, times: u32| instruction.counts[work as usize] += times;
    if matches!(mnemonic, "endbr64" | "endbr32") {
        instruction.landing = true;
        return instruction;
    }
    if mnemonic.starts_with("nop") || mnemonic == "ud2" || mnemonic == "hlt" {
        instruction.ends_block = mnemonic == "ud2" || mnemonic == "hlt";
        return instruction;
    }
    if let Some(jump) = jump(mnemonic) {
        count(Work::Branch, 1);
        if target(operands).is_some_and(is_function) {
            count(Work::Function, 1);
        }
        instruction.ends_block = jump != Leap::Call;
        // The call that asks for a thread's variable is one word with what stands before it, for the linker.
        instruction.forgets_flags = match jump {
            Leap::Call => !operands.contains("__tls_get_addr"),
            Leap::Return => true,
            Leap::Jump => false,
        };
        return instruction;
    }
    let list = split(operands);
    let (to, from) = list.split_last().map_or((None, &[][..]), |(to, from)| (Some(*to), from));
    let reads = from.iter().any(|operand| is_memory(operand)) && !mnemonic.starts_with("lea");
    let aims_at_memory = to.is_some_and(is_memory) && !mnemonic.starts_with("lea");
    let moves = is_move(mnemonic);
    let (kind, times) = work(mnemonic, operands);
    if list.is_empty() && is_string(mnemonic) {
        // What is repeated is counted as it runs.
        if repetition(text).is_none() {
            count(Work::Load, 1);
            count(Work::Store, 1);
        }
        return instruction;
    }
    if mnemonic.starts_with("push") || mnemonic.starts_with("pop") || mnemonic == "leave" {
        count(if mnemonic.starts_with("push") { Work::Store } else { Work::Load }, 1);
        if aims_at_memory {
            count(if mnemonic.starts_with("push") { Work::Load } else { Work::Store }, 1);
        }
        return instruction;
    }
    let (reads_target, writes_target) = use_of_target(mnemonic, list.len());
    if reads || aims_at_memory && reads_target {
        count(Work::Load, 1);
    }
    if aims_at_memory && writes_target {
        count(Work::Store, 1);
    }
    // A move between memory and a register is the load or the store, and nothing besides.
    if !(moves && (reads || aims_at_memory)) {
        count(kind, times);
    }
    instruction.forgets_flags = !text.starts_with("lock")
        && (SETS_FLAGS.iter().any(|name| is_sized(mnemonic, name)) || mnemonic.contains("comis"));
    instruction
}

/// An instruction that is done as often as a register says, for so many words of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repetition {
    /// It reads, too.
    pub reads: bool,
    /// So many of its elements are a word of eight bytes: a power of two.
    pub elements_a_word: u32,
}

/// What is repeated by an instruction that copies or fills memory.
pub(super) fn repetition(text: &str) -> Option<Repetition> {
    let (mnemonic, _) = parts(text);
    let reads = mnemonic.starts_with("movs");
    if !text.starts_with("rep") || !(reads || mnemonic.starts_with("stos")) {
        return None;
    }
    let elements_a_word = match mnemonic.as_bytes()[4..] {
        [b'b'] => 8,
        [b'w'] => 4,
        [b'l'] => 2,
        [b'q'] => 1,
        _ => return None,
    };
    Some(Repetition { reads, elements_a_word })
}

/// The function that a call or a jump goes to, by its name.
pub(super) fn target(operands: &str) -> Option<&str> {
    let name = operands.trim_start_matches('*').split(['@', '(', ' ', ',']).next()?;
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_').then_some(name)
}

/// The mnemonic, prefixes left out, and the operands.
pub(super) fn parts(text: &str) -> (&str, &str) {
    let mut rest = text.trim();
    loop {
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if !PREFIXES.contains(&word) || after.trim().is_empty() {
            return (word, after.trim());
        }
        rest = after.trim_start();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Leap {
    Call,
    Return,
    Jump,
}

fn jump(mnemonic: &str) -> Option<Leap> {
    match mnemonic {
        "call" | "callq" => Some(Leap::Call),
        "ret" | "retq" => Some(Leap::Return),
        _ if mnemonic.starts_with('j') || mnemonic.starts_with("loop") || mnemonic.starts_with("xbegin") => {
            Some(Leap::Jump)
        }
        _ => None,
    }
}

fn is_function(name: &str) -> bool {
    let plain = |name: &str| FUNCTIONS.contains(&name);
    let finite = name.strip_prefix("__").and_then(|name| name.strip_suffix("_finite")).unwrap_or(name);
    plain(finite) || finite.strip_suffix(['f', 'l']).is_some_and(plain)
}

/// Which kind of work it is apart from what it reads and writes, and how often.
fn work(mnemonic: &str, operands: &str) -> (Work, u32) {
    if let Some((base, lanes)) = of_floats(mnemonic, operands) {
        return match base {
            Float::Arithmetic => (Work::Float, lanes),
            Float::Fused => (Work::Float, 2 * lanes),
            Float::Division => (Work::FloatDivide, lanes),
            Float::Rearranges => (Work::Integer, 1),
        };
    }
    let of = |names: &[&str]| names.iter().any(|name| is_sized(mnemonic, name));
    if of(&["imul", "mul", "mulx"]) {
        (Work::Multiply, 1)
    } else if of(&["idiv", "div"]) {
        (Work::Divide, 1)
    } else {
        (Work::Integer, 1)
    }
}

enum Float {
    Arithmetic,
    Fused,
    Division,
    Rearranges,
}

/// An instruction on floating-point numbers: what it does, and on how many at once.
fn of_floats(mnemonic: &str, operands: &str) -> Option<(Float, u32)> {
    const X87: &[&str] =
        &["fadd", "fsub", "fmul", "fcom", "fucom", "fchs", "fabs", "fild", "fist", "frndint"];
    const X87_DIVISION: &[&str] =
        &["fdiv", "fsqrt", "fprem", "fsin", "fcos", "fyl2x", "f2xm1", "fptan", "fpatan"];
    let begins = |names: &[&str]| names.iter().any(|name| mnemonic.starts_with(name));
    if mnemonic.starts_with('f') {
        return match () {
            () if begins(X87_DIVISION) => Some((Float::Division, 1)),
            () if begins(X87) => Some((Float::Arithmetic, 1)),
            () => Some((Float::Rearranges, 1)),
        };
    }
    if mnemonic.trim_start_matches('v').starts_with("cvt") {
        return Some((Float::Arithmetic, 1));
    }
    let name = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    let (base, single, packed) = match name.split_at_checked(name.len().checked_sub(2)?)? {
        (base, "ss" | "sd") => (base, true, 1),
        (base, "ps") => (base, false, 4),
        (base, "pd") => (base, false, 2),
        _ => return None,
    };
    let width = if operands.contains("%zmm") { 4 } else { 1 + u32::from(operands.contains("%ymm")) };
    let lanes = if single { 1 } else { packed * width };
    match base {
        "add" | "sub" | "mul" | "min" | "max" | "comi" | "ucomi" | "cmp" | "hadd" | "hsub" | "addsub"
        | "round" => Some((Float::Arithmetic, lanes)),
        "div" | "sqrt" | "rcp" | "rsqrt" => Some((Float::Division, lanes)),
        _ if ["fmadd", "fmsub", "fnmadd", "fnmsub"].iter().any(|fused| base.starts_with(fused)) => {
            Some((Float::Fused, lanes))
        }
        // `cmpltsd` and its like.
        _ if base.starts_with("cmp") => Some((Float::Arithmetic, lanes)),
        _ => Some((Float::Rearranges, 1)),
    }
}

/// `name` with a letter for the size of its operands, or without.
fn is_sized(mnemonic: &str, name: &str) -> bool {
    mnemonic.strip_prefix(name).is_some_and(|rest| matches!(rest, "" | "b" | "w" | "l" | "q"))
}

/// It brings a value from one place to another.
fn is_move(mnemonic: &str) -> bool {
    let name = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    name.starts_with("mov")
        || name == "lddqu"
        || name.starts_with("fld")
        || name.starts_with("fst")
        || name.starts_with("broadcast")
}

/// It works on texts at the addresses in its registers.
fn is_string(mnemonic: &str) -> bool {
    ["movs", "stos", "lods", "scas", "cmps"].iter().any(|name| is_sized(mnemonic, name))
}

/// Whether an instruction with so many operands reads its last one, and whether it writes it.
fn use_of_target(mnemonic: &str, operands: usize) -> (bool, bool) {
    let begins = |names: &[&str]| names.iter().any(|name| mnemonic.starts_with(name));
    let sized = |names: &[&str]| names.iter().any(|name| is_sized(mnemonic, name));
    if begins(&["fst", "fist", "set"]) {
        return (false, true);
    }
    let compares = begins(&["f", "cmp", "test"]) || mnemonic.contains("comis");
    let into_registers = operands == 1 && sized(&["mul", "imul", "div", "idiv"]);
    if compares || into_registers { (true, false) } else { (!is_move(mnemonic), true) }
}

fn is_memory(operand: &str) -> bool {
    !operand.starts_with(['%', '$', '{']) || operand.starts_with("%fs:") || operand.starts_with("%gs:")
}

/// Operands: separated by commas that are outside of parentheses.
fn split(operands: &str) -> Vec<&str> {
    let (mut list, mut depth, mut begin) = (Vec::new(), 0, 0);
    for (at, character) in operands.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                list.push(operands[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    list.push(operands[begin..].trim());
    list.retain(|operand| !operand.is_empty());
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds of work of an instruction, by name, as often as they count.
    fn kinds(text: &str) -> Vec<&'static str> {
        let counts = read(text).counts;
        Work::ALL.iter().flat_map(|work| vec![work.name(); counts[*work as usize] as usize]).collect()
    }

    #[test]
    fn instructions_count_as_what_they_do() {
        for (text, expected) in [
            ("movl\t$5, %eax", vec!["integer"]),
            ("movq\t8(%rdi,%rax,4), %rdx", vec!["load"]),
            ("movq\t%rdx, buffer(%rip)", vec!["store"]),
            ("movq\t%fs:40, %rax", vec!["load"]),
            ("leaq\t8(%rdi,%rax,4), %rdx", vec!["integer"]),
            ("addq\t$1, (%rax)", vec!["integer", "load", "store"]),
            ("addl\t(%rax), %edx", vec!["integer", "load"]),
            ("cmpl\t$0, 12(%rsp)", vec!["integer", "load"]),
            ("imulq\t%rsi, %rax", vec!["multiply"]),
            ("idivl\t-4(%rbp)", vec!["divide", "load"]),
            ("divsd\t%xmm1, %xmm0", vec!["float_divide"]),
            ("mulsd\t(%rax), %xmm0", vec!["load", "float"]),
            ("addps\t%xmm1, %xmm0", vec!["float"; 4]),
            ("vfmadd231pd\t(%rax), %ymm1, %ymm0", [vec!["load"], vec!["float"; 8]].concat()),
            ("movsd\t%xmm0, 8(%rsp)", vec!["store"]),
            ("pxor\t%xmm0, %xmm0", vec!["integer"]),
            ("xorps\t%xmm0, %xmm0", vec!["integer"]),
            ("cvtsi2sdl\t%eax, %xmm0", vec!["float"]),
            ("ucomisd\t8(%rax), %xmm1", vec!["load", "float"]),
            ("jne\t.L3", vec!["branch"]),
            ("call\tsin@PLT", vec!["branch", "function"]),
            ("call\t*expf@GOTPCREL(%rip)", vec!["branch", "function"]),
            ("call\tMPI_Send@PLT", vec!["branch"]),
            ("notrack jmp\t*%rax", vec!["branch"]),
            ("rep stosq", vec![]),
            ("movsb", vec!["load", "store"]),
            ("pushq\t%rbp", vec!["store"]),
            ("popq\t%rbp", vec!["load"]),
            ("sete\t(%rax)", vec!["integer", "store"]),
            ("endbr64", vec![]),
            ("nopw\t0(%rax,%rax,1)", vec![]),
            ("fldl\t(%rax)", vec!["load"]),
            ("fmull\t8(%rax)", vec!["load", "float"]),
            ("ret", vec!["branch"]),
        ] {
            assert_eq!(kinds(text), expected, "{text}");
        }
    }

    #[test]
    fn only_what_sets_every_flag_and_reads_none_forgets_them() {
        for text in [
            "cmpq\t%rax, %rbx",
            "xorl\t%eax, %eax",
            "addq\t$8, %rsp",
            "ucomisd\t%xmm0, %xmm1",
            "ret",
            "call\tf",
        ] {
            assert!(read(text).forgets_flags, "{text}");
        }
        for text in [
            "adcq\t$0, %rax",
            "sbbl\t%eax, %eax",
            "incl\t%eax",
            "shll\t%cl, %eax",
            "movl\t%eax, %ebx",
            "addsd\t%xmm0, %xmm1",
            "andps\t%xmm0, %xmm1",
            "cmpltsd\t%xmm0, %xmm1",
            "lock addl\t$1, (%rax)",
            "jmp\tf",
            "call\t__tls_get_addr@PLT",
        ] {
            assert!(!read(text).forgets_flags, "{text}");
        }
    }
}
