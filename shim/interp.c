/*
 * The name of the dynamic linker: with it, what the linker takes for a shared library starts as a program.
 * Systems that keep theirs elsewhere compile this file with -DCORELACE_INTERP='"/path/of/ld.so"'.
 */
#ifndef CORELACE_INTERP
#if defined(__x86_64__) && defined(__LP64__)
#define CORELACE_INTERP "/lib64/ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define CORELACE_INTERP "/lib/ld-linux-aarch64.so.1"
#elif defined(__riscv) && __riscv_xlen == 64
#define CORELACE_INTERP "/lib/ld-linux-riscv64-lp64d.so.1"
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define CORELACE_INTERP "/lib64/ld64.so.2"
#else
#error "give the dynamic linker's path with -DCORELACE_INTERP"
#endif
#endif

__attribute__((section(".interp"), used, visibility("hidden"))) const char corelace_interp[] = CORELACE_INTERP;
