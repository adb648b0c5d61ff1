/*
 * C++'s own way to the heap: new and delete go through the program's malloc and free, so that a rank on a chip pays for its
 * objects, too (see heap.c). Blocks that cross into libstdc++ are malloc's on both sides.
 */
#include <cstdlib>
#include <new>

#define CORELACE_REPLACES_LIBSTDCXX __attribute__((weak))

static void *allocate(std::size_t bytes, std::size_t alignment) {
    for (;;) {
        void *block;
        if (!alignment) {
            block = std::malloc(bytes ? bytes : 1);
        } else if (posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes ? bytes : 1)) {
            block = nullptr;
        }
        if (block) {
            return block;
        }
        std::new_handler handler = std::get_new_handler();
        if (!handler) {
            throw std::bad_alloc();
        }
        handler();
    }
}

CORELACE_REPLACES_LIBSTDCXX void *operator new(std::size_t bytes) { return allocate(bytes, 0); }
CORELACE_REPLACES_LIBSTDCXX void *operator new[](std::size_t bytes) { return allocate(bytes, 0); }
CORELACE_REPLACES_LIBSTDCXX void *operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
CORELACE_REPLACES_LIBSTDCXX void *operator new[](std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
CORELACE_REPLACES_LIBSTDCXX void operator delete(void *block) noexcept { std::free(block); }
CORELACE_REPLACES_LIBSTDCXX void operator delete[](void *block) noexcept { std::free(block); }
CORELACE_REPLACES_LIBSTDCXX void operator delete(void *block, std::size_t) noexcept { std::free(block); }
CORELACE_REPLACES_LIBSTDCXX void operator delete[](void *block, std::size_t) noexcept { std::free(block); }
CORELACE_REPLACES_LIBSTDCXX void operator delete(void *block, std::align_val_t) noexcept { std::free(block); }
CORELACE_REPLACES_LIBSTDCXX void operator delete[](void *block, std::align_val_t) noexcept { std::free(block); }
CORELACE_REPLACES_LIBSTDCXX void operator delete(void *block, std::size_t, std::align_val_t) noexcept { std::free(block); }
CORELACE_REPLACES_LIBSTDCXX void operator delete[](void *block, std::size_t, std::align_val_t) noexcept { std::free(block); }
