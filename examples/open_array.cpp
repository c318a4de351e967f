// Opens an array and reads a map from it: the sea surface temperatures of January, every tenth row and column.
//
//     c++ -std=c++17 open_array.cpp -lnczchunk && ./a.out coads_sst.zarr
#include <cstdio>
#include <vector>

#include "nczchunk_array.hpp"

int main(int argc, char **argv)
{
    try {
        const auto array = nczchunk::Array::open(argc > 1 ? argv[1] : "coads_sst.zarr");
        const std::vector<float> map = array.read<float>({{0, 5, 5}, {1, 9, 18}, {1, 10, 10}});

        for (std::size_t row = 9; row-- > 0; std::printf("\n")) // north first
            for (std::size_t column = 0; column < 18; column++) {
                const float value = map[18 * row + column];
                if (value == array.fill_value<float>()) // land
                    std::printf("    -");
                else
                    std::printf("%5.1f", static_cast<double>(value));
            }
        std::printf("%s\n", array.attribute<std::string>("units").c_str());
        return 0;
    } catch (const nczchunk::Error &error) {
        std::fprintf(stderr, "open_array: %s\n", error.what());
        return 1;
    }
}
