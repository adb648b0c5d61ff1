//! Puts counters into the assembly text of a compiler: at one place of every basic block, the work of all of its instructions is added.
//!
//! **Invariant.** What the program computes stays the same: a counter is put where nobody asks for the flags any more, or else in a form that
//! changes none; registers are as before; the stack below its pointer is not in use (the compiler was told so: no red zone). Instructions
//! that a person has written between those of the compiler (`asm`) stay together.

use std::fmt::Write;

use sim::{KINDS_OF_WORK, Work};

use super::instruction::{Counts, Instruction, Repetition, parts, read, repetition, target};

/// The counters, one word a kind of work, in every counted object and in `shim/count.c`. The number says what the words mean.
const COUNTERS: &str = "corelace_counted_1";
/// Words of it: more than there are kinds, so that there can be more.
const WORDS: usize = 16;
const _: () = assert!(KINDS_OF_WORK <= WORDS);
/// What tells the archive in a program that there are counters at all.
const MARK: &str = "corelace_is_counted_1";

/// Functions of libc that work on as many bytes as they are told, and whether they read, too. Calls go to small functions beside the program's
/// own, which count the words and pass on.
const OF_BYTES: &[(&str, bool)] = &[("memcpy", true), ("memmove", true), ("memset", false)];

/// What begins the names of functions that declare work.
const DECLARES: &str = "MPIX_Compute";

/// Whether a compiler wrote this text, rather than a person.
pub(super) fn is_compiled(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(".ident"))
}

/// Whether the program says itself what it computes.
pub(super) fn declares_work(text: &str) -> bool {
    text.lines().map(code).any(|line| {
        let (mnemonic, operands) = parts(line);
        let declares = |name: &str| name.strip_prefix('P').unwrap_or(name).starts_with(DECLARES);
        matches!(mnemonic, "call" | "callq" | "jmp") && target(operands).is_some_and(declares)
    })
}

/// The text with counters.
pub(super) fn counted(text: &str) -> String {
    let mut writer = Writer::default();
    let (mut in_code, mut by_hand) = (true, false);
    for line in text.lines() {
        match line.trim() {
            "#APP" => {
                writer.end_block();
                by_hand = true;
            }
            "#NO_APP" => by_hand = false,
            _ => {}
        }
        let statement = code(line);
        if by_hand || statement.is_empty() {
            writer.pass(line);
        } else if let Some(label) = statement.strip_suffix(':') {
            if is_target(label) {
                writer.end_block();
            }
            writer.pass(line);
        } else if statement.starts_with('.') {
            if let Some(code) = section(statement) {
                writer.end_block();
                in_code = code;
            }
            writer.pass(line);
        } else if in_code {
            if let Some(repetition) = repetition(statement) {
                writer.pass(&counted_repetition(repetition));
            }
            let renamed = writer.renamed(line, statement);
            writer.instruction(renamed.unwrap_or_else(|| line.to_owned()), read(statement));
        } else {
            writer.pass(line);
        }
    }
    writer.finish()
}

/// A line without comment and space around.
fn code(line: &str) -> &str {
    line.split('#').next().unwrap_or("").trim()
}

/// Whether a label may be jumped to. Compilers mark with others where a variable lives, a block of the source begins, or exceptions are caught.
fn is_target(label: &str) -> bool {
    let marks = [".LVL", ".LBE", ".LBI", ".LEHB", ".LEHE"].iter().any(|mark| label.starts_with(mark));
    // Clang's blocks are `.LBB0_1`, marks of GCC's `.LBB1`.
    let block_of_source = label.starts_with(".LBB") && !label.contains('_');
    !marks && !block_of_source
}

/// Whether a directive goes to a section with code; nothing if it goes to none.
fn section(directive: &str) -> Option<bool> {
    let (name, arguments) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
    match name {
        ".text" => Some(true),
        ".data" | ".bss" => Some(false),
        ".section" | ".pushsection" => {
            let mut arguments = arguments.trim().split(',');
            let name = arguments.next().unwrap_or("");
            let flags = arguments.next().unwrap_or("");
            Some(name.starts_with(".text") || flags.contains('x'))
        }
        _ => None,
    }
}

/// Lines of a block that has not ended, and everything before it.
#[derive(Default)]
struct Writer {
    text: String,
    /// Each with what it does, if it is an instruction.
    block: Vec<(String, Option<Instruction>)>,
    /// Which of [`OF_BYTES`] are called.
    called: [bool; OF_BYTES.len()],
}

impl Writer {
    fn pass(&mut self, line: &str) {
        self.block.push((line.to_owned(), None));
    }

    fn instruction(&mut self, line: String, instruction: Instruction) {
        let ends = instruction.ends_block;
        self.block.push((line, Some(instruction)));
        if ends {
            self.end_block();
        }
    }

    /// A call of a function that is counted by its bytes, as a call of the one that does so.
    fn renamed(&mut self, line: &str, statement: &str) -> Option<String> {
        let (mnemonic, operands) = parts(statement);
        if !matches!(mnemonic, "call" | "callq" | "jmp") {
            return None;
        }
        let name = target(operands)?;
        let plain = [name.to_owned(), format!("{name}@PLT"), format!("*{name}@GOTPCREL(%rip)")];
        let which = OF_BYTES
            .iter()
            .position(|(known, _)| *known == name)
            .filter(|_| plain.iter().any(|form| form == operands))?;
        self.called[which] = true;
        Some(line.replacen(operands, &format!("corelace_counted_{name}"), 1))
    }

    fn end_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        let mut sum: Counts = [0; KINDS_OF_WORK];
        for instruction in block.iter().filter_map(|(_, instruction)| instruction.as_ref()) {
            sum.iter_mut().zip(instruction.counts).for_each(|(sum, count)| *sum += count);
        }
        let place = (sum != [0; KINDS_OF_WORK]).then(|| place(&block));
        for (at, (line, _)) in block.iter().enumerate() {
            match place {
                Some((chosen, forgets)) if chosen == at => add(&mut self.text, &sum, forgets),
                _ => {}
            }
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    fn finish(mut self) -> String {
        self.end_block();
        let text = &mut self.text;
        _ = writeln!(text, "\t.hidden\t{COUNTERS}\n\t.comm\t{COUNTERS},{},32", 8 * WORDS);
        _ = writeln!(
            text,
            "\t.section\t.rodata.{MARK},\"aG\",@progbits,{MARK},comdat\n\t.weak\t{MARK}\n\t.hidden\t{MARK}\n{MARK}:\n\t.quad\t1"
        );
        for ((name, reads), _) in OF_BYTES.iter().zip(self.called).filter(|(_, called)| *called) {
            let own = format!("corelace_counted_{name}");
            _ = writeln!(
                text,
                "\t.section\t.text.{own},\"axG\",@progbits,{own},comdat\n\t.weak\t{own}\n\t.hidden\t{own}\n{own}:"
            );
            text.push_str(&words_moved("%rdx", Repetition { reads: *reads, elements_a_word: 8 }));
            _ = writeln!(text, "\tjmp\t{name}@PLT");
        }
        // What every object says, so that the linker need not make stacks executable for it.
        self.text.push_str("\t.section\t.note.GNU-stack,\"\",@progbits\n");
        self.text
    }
}

/// Counts the words of memory that so many elements are; changes the flags and `%rax`.
fn words_moved(elements: &str, Repetition { reads, elements_a_word }: Repetition) -> String {
    let mut text = format!(
        "\tleaq\t{}({elements}), %rax\n\tshrq\t${}, %rax\n",
        elements_a_word - 1,
        elements_a_word.trailing_zeros()
    );
    let kinds = if reads { &[Work::Load, Work::Store][..] } else { &[Work::Store] };
    for work in kinds {
        _ = writeln!(text, "\taddq\t%rax, {COUNTERS}+{}(%rip)", 8 * *work as usize);
    }
    text
}

/// What counts an instruction that is repeated, before it.
fn counted_repetition(repetition: Repetition) -> String {
    format!("\tpushfq\n\tpushq\t%rax\n{}\tpopq\t%rax\n\tpopfq", words_moved("%rcx", repetition))
}

/// Before which line of a block the counter goes, and whether nobody asks for the flags there.
fn place(block: &[(String, Option<Instruction>)]) -> (usize, bool) {
    let forgets = |(_, instruction): &(String, Option<Instruction>)| {
        instruction.as_ref().is_some_and(|instruction| instruction.forgets_flags)
    };
    if let Some(at) = block.iter().position(forgets) {
        return (at, true);
    }
    // Bytes that a compiler writes as such belong to the instruction behind them.
    let begins = |(line, instruction): &(String, Option<Instruction>)| {
        instruction.as_ref().is_some_and(|instruction| !instruction.landing)
            || [".byte", ".value"].iter().any(|data| line.trim_start().starts_with(data))
    };
    (block.iter().position(begins).unwrap_or(0), false)
}

/// Writes what adds the counts.
fn add(text: &mut String, counts: &Counts, flags_are_forgotten: bool) {
    let counts =
        || counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(kind, count)| (8 * kind, count));
    if flags_are_forgotten {
        for (at, count) in counts() {
            _ = writeln!(text, "\taddq\t${count}, {COUNTERS}+{at}(%rip)");
        }
        return;
    }
    text.push_str("\tpushq\t%rax\n");
    for (at, count) in counts() {
        _ = writeln!(
            text,
            "\tmovq\t{COUNTERS}+{at}(%rip), %rax\n\tleaq\t{count}(%rax), %rax\n\tmovq\t%rax, {COUNTERS}+{at}(%rip)"
        );
    }
    text.push_str("\tpopq\t%rax\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where counters were put, and the lines around them.
    fn shape(text: &str) -> Vec<String> {
        let counted = counted(text);
        let end = counted.find("\t.hidden").unwrap();
        counted[..end].lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn a_block_is_counted_once_where_nobody_asks_for_the_flags() {
        let text = "\
loop:
\tmovq\t(%rdi), %rax
\taddq\t%rax, %rbx
\tjne\tloop
";
        assert_eq!(
            shape(text),
            [
                "loop:",
                "movq (%rdi), %rax",
                "addq $1, corelace_counted_1+0(%rip)",
                "addq $1, corelace_counted_1+24(%rip)",
                "addq $1, corelace_counted_1+40(%rip)",
                "addq %rax, %rbx",
                "jne loop",
            ]
        );
    }

    #[test]
    fn flags_that_live_through_a_block_are_kept() {
        let text = "\
\tcmpq\t%rax, %rbx
\tje\t.L2
\tmovl\t$1, %ecx
\tjl\t.L3
";
        let shape = shape(text);
        let after = shape.iter().position(|line| line == "je .L2").unwrap();
        assert_eq!(shape[after + 1], "pushq %rax");
        assert_eq!(shape[after + 3], "leaq 1(%rax), %rax");
        let restored = shape.iter().position(|line| line == "popq %rax").unwrap();
        assert_eq!(&shape[restored + 1..], ["movl $1, %ecx", "jl .L3"]);
        assert!(!shape[after..].iter().any(|line| line.starts_with("addq")), "{shape:?}");
    }

    #[test]
    fn marks_of_debuggers_do_not_divide_blocks_and_landing_places_stay_first() {
        let text = "\
f:
.LFB0:
\tendbr64
.LVL1:
\tmovl\t%edi, %eax
.LBB7:
\tmovl\t%eax, %ebx
\tjmp\t.L1
.LBB0_1:
\tret
";
        let shape = shape(text);
        assert_eq!(shape.iter().filter(|line| *line == "pushq %rax").count(), 1, "{shape:?}");
        assert_eq!(shape[2], "endbr64");
        assert!(shape.contains(&"leaq 2(%rax), %rax".to_owned()), "{shape:?}");
        assert_eq!(&shape[shape.len() - 3..], [".LBB0_1:", "addq $1, corelace_counted_1+40(%rip)", "ret"]);
    }

    #[test]
    fn data_and_what_people_wrote_stay_as_they_are() {
        let text = "\
\t.section\t.rodata
table:
\t.long\t.L4-table
\t.text
\tmovl\t%eax, %ebx
#APP
1:\tcmpl $1, %ebx
\tjne 1b
#NO_APP
\tret
";
        let shape = shape(text);
        let asm = shape.iter().position(|line| line == "#APP").unwrap();
        assert_eq!(&shape[asm..asm + 4], ["#APP", "1: cmpl $1, %ebx", "jne 1b", "#NO_APP"]);
        assert_eq!(&shape[..3], [".section .rodata", "table:", ".long .L4-table"]);
    }

    #[test]
    fn copies_of_the_c_library_are_counted_by_their_bytes() {
        let text = counted(
            "\tcall\tmemcpy@PLT\n\tcall\t*memset@GOTPCREL(%rip)\n\tjmp\tmemmove\n\tcall\tmemcmp@PLT\n",
        );
        for line in [
            "\tcall\tcorelace_counted_memcpy\n",
            "\tcall\tcorelace_counted_memset\n",
            "\tjmp\tcorelace_counted_memmove\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(text.contains("\tcall\tmemcmp@PLT\n"));
        assert_eq!(text.matches("\tjmp\tmemcpy@PLT\n").count(), 1);
        assert_eq!(text.matches("+24(%rip)").count(), 2, "loads of the two that read: {text}");
    }

    #[test]
    fn repeated_instructions_are_counted_by_the_words_that_they_move() {
        let shape = shape("\tmovl\t$100, %ecx\n\trep movsb\n\tret\n");
        let begin = shape.iter().position(|line| line == "pushfq").unwrap();
        assert_eq!(
            &shape[begin..begin + 9],
            [
                "pushfq",
                "pushq %rax",
                "leaq 7(%rcx), %rax",
                "shrq $3, %rax",
                "addq %rax, corelace_counted_1+24(%rip)",
                "addq %rax, corelace_counted_1+32(%rip)",
                "popq %rax",
                "popfq",
                "rep movsb",
            ]
        );
        assert_eq!(counted("\trep stosq\n").matches("(%rip)").count(), 1);
    }

    #[test]
    fn who_declares_is_recognised_and_who_wrote_it() {
        assert!(
            declares_work("\tcall\tMPIX_Compute@PLT\n")
                && declares_work("\tcall\t*PMPIX_Compute@GOTPCREL(%rip)\n")
        );
        assert!(declares_work("\tjmp\tMPIX_Compute_cores@PLT\n"));
        assert!(!declares_work("\tcall\tMPI_Send@PLT\n# MPIX_Compute\n"));
        assert!(is_compiled("\t.ident\t\"GCC: (Debian) 12\"\n") && !is_compiled("\tret\n"));
    }
}
