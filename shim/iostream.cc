/*
 * std::cin, cout, cerr and clog of a rank (libstdc++). libcorelace_program_cxx.a, linked by mpicxx.
 *
 * The four objects are data of libstdc++.so, one set a process. Defining them here gives each copy of the program its own
 * set (format flags included) over its own stdin, stdout and stderr, at the cost of a few hundred bytes, where a static
 * libstdc++ would cost two megabytes a rank. The streams have no buffer of their own: stdio's is the only one, which is
 * also what the standard asks for by default (std::ios_base::sync_with_stdio).
 */
#include <cstdio>
#include <istream>
#include <new>
#include <ostream>
#include <streambuf>

#ifdef __GLIBCXX__

namespace {

class RankBuffer final : public std::streambuf {
  public:
    /* The variable and not its value: a hosted rank's streams are opened after the statics were constructed. */
    explicit RankBuffer(FILE **stream) : stream(stream) {}

  protected:
    int_type overflow(int_type c) override {
        return traits_type::eq_int_type(c, traits_type::eof()) ? (sync() ? c : traits_type::not_eof(c)) : std::putc(c, *stream);
    }
    std::streamsize xsputn(const char *text, std::streamsize count) override {
        return static_cast<std::streamsize>(std::fwrite(text, 1, static_cast<std::size_t>(count), *stream));
    }
    int sync() override { return std::fflush(*stream); }

    int_type underflow() override {
        int c = std::getc(*stream);
        return std::ungetc(c, *stream);
    }
    int_type uflow() override { return last = std::getc(*stream); }
    int_type pbackfail(int_type c) override {
        int back = traits_type::eq_int_type(c, traits_type::eof()) ? last : c;
        last = traits_type::eof();
        return traits_type::eq_int_type(back, traits_type::eof()) ? back : std::ungetc(back, *stream);
    }
    std::streamsize xsgetn(char *text, std::streamsize count) override {
        auto got = static_cast<std::streamsize>(std::fread(text, 1, static_cast<std::size_t>(count), *stream));
        last = got > 0 ? traits_type::to_int_type(text[got - 1]) : traits_type::eof();
        return got;
    }

  private:
    FILE **stream;
    int_type last = traits_type::eof();
};

} // namespace

#define RANK_STREAM(type, name, symbol)                                                  \
    extern "C" {                                                                         \
    alignas(type) __attribute__((weak, visibility("hidden"))) char name[sizeof(type)] __asm__(symbol) = {}; \
    }

RANK_STREAM(std::istream, corelace_cin, "_ZSt3cin")
RANK_STREAM(std::ostream, corelace_cout, "_ZSt4cout")
RANK_STREAM(std::ostream, corelace_cerr, "_ZSt4cerr")
RANK_STREAM(std::ostream, corelace_clog, "_ZSt4clog")

/* Before every static of the program that might print. Never destroyed: statics may print in their destructors. */
__attribute__((constructor(101))) static void corelace_construct_streams() {
    alignas(RankBuffer) static char buffers[3][sizeof(RankBuffer)];
    auto *in = new (buffers[0]) RankBuffer(&stdin);
    auto *out = new (buffers[1]) RankBuffer(&stdout);
    auto *err = new (buffers[2]) RankBuffer(&stderr);
    auto *cout = new (corelace_cout) std::ostream(out);
    auto *cin = new (corelace_cin) std::istream(in);
    auto *cerr = new (corelace_cerr) std::ostream(err);
    new (corelace_clog) std::ostream(err);
    cin->tie(cout);
    cerr->tie(cout);
    cerr->setf(std::ios_base::unitbuf);
}

#endif
