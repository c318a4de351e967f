// The headers after one of the system's that defines macros of common names, as <windows.h> does.
#include <algorithm>
#include <array>
#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus > 201703L
#include <span>
#endif

#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define far
#define near
#define small char
#define interface struct
#define IN
#define OUT

#include "check.hpp"
#include <nczchunk_array.hpp>

int main()
{
    const std::vector<std::uint16_t> stored{1, 2, 3, 4};
    const auto array = nczchunk::Array::create(nczchunk::Storage::memory(), "a",
                                               nczchunk::Description::of<std::uint16_t>({4}).chunks({2}));
    array.write({}, stored);
    CHECK(array.read<std::uint16_t>() == stored);
    return 0;
}
