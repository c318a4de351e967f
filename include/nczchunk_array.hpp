/*
 * nczchunk for C++17: arrays that are opened by name.
 *
 *     auto array = nczchunk::Array::open("sst.zarr");
 *     std::vector<float> sst = array.read<float>({{0, 10, 0}, {1, 20, 60}, {1, 1, 3}});       every third column
 *
 * Open, create, read and write arrays with the C++ classes for nczchunk_array.h, which are based on nczchunk.hpp. The
 * rules in nczchunk.hpp for all classes hold for these, too. examples/open_array.cpp is a whole program. An Array is a
 * variable and a store: variable() and store() lend them to plans and to every other function of nczchunk.hpp. Paths
 * are as the system has them, on Windows in UTF-8. Names are in UTF-8.
 */
#ifndef NCZCHUNK_ARRAY_HPP
#define NCZCHUNK_ARRAY_HPP

#include "nczchunk.hpp"
#include "nczchunk_array.h"

namespace NCZCHUNK_NAMESPACE {

// ---------------------------------------------------------------------------------------------------------------------
// TYPES

/// A C++ type as the element type of an array: its number in netCDF, or 0; its name in messages; and whether an array
/// can be read as this type, from the number and name of the array's type and the bytes of an element. Known types:
///
/// - numbers, by their size: float is "float32", long is "int64" or "int32". std::uint8_t also reads "bool", and
///   std::int64_t also reads "datetime64[..]" and "timedelta64[..]", whose units are in the name;
/// - char is "char"; std::complex<float> and std::complex<double> are "complex64" and "complex128";
/// - std::array<char, N> is "SN", a string of N bytes; std::array<char32_t, N> is "UN"; std::array<std::byte, N> is any
///   element of N bytes, unchanged;
/// - std::string, for reading and writing arrays, is "string": variable-length strings.
///
/// Specialise it for a trivially copyable type of your own, such as a float16. Numbers that netCDF does not have, such
/// as long double and std::float16_t, are not among the known types.
template <class T, class = void> struct Element;

namespace detail {

/// netCDF's number for a type of numbers by its size; 0 if it does not have it.
template <class T> constexpr int number_type() noexcept
{
    if constexpr (std::is_same_v<T, char>)
        return NCZCHUNK_CHAR;
    else if constexpr (std::is_floating_point_v<T>)
        return sizeof(T) == 4 ? NCZCHUNK_FLOAT : sizeof(T) == 8 ? NCZCHUNK_DOUBLE : 0;
    else if constexpr (std::is_signed_v<T>)
        return sizeof(T) == 1   ? NCZCHUNK_BYTE
               : sizeof(T) == 2 ? NCZCHUNK_SHORT
               : sizeof(T) == 4 ? NCZCHUNK_INT
                                : NCZCHUNK_INT64;
    else
        return sizeof(T) == 1   ? NCZCHUNK_UBYTE
               : sizeof(T) == 2 ? NCZCHUNK_USHORT
               : sizeof(T) == 4 ? NCZCHUNK_UINT
                                : NCZCHUNK_UINT64;
}

/// The name of a type by its number; "" for an unknown number.
inline std::string type_name(std::size_t type)
{
    static constexpr std::string_view names[] = {"",      "int8",  "char",   "int16",  "int32", "float32", "float64",
                                                 "uint8", "uint16", "uint32", "int64", "uint64", "string"};
    return std::string(type < std::size(names) ? names[type] : "");
}

/// The size in bytes of an element of a type by its number; 0 for variable-length strings and for an unknown number.
inline std::size_t type_size(int type) noexcept
{
    static constexpr std::size_t sizes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8, 0};
    return type >= 0 && static_cast<std::size_t>(type) < std::size(sizes) ? sizes[type] : 0;
}

inline bool begins_with(std::string_view text, std::string_view beginning) noexcept
{
    return text.substr(0, beginning.size()) == beginning;
}

} // namespace detail

template <class T>
struct Element<T, std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && (sizeof(T) <= 8)
                                   && detail::number_type<T>() != 0>> {
    static constexpr int type = detail::number_type<T>();
    static std::string name() { return detail::type_name(type); }
    static bool fits(int number, std::string_view name, std::size_t) noexcept
    {
        if (number == 0 && type == NCZCHUNK_UBYTE)
            return name == "bool";
        if (number == 0 && type == NCZCHUNK_INT64)
            return detail::begins_with(name, "datetime64") || detail::begins_with(name, "timedelta64");
        return number == type;
    }
};

template <class T> struct Element<std::complex<T>> {
    static constexpr int type = 0;
    static std::string name() { return "complex" + detail::text(16 * sizeof(T)); }
    static bool fits(int, std::string_view name_of, std::size_t) { return name_of == name(); }
};

template <std::size_t N> struct Element<std::array<char, N>> {
    static constexpr int type = 0;
    static std::string name() { return "S" + detail::text(N); }
    static bool fits(int, std::string_view name_of, std::size_t) { return name_of == name(); }
};

template <std::size_t N> struct Element<std::array<char32_t, N>> {
    static constexpr int type = 0;
    static std::string name() { return "U" + detail::text(N); }
    static bool fits(int, std::string_view name_of, std::size_t) { return name_of == name(); }
};

template <std::size_t N> struct Element<std::array<std::byte, N>> {
    static constexpr int type = 0;
    static std::string name() { return "V" + detail::text(N); }
    static bool fits(int, std::string_view name_of, std::size_t size) noexcept
    {
        return size == N && name_of != "string";
    }
};

// ---------------------------------------------------------------------------------------------------------------------
// ATTRIBUTES

/// An attribute of an array. It refers to memory of the array's, and is valid until the array's attributes are changed
/// or the array is closed, resized or refreshed. An attribute of a Node is valid until the callback returns.
class Attribute {
  public:
    explicit Attribute(const nczchunk_attribute &attribute) noexcept : attribute_(attribute) {}

    std::string_view name() const noexcept { return attribute_.name; }

    /// netCDF's number for the type of its values: NCZCHUNK_CHAR for one string, NCZCHUNK_STRING for several.
    int type() const noexcept { return static_cast<int>(attribute_.type); }

    /// The number of values: numbers or strings; a single string is one value.
    std::size_t size() const noexcept { return type() == NCZCHUNK_CHAR ? 1 : attribute_.num_values; }

    /// The values as a T: a number, a std::string, or a std::vector of either. Numbers are converted if that changes
    /// none of them. Throws Status::text for a string if T is a number, Status::bad_type for numbers if T is a string,
    /// Status::range for a number that T cannot represent, and Status::invalid if T is one value and there are more or
    /// none.
    template <class T> T as() const
    {
        if constexpr (IsVector<T>::value) {
            using Value = typename T::value_type;
            T values;
            values.reserve(size());
            for (std::size_t i = 0; i < size(); i++)
                values.push_back(value<Value>(i));
            return values;
        } else {
            if (size() != 1)
                throw Error(Status::invalid, "the attribute " + std::string(name()) + " has " + detail::text(size())
                                                 + " values");
            return value<T>(0);
        }
    }

    const nczchunk_attribute &get() const noexcept { return attribute_; }

  private:
    template <class T> struct IsVector : std::false_type {};
    template <class T> struct IsVector<std::vector<T>> : std::true_type {};

    template <class T> T value(std::size_t i) const
    {
        if constexpr (std::is_same_v<T, std::string>) {
            if (type() == NCZCHUNK_CHAR)
                return {static_cast<const char *>(attribute_.values), attribute_.num_values};
            if (type() == NCZCHUNK_STRING)
                return static_cast<const char *const *>(attribute_.values)[i];
            throw Error(Status::bad_type, "the attribute " + std::string(name()) + " is not a string");
        } else {
            static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>, "attributes are numbers or std::string");
            switch (type()) {
            case NCZCHUNK_BYTE: return number<T, std::int8_t>(i);
            case NCZCHUNK_SHORT: return number<T, std::int16_t>(i);
            case NCZCHUNK_INT: return number<T, std::int32_t>(i);
            case NCZCHUNK_INT64: return number<T, std::int64_t>(i);
            case NCZCHUNK_UBYTE: return number<T, std::uint8_t>(i);
            case NCZCHUNK_USHORT: return number<T, std::uint16_t>(i);
            case NCZCHUNK_UINT: return number<T, std::uint32_t>(i);
            case NCZCHUNK_UINT64: return number<T, std::uint64_t>(i);
            case NCZCHUNK_FLOAT: return number<T, float>(i);
            case NCZCHUNK_DOUBLE: return number<T, double>(i);
            default: throw Error(Status::text, "the attribute " + std::string(name()) + " is a string, not numbers");
            }
        }
    }

    template <class T, class Stored> T number(std::size_t i) const
    {
        const Stored stored = static_cast<const Stored *>(attribute_.values)[i];
        if (!is_kept<T>(stored))
            throw Error(Status::range, "the attribute " + std::string(name()) + " is " + std::to_string(stored)
                                           + ", which is out of the range of " + Element<T>::name());
        return static_cast<T>(stored);
    }

    /// Whether a number is the same as a T. A double may lose digits as a float, as in netCDF, but not its magnitude.
    template <class T, class Stored> static bool is_kept(Stored stored) noexcept
    {
        if constexpr (std::is_same_v<T, Stored>) {
            return true;
        } else if constexpr (std::is_floating_point_v<T>) {
            if constexpr (std::is_floating_point_v<Stored>) {
                const bool is_finite = stored - stored == 0;
                return !is_finite || (stored <= static_cast<Stored>((std::numeric_limits<T>::max)())
                                      && stored >= static_cast<Stored>(std::numeric_limits<T>::lowest()))
                       || sizeof(T) > sizeof(Stored);
            } else {
                const T converted = static_cast<T>(stored);
                return is_in_range<Stored>(converted) && static_cast<Stored>(converted) == stored;
            }
        } else if constexpr (std::is_floating_point_v<Stored>) {
            return is_in_range<T>(stored) && static_cast<Stored>(static_cast<T>(stored)) == stored;
        } else if constexpr (std::is_signed_v<Stored>) {
            if (stored < 0)
                return std::is_signed_v<T> && std::int64_t{stored} >= std::int64_t{(std::numeric_limits<T>::min)()};
            return static_cast<std::uint64_t>(stored) <= static_cast<std::uint64_t>((std::numeric_limits<T>::max)());
        } else {
            return std::uint64_t{stored} <= static_cast<std::uint64_t>((std::numeric_limits<T>::max)());
        }
    }

    /// Whether a floating-point number without its fraction is among the values of an integer type. The largest integer
    /// is one less than a power of 2, which is exact as a floating-point number.
    template <class Integer, class Float> static bool is_in_range(Float number) noexcept
    {
        const Float beyond = static_cast<Float>((std::numeric_limits<Integer>::max)() / 2 + 1) * 2;
        return number < beyond && number >= static_cast<Float>((std::numeric_limits<Integer>::min)());
    }

    nczchunk_attribute attribute_;
};

namespace detail {

/// Strings as C has them: pointers to NUL-terminated ones, which live as long as this object and its source.
class Texts {
  public:
    template <class Container> explicit Texts(const Container &texts)
    {
        copies_.reserve(std::size(texts));
        for (const auto &text : texts) {
            // NULL stands for an empty string, as in C.
            if constexpr (std::is_pointer_v<std::remove_cv_t<std::remove_reference_t<decltype(text)>>>)
                add(text != nullptr ? text : "");
            else
                add(text);
        }
        for (const std::string &copy : copies_)
            pointers_.push_back(copy.c_str());
    }

    const char *const *data() const noexcept { return pointers_.data(); }
    std::size_t size() const noexcept { return pointers_.size(); }

  private:
    void add(std::string_view text)
    {
        if (text.find('\0') != std::string_view::npos)
            throw Error(Status::invalid, "a string contains a NUL");
        copies_.emplace_back(text);
    }

    std::vector<std::string> copies_;
    std::vector<const char *> pointers_;
};

template <class T> constexpr bool is_text = std::is_convertible_v<const T &, std::string_view>;

/// A string for a function of the C interface, which would take a NUL in it for the end.
inline const char *c_text(const std::string &text)
{
    if (text.find('\0') != std::string::npos)
        throw Error(Status::invalid, "a path or name contains a NUL");
    return text.c_str();
}

/// Passes an attribute's value on: set(type, num_values, values).
template <class Value, class Set> void with_attribute(const Value &value, Set set)
{
    if constexpr (is_text<Value>) {
        const std::string_view text = value;
        set(NCZCHUNK_CHAR, text.size(), text.empty() ? "" : text.data());
    } else if constexpr (std::is_arithmetic_v<Value>) {
        set(Element<Value>::type, std::size_t{1}, &value);
    } else {
        using Item = std::remove_cv_t<ValueOf<const Value>>;
        if constexpr (is_text<Item>) {
            const Texts texts(value);
            set(NCZCHUNK_STRING, texts.size(), texts.data());
        } else {
            const auto span = as_span(value);
            // Without values there is nothing to point to, but NULL is not allowed.
            static const Item none{};
            set(Element<Item>::type, span.size(), span.empty() ? &none : span.data());
        }
    }
}

} // namespace detail

// ---------------------------------------------------------------------------------------------------------------------
// CREATING AN ARRAY

/// The format of an array to create.
enum class Format : std::size_t {
    zarr_v3 = NCZCHUNK_ZARR_V3,
    zarr_v2 = NCZCHUNK_ZARR_V2,
    nczarr = NCZCHUNK_NCZARR
};

/// An array to create: see nczchunk_description. By default it is Zarr v3 in chunks of about 16 MiB, compressed with
/// zstd, with fill values of 0.
///
///     nczchunk::Description::of<float>({365, 90, 180}).chunks({1, 90, 180}).dimension_names({"time", "lat", "lon"})
class Description {
  public:
    /// An array whose elements are T: see Element. shape is the lengths of its dimensions.
    template <class T> static Description of(const Lengths &shape)
    {
        if constexpr (std::is_same_v<T, std::string>)
            return Description("string", shape);
        else
            return Description(Element<T>::name(), shape);
    }

    /// An array with an element type by name: "datetime64[ns]", "bool".
    Description(std::string type_name, const Lengths &shape) : type_name_(std::move(type_name)), shape_(shape) {}

    /// Sets the lengths of a chunk; and the lengths of a shard, which are multiples of those of a chunk.
    Description &chunks(const Lengths &lengths)
    {
        check_rank(lengths.size(), "chunk");
        chunks_ = lengths;
        return *this;
    }
    /// Sets the lengths of the chunks where they differ: for each dimension a list of all its chunks' lengths, which is
    /// empty if they have one length, that of chunks().
    Description &chunk_lengths(std::vector<std::vector<std::size_t>> lists)
    {
        check_rank(lists.size(), "chunk lengths");
        chunk_lengths_ = std::move(lists);
        return *this;
    }
    Description &shards(const Lengths &lengths)
    {
        check_rank(lengths.size(), "shard");
        shards_ = lengths;
        return *this;
    }

    /// Sets the names of the dimensions; an empty name for a dimension without one.
    Description &dimension_names(std::vector<std::string> names)
    {
        check_rank(names.size(), "list of names");
        names_ = std::move(names);
        return *this;
    }

    /// Sets the fill value, which reads return where nothing was written: a number or a string of the array's type.
    template <class T> Description &fill_value(const T &value)
    {
        if constexpr (detail::is_text<T>) {
            check_type("string");
            fill_text_ = std::string(std::string_view(value));
        } else {
            static_assert(std::is_trivially_copyable_v<T>, "elements have to be trivially copyable");
            // "bool" and the like are numbers, too.
            if (Element<T>::type == 0 || !Element<T>::fits(0, type_name_, sizeof(T)))
                check_type(Element<T>::name());
            const auto *const bytes = reinterpret_cast<const unsigned char *>(&value);
            fill_value_.assign(bytes, bytes + sizeof value);
        }
        return *this;
    }

    /// Adds a codec, in the order of encoding: its name and its configuration as JSON.
    Description &codec(std::string name, std::string configuration = "{}")
    {
        codecs_.emplace_back(std::move(name), std::move(configuration));
        return *this;
    }

    /// Stores chunks uncompressed.
    Description &uncompressed()
    {
        uncompressed_ = true;
        return *this;
    }

    /// Adds an attribute: a number, a string, or a contiguous container of either.
    template <class Value> Description &attribute(std::string name, const Value &value)
    {
        detail::with_attribute(value, [&](int type, std::size_t num_values, const void *values) {
            Setting setting = {std::move(name), type, num_values, {}, {}};
            if (type == NCZCHUNK_STRING) {
                const auto *const texts = static_cast<const char *const *>(values);
                setting.texts.assign(texts, texts + num_values);
            } else {
                const auto *const bytes = static_cast<const unsigned char *>(values);
                const std::size_t nbytes = num_values * detail::type_size(type);
                setting.numbers.resize(nbytes / sizeof(std::uint64_t) + 1);
                std::copy_n(bytes, nbytes, reinterpret_cast<unsigned char *>(setting.numbers.data()));
            }
            attributes_.push_back(std::move(setting));
        });
        return *this;
    }

    /// Adds the members of a JSON object as attributes. Those of attribute are set after them.
    Description &attributes_json(std::string json)
    {
        attributes_json_ = std::move(json);
        return *this;
    }

    Description &format(Format format)
    {
        format_ = format;
        return *this;
    }

    /// Sets the chunk key separator: '.' or '/'.
    Description &separator(char separator)
    {
        separator_ = separator;
        return *this;
    }

    /// Sets the byte order of the stored data.
    Description &endian(Endian endian)
    {
        endian_ = endian;
        return *this;
    }

    /// Replaces an existing array or group: see nczchunk_description.
    Description &overwrite(bool overwrite = true)
    {
        overwrite_ = overwrite;
        return *this;
    }

  private:
    friend class Array;

    /// An attribute to set: its values as words, so that they are aligned, or as strings.
    struct Setting {
        std::string name;
        int type;
        std::size_t num_values;
        std::vector<std::uint64_t> numbers;
        std::vector<std::string> texts;
    };

    void check_type(const std::string &given) const
    {
        if (given != type_name_)
            throw Error(Status::bad_type, "the elements of the array are " + type_name_ + ", its fill value is "
                                              + given);
    }

    void check_rank(std::size_t given, const char *what) const
    {
        if (given != shape_.size())
            throw Error(Status::invalid, "the array has " + detail::text(shape_.size()) + " dimensions, its " + what
                                             + " " + detail::text(given));
    }

    /// Calls function with the description as C has it.
    template <class Function> void pass(Function function) const
    {
        std::vector<const char *> names;
        for (const std::string &name : names_)
            names.push_back(detail::c_text(name));
        std::vector<nczchunk_codec_setting> codecs;
        for (const auto &[name, configuration] : codecs_)
            codecs.push_back({detail::c_text(name), detail::c_text(configuration)});
        std::vector<std::vector<const char *>> texts(attributes_.size());
        std::vector<nczchunk_attribute> attributes;
        for (std::size_t i = 0; i < attributes_.size(); i++) {
            const Setting &setting = attributes_[i];
            for (const std::string &text : setting.texts)
                texts[i].push_back(text.c_str());
            nczchunk_attribute attribute = NCZCHUNK_ATTRIBUTE_INIT;
            attribute.name = detail::c_text(setting.name);
            attribute.type = static_cast<std::size_t>(setting.type);
            attribute.num_values = setting.num_values;
            static const char *const no_texts[1] = {""};
            if (setting.type != NCZCHUNK_STRING)
                attribute.values = setting.numbers.data();
            else
                attribute.values = texts[i].empty() ? no_texts : texts[i].data();
            attributes.push_back(attribute);
        }
        const char *const fill_text = fill_text_ ? detail::c_text(*fill_text_) : nullptr;

        nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
        description.type_name = detail::c_text(type_name_);
        description.rank = shape_.size();
        description.shape = shape_.data();
        description.chunk_shape = chunks_ ? chunks_->data() : nullptr;
        description.shard_shape = shards_ ? shards_->data() : nullptr;
        std::vector<const std::size_t *> lists;
        std::vector<std::size_t> nums;
        for (const std::vector<std::size_t> &list : chunk_lengths_) {
            lists.push_back(list.empty() ? nullptr : list.data());
            nums.push_back(list.size());
        }
        description.chunk_lengths = lists.empty() ? nullptr : lists.data();
        description.num_chunks = nums.empty() ? nullptr : nums.data();
        description.dimension_names = names.empty() ? nullptr : names.data();
        if (fill_text_)
            description.fill_value = &fill_text;
        else
            description.fill_value = fill_value_.empty() ? nullptr : fill_value_.data();
        description.codecs = codecs.empty() ? nullptr : codecs.data();
        description.num_codecs = codecs.size();
        description.uncompressed = uncompressed_ ? 1 : 0;
        description.attributes_json = attributes_json_ ? detail::c_text(*attributes_json_) : nullptr;
        description.attributes = attributes.empty() ? nullptr : attributes.data();
        description.num_attributes = attributes.size();
        description.format = static_cast<std::size_t>(format_);
        description.separator = static_cast<unsigned char>(separator_);
        description.endian = static_cast<std::size_t>(endian_);
        description.overwrite = overwrite_ ? 1 : 0;
        function(&description);
    }

    std::string type_name_;
    Lengths shape_;
    std::optional<Lengths> chunks_, shards_;
    std::vector<std::vector<std::size_t>> chunk_lengths_;
    std::vector<std::string> names_;
    std::vector<unsigned char> fill_value_;
    std::optional<std::string> fill_text_, attributes_json_;
    std::vector<std::pair<std::string, std::string>> codecs_;
    std::vector<Setting> attributes_;
    Format format_ = Format::zarr_v3;
    char separator_ = '\0';
    Endian endian_ = Endian::native;
    bool uncompressed_ = false, overwrite_ = false;
};

// ---------------------------------------------------------------------------------------------------------------------
// STORAGES

/// A read of an object. It refers to memory of the library's. It is valid until the callback returns or, for a read
/// that was started, until wait returns it. Copies refer to the same read.
class ObjectRequest {
  public:
    explicit ObjectRequest(nczchunk_object_request *request) noexcept : request_(request) {}

    /// The object's name, such as "ocean/sst/c/0/1".
    std::string_view name() const noexcept { return request_->name; }

    /// The position at which the read begins: this many bytes after the object's beginning or, if from_end, before its
    /// end.
    std::uint64_t offset() const noexcept { return request_->offset; }
    bool from_end() const noexcept { return request_->from_end != 0; }

    /// The memory for the bytes. If its size is 0, the read asks only for the object's length.
    Span<std::byte> buffer() const noexcept { return {static_cast<std::byte *>(request_->buffer), request_->size}; }

    /// Answers with a whole object: copies the requested part of it. Takes any contiguous container.
    template <class Container> void put(const Container &object) const noexcept
    {
        const Span<const std::byte> all = as_bytes(object);
        const std::uint64_t offset = (std::min<std::uint64_t>)(request_->offset, all.size());
        const auto begin = static_cast<std::size_t>(from_end() ? all.size() - offset : offset);
        const std::size_t size = (std::min)(all.size() - begin, request_->size);
        if (size > 0)
            std::memcpy(request_->buffer, all.data() + begin, size);
        set_length(size, all.size());
    }

    /// Answers that the buffer holds nbytes bytes, and that the whole object has object_size bytes.
    void set_length(std::size_t nbytes, std::uint64_t object_size) const noexcept
    {
        request_->nbytes = nbytes;
        request_->object_size = object_size;
    }

    /// Answers that the object does not exist.
    void set_absent() const noexcept { request_->status = NCZCHUNK_ENOOBJECT; }

    nczchunk_object_request *get() const noexcept { return request_; }

    friend bool operator==(ObjectRequest a, ObjectRequest b) noexcept { return a.request_ == b.request_; }
    friend bool operator!=(ObjectRequest a, ObjectRequest b) noexcept { return a.request_ != b.request_; }

  private:
    nczchunk_object_request *request_;
};

/// A read that has ended, and the cause if it has failed: see ObjectStore::wait. An ObjectRequest converts to it
/// implicitly.
using ObjectEnded = detail::EndedOf<ObjectRequest>;

/// The receiver of ObjectStore::list.
class Found {
  public:
    /// Reports the last part of a name, and whether it is a prefix: the beginning of the names of objects further
    /// below. Returns false if no more names are needed.
    bool operator()(std::string_view name, bool is_prefix) const
    {
        if (status_ == 0)
            status_ = found_(argument_, std::string(name).c_str(), is_prefix ? 1 : 0);
        return status_ == 0;
    }

  private:
    friend class Storage;
    using Function = int(void *argument, const char *name, int is_prefix);

    Found(Function *found, void *argument) noexcept : found_(found), argument_(argument) {}

    Function *found_;
    void *argument_;
    mutable int status_ = 0;
};

/// A base class for a storage of your own. The overridden functions determine what the storage can do. Override read,
/// or start and wait. Overridden functions must be public and not overloaded. nczchunk_storage_callbacks describes each
/// of them.
class ObjectStore {
  public:
    ObjectStore(const ObjectStore &) = delete;
    ObjectStore &operator=(const ObjectStore &) = delete;
    virtual ~ObjectStore() = default;

    /// Reads an object: answers with put, set_length or set_absent.
    virtual void read(ObjectRequest) { throw Error(Status::not_built); }

    /// Lists the objects and prefixes directly below a prefix, each once.
    virtual void list(std::string_view /* prefix */, const Found &) { throw Error(Status::not_built); }

    /// Writes a whole object atomically, or replaces the existing object.
    virtual void write(std::string_view /* name */, Span<const std::byte> /* bytes */)
    {
        throw Error(Status::read_only);
    }

    /// Removes an object, if it exists.
    virtual void remove(std::string_view /* name */) { throw Error(Status::read_only); }

    /// Starts to read an object and returns. true: wait will return the request. false: the object is known to be
    /// missing.
    virtual bool start(ObjectRequest) { throw Error(Status::not_built); }

    /// Waits until a read that this thread has started has ended, and returns it, answered. If a single read has
    /// failed, returns it with the cause. If wait throws, no read is in flight any more, and no buffer is touched.
    virtual ObjectEnded wait() { throw Error(Status::not_built); }

    /// Called when a read is no longer needed. wait still returns it.
    virtual void cancel(ObjectRequest) {}

  protected:
    ObjectStore() = default;
};

/// Options for the use of a storage: see nczchunk_storage_callbacks. 0 stands for the default of the C interface.
struct StorageOptions {
    /// Whether the callbacks may run in several threads at the same time.
    bool concurrent = false;
    /// Two ranges of an object are read by one request if fewer bytes than this lie between them.
    std::size_t gap = 0;
    /// With start: the largest number of reads in flight at the same time, and the most bytes that their buffers take.
    std::size_t in_flight = 0;
    std::size_t bytes_in_flight = 0;
    /// With start: the most bytes that are read at once.
    std::size_t largest = 0;
};

/// Limits in bytes on the memory for the contents of a storage: see nczchunk_memory_limits. 0 stands for the default.
struct MemoryLimits {
    /// For a chunk, as it is stored and decoded.
    std::size_t chunk_bytes = 0;
    /// For a chunk of variable-length strings.
    std::size_t string_chunk_bytes = 0;
    /// For the metadata in one document.
    std::size_t metadata_bytes = 0;
};

/// A codec to make, as the metadata describe it: see nczchunk_codec_use. It is valid until the callback returns.
class CodecUse {
  public:
    explicit CodecUse(const nczchunk_codec_use *use) noexcept : use_(use) {}

    std::string_view name() const noexcept { return use_->name; }
    /// The codec's configuration as a JSON object in a string.
    std::string_view configuration() const noexcept { return use_->configuration; }
    std::string_view type_name() const noexcept { return use_->type_name; }
    std::size_t element_size() const noexcept { return use_->element_size; }

    const nczchunk_codec_use *get() const noexcept { return use_; }

  private:
    const nczchunk_codec_use *use_;
};

/// A storage, a map from object names to bytes: a directory, a zip file, a file that holds arrays, memory, or one of
/// your own. Arrays that were opened or created in it can still use it when it is destroyed.
class Storage {
  public:
    /// The storage at a path: a directory, a zip file, or a file that holds arrays.
    static Storage at(const std::string &path)
    {
        return Storage([&](nczchunk_storage **storage, nczchunk_context *context) {
            return nczchunk_storage_open(detail::c_text(path), storage, context);
        });
    }

    /// The arrays at several paths, joined along a dimension: see nczchunk_storage_concat.
    static Storage concat(const std::vector<std::string> &paths, const std::string &dimension)
    {
        std::vector<const char *> texts;
        for (const std::string &path : paths)
            texts.push_back(detail::c_text(path));
        return Storage([&](nczchunk_storage **storage, nczchunk_context *context) {
            return nczchunk_storage_concat(texts.size(), texts.data(), detail::c_text(dimension), storage, context);
        });
    }

    /// A directory, which is created if it does not exist.
    static Storage create(const std::string &path)
    {
        return Storage([&](nczchunk_storage **storage, nczchunk_context *context) {
            return nczchunk_storage_create(detail::c_text(path), storage, context);
        });
    }

    /// A new zip file, which is at its path after finish.
    static Storage create_zip(const std::string &path)
    {
        return Storage([&](nczchunk_storage **storage, nczchunk_context *context) {
            return nczchunk_storage_create_zip(detail::c_text(path), storage, context);
        });
    }

    /// An empty storage in memory.
    static Storage memory()
    {
        return Storage([](nczchunk_storage **storage, nczchunk_context *context) {
            return nczchunk_storage_memory(storage, context);
        });
    }

    /// A storage of your own.
    template <class T, class = std::enable_if_t<std::is_base_of_v<ObjectStore, T>>>
    static Storage own(std::unique_ptr<T> objects, StorageOptions options = {})
    {
        static_assert(!std::is_same_v<T, ObjectStore>, "pass the derived class, whose functions are looked at");
        constexpr bool reads = !std::is_same_v<decltype(&T::read), decltype(&ObjectStore::read)>;
        constexpr bool lists = !std::is_same_v<decltype(&T::list), decltype(&ObjectStore::list)>;
        constexpr bool writes = !std::is_same_v<decltype(&T::write), decltype(&ObjectStore::write)>;
        constexpr bool removes = !std::is_same_v<decltype(&T::remove), decltype(&ObjectStore::remove)>;
        constexpr bool starts = !std::is_same_v<decltype(&T::start), decltype(&ObjectStore::start)>;
        constexpr bool waits = !std::is_same_v<decltype(&T::wait), decltype(&ObjectStore::wait)>;
        static_assert(reads || starts, "override read, or start and wait");
        static_assert(starts == waits, "override both start and wait, or none of them");
        nczchunk_storage_callbacks callbacks = NCZCHUNK_STORAGE_CALLBACKS_INIT;
        callbacks.user = static_cast<ObjectStore *>(objects.get());
        callbacks.read = reads ? read : nullptr;
        callbacks.list = lists ? list : nullptr;
        callbacks.write = writes ? write_object : nullptr;
        callbacks.remove = removes ? remove : nullptr;
        callbacks.start = starts ? start : nullptr;
        callbacks.wait = waits ? wait : nullptr;
        callbacks.cancel = starts ? cancel : nullptr;
        callbacks.destroy = detail::destroy<ObjectStore>;
        callbacks.concurrent = options.concurrent ? 1 : 0;
        callbacks.gap = options.gap;
        callbacks.in_flight = options.in_flight;
        callbacks.bytes_in_flight = options.bytes_in_flight;
        callbacks.largest = options.largest;
        if (!objects)
            throw Error(Status::invalid, "the ObjectStore is null");
        Storage made([&](nczchunk_storage **storage, nczchunk_context *context) {
            return nczchunk_storage_new(&callbacks, storage, context);
        });
        static_cast<void>(objects.release()); // they are the storage's now
        return made;
    }

    /// A storage whose objects a callable reads: void (ObjectRequest). Nothing can be listed or written.
    template <class Read, class = std::enable_if_t<std::is_invocable_v<Read &, ObjectRequest>>>
    static Storage own(Read reads, StorageOptions options = {})
    {
        struct Callable final : ObjectStore {
            explicit Callable(Read &&with) : reads(std::move(with)) {}
            void read(ObjectRequest request) override { reads(request); }
            Read reads;
        };
        return own(std::make_unique<Callable>(std::move(reads)), options);
    }

    /// A storage whose objects one callable reads and another writes:
    /// void (std::string_view name, Span<const std::byte>).
    template <class Read,
              class Write,
              class = std::enable_if_t<std::is_invocable_v<Read &, ObjectRequest>
                                       && std::is_invocable_v<Write &, std::string_view, Span<const std::byte>>>>
    static Storage own(Read reads, Write writes, StorageOptions options = {})
    {
        struct Callables final : ObjectStore {
            Callables(Read &&one, Write &&other) : reads(std::move(one)), writes(std::move(other)) {}
            void read(ObjectRequest request) override { reads(request); }
            void write(std::string_view name, Span<const std::byte> bytes) override { writes(name, bytes); }
            Read reads;
            Write writes;
        };
        return own(std::make_unique<Callables>(std::move(reads), std::move(writes)), options);
    }

    /// The storage of one file in this storage: an object that holds arrays.
    Storage file(const std::string &name) const
    {
        return Storage([&](nczchunk_storage **file, nczchunk_context *context) {
            return nczchunk_storage_file(storage_.get(), detail::c_text(name), file, context);
        });
    }

    /// Sets whether files that hold only a part of their arrays may be opened.
    void allow_partial(bool allow)
    {
        call([&](nczchunk_context *context) {
            return nczchunk_storage_allow_partial(storage_.get(), allow ? 1 : 0, context);
        });
    }

    /// Sets whether links of HDF5 files to other files (external links) are followed.
    void allow_external_links(bool allow)
    {
        call([&](nczchunk_context *context) {
            return nczchunk_storage_allow_external_links(storage_.get(), allow ? 1 : 0, context);
        });
    }

    /// Reads each document of Zarr's metadata once from now on. The storage becomes read-only.
    void keep_metadata()
    {
        call([&](nczchunk_context *context) { return nczchunk_storage_keep_metadata(storage_.get(), context); });
    }

    /// Sets the memory limits; 0 stands for the default.
    void memory_limits(MemoryLimits limits)
    {
        nczchunk_memory_limits all = NCZCHUNK_MEMORY_LIMITS_INIT;
        all.chunk_bytes = limits.chunk_bytes;
        all.string_chunk_bytes = limits.string_chunk_bytes;
        all.metadata_bytes = limits.metadata_bytes;
        call([&](nczchunk_context *context) {
            return nczchunk_storage_set_memory_limits(storage_.get(), &all, context);
        });
    }

    /// Completes the storage after all data have been written: a new zip file gets its name.
    void finish()
    {
        call([&](nczchunk_context *context) { return nczchunk_storage_finish(storage_.get(), context); });
    }

    /// Writes an object: the bytes of a contiguous container.
    template <class Container> void write(const std::string &name, const Container &object) const
    {
        const Span<const std::byte> bytes = as_bytes(object);
        // Zero bytes need an address, too.
        const std::byte none{};
        const std::byte *const data = bytes.empty() ? &none : bytes.data();
        call([&](nczchunk_context *context) {
            return nczchunk_storage_write(storage_.get(), detail::c_text(name), data, bytes.size(), context);
        });
    }

    /// Writes references to the chunks of an array or a group as an object of another storage: see
    /// nczchunk_storage_write_references.
    void write_references(const std::string &name, const std::string &url, const Storage &to,
                          const std::string &object) const
    {
        call([&](nczchunk_context *context) {
            return nczchunk_storage_write_references(storage_.get(), detail::c_text(name), detail::c_text(url),
                                                     to.storage_.get(), detail::c_text(object), context);
        });
    }

    /// Adds a callable that makes the codecs of this name in the metadata: Codec (CodecUse). Arrays that are opened in
    /// the storage from then on know the codec, and keep the callable.
    template <class Make> void add_codec(const std::string &name, Make make)
    {
        auto owned = std::make_unique<Make>(std::move(make));
        const auto make_codec = [](void *user, const nczchunk_codec_use *of, nczchunk_codec **codec) noexcept {
            return detail::guarded([&] {
                *codec = Codec((*static_cast<Make *>(user))(CodecUse(of))).release();
                return NCZCHUNK_NOERR;
            });
        };
        const auto destroy = [](void *user) noexcept { delete static_cast<Make *>(user); };
        call([&](nczchunk_context *context) {
            return nczchunk_storage_add_codec(storage_.get(), detail::c_text(name), +make_codec, owned.get(), +destroy,
                                            context);
        });
        (void)owned.release(); // the library's from now on
    }

    nczchunk_storage *get() const noexcept { return storage_.get(); }

  private:
    friend class Array;

    template <class Make>
    explicit Storage(Make make) : storage_(detail::make<nczchunk_storage, nczchunk_storage_free>(std::move(make)))
    {
    }

    static ObjectStore &objects(void *user) noexcept { return *static_cast<ObjectStore *>(user); }

    static int read(void *user, nczchunk_object_request *request) noexcept
    {
        return detail::guarded([&] {
            objects(user).read(ObjectRequest(request));
            return static_cast<int>(request->status); // set_absent has set it
        });
    }

    static int list(void *user, const char *prefix, Found::Function *found, void *argument) noexcept
    {
        return detail::guarded([&] {
            const Found tell(found, argument);
            objects(user).list(prefix, tell);
            return tell.status_;
        });
    }

    static int write_object(void *user, const char *name, const void *bytes, std::size_t nbytes) noexcept
    {
        return detail::guarded([&] {
            objects(user).write(name, {static_cast<const std::byte *>(bytes), nbytes});
            return NCZCHUNK_NOERR;
        });
    }

    static int remove(void *user, const char *name) noexcept
    {
        return detail::guarded([&] {
            objects(user).remove(name);
            return NCZCHUNK_NOERR;
        });
    }

    static int start(void *user, nczchunk_object_request *request) noexcept
    {
        return detail::guarded([&] {
            return objects(user).start(ObjectRequest(request)) ? NCZCHUNK_NOERR : NCZCHUNK_ENOOBJECT;
        });
    }

    static int wait(void *user, nczchunk_object_request **done) noexcept
    {
        return detail::guarded([&] {
            const ObjectEnded ended = objects(user).wait();
            if (ended.failure)
                ended.request.get()->status = detail::Call::keep_in_case(ended.failure);
            *done = ended.request.get();
            return NCZCHUNK_NOERR;
        });
    }

    static void cancel(void *user, nczchunk_object_request *request) noexcept
    {
        static_cast<void>(detail::guarded([&] {
            objects(user).cancel(ObjectRequest(request));
            return NCZCHUNK_NOERR;
        }));
    }

    detail::Owned<nczchunk_storage, nczchunk_storage_free> storage_;
};

// ---------------------------------------------------------------------------------------------------------------------
// ARRAYS

namespace detail {

/// The pairs of strings that a function of C calls back with.
template <class Each> std::vector<std::pair<std::string, std::string>> pairs(Each each, ContextRef context)
{
    std::vector<std::pair<std::string, std::string>> all;
    const auto add = [](void *user, const char *first, const char *second) noexcept {
        try {
            static_cast<decltype(all) *>(user)->emplace_back(first, second);
            return NCZCHUNK_NOERR;
        } catch (...) {
            return NCZCHUNK_ENOMEM;
        }
    };
    call([&](nczchunk_context *with) { return each(+add, &all, with); }, context);
    return all;
}

/// Calls a function of C with a callable that gets each structure as a Ref: void, or bool, where false ends the call.
template <class Ref, class Structure, class Tell, class Each> void tell_each(Tell &tell, Each each, ContextRef context)
{
    struct Told {
        Tell &tell;
        bool is_enough;
    } told = {tell, false};
    const auto found = [](void *user, const Structure *one) noexcept {
        return guarded([&] {
            auto &[tell_of, is_enough] = *static_cast<Told *>(user);
            if constexpr (std::is_same_v<std::invoke_result_t<Tell &, Ref>, bool>)
                is_enough = !tell_of(Ref(one));
            else
                tell_of(Ref(one));
            return is_enough ? static_cast<int>(std::errc::operation_canceled) : NCZCHUNK_NOERR;
        });
    };
    call(
        [&](nczchunk_context *with) {
            const int status = each(+found, &told, with);
            return told.is_enough ? NCZCHUNK_NOERR : status;
        },
        context);
}

} // namespace detail

/// The location of a chunk: see nczchunk_located.
struct Located {
    std::vector<std::ptrdiff_t> indices;
    std::string object;
    bool is_stored = false;
    std::uint64_t offset = 0;
    std::uint64_t len = 0;
};

/// The location of a chunk during a callback: valid until the callable returns.
class LocatedRef {
  public:
    explicit LocatedRef(const nczchunk_located *chunk) noexcept : chunk_(chunk) {}

    /// The chunk's indices.
    Span<const std::ptrdiff_t> indices() const noexcept { return {chunk_->chunk_indices, chunk_->rank}; }
    /// The object of the storage that holds the chunk, or would hold it.
    std::string_view object() const noexcept { return chunk_->object; }
    /// Whether the chunk is stored; otherwise it is missing, and reads as the fill value.
    bool is_stored() const noexcept { return chunk_->state == NCZCHUNK_STORED; }
    /// The chunk's bytes in the object.
    std::uint64_t offset() const noexcept { return chunk_->offset; }
    std::uint64_t len() const noexcept { return chunk_->len; }

    Located copy() const
    {
        return {{indices().begin(), indices().end()}, std::string(object()), is_stored(), offset(), len()};
    }

    const nczchunk_located *get() const noexcept { return chunk_; }

  private:
    const nczchunk_located *chunk_;
};

/// What it takes to read something from a storage: see nczchunk_array.h.
using ReadCost = nczchunk_read_cost;

/// An open array: see nczchunk_array. It is closed when it is destroyed. Any number of threads may read it at the same
/// time if its storage allows that; every built-in storage does.
class Array {
  public:
    /// Opens an array. path is a directory, a zip file, or a file that holds arrays. name is the array's path in it,
    /// and is empty if path is the array itself. Throws the errors of nczchunk_array_open.
    static Array open(const std::string &path,
                      const std::string &name = {},
                      Access access = Access::read,
                      ContextRef context = {})
    {
        return Array(
            [&](nczchunk_array **array, nczchunk_context *with) {
                return nczchunk_array_open(detail::c_text(path), detail::c_text(name), static_cast<int>(access), array,
                                           with);
            },
            context);
    }

    static Array open(const Storage &storage,
                      const std::string &name = {},
                      Access access = Access::read,
                      ContextRef context = {})
    {
        return Array(
            [&](nczchunk_array **array, nczchunk_context *with) {
                return nczchunk_array_open_in(storage.get(), detail::c_text(name), static_cast<int>(access), array,
                                              with);
            },
            context);
    }

    /// Opens an array whose metadata are there already, by the text of its zarr.json or .zarray: only chunks are read
    /// from the storage. Throws the errors of nczchunk_array_open_document.
    static Array open_document(const Storage &storage,
                               const std::string &name,
                               const std::string &document,
                               Access access = Access::read,
                               ContextRef context = {})
    {
        return Array(
            [&](nczchunk_array **array, nczchunk_context *with) {
                return nczchunk_array_open_document(storage.get(), detail::c_text(name), detail::c_text(document),
                                                    static_cast<int>(access), array, with);
            },
            context);
    }

    /// Opens an array that may be missing: returns nothing if there is none. Throws all other errors. (Here a missing
    /// array is an answer and not a failure. No other function has a variant that does not throw.)
    static std::optional<Array> find(const std::string &path,
                                     const std::string &name = {},
                                     Access access = Access::read,
                                     ContextRef context = {})
    {
        return found([&] { return open(path, name, access, context); });
    }

    static std::optional<Array> find(const Storage &storage,
                                     const std::string &name = {},
                                     Access access = Access::read,
                                     ContextRef context = {})
    {
        return found([&] { return open(storage, name, access, context); });
    }

    /// Creates an array, and opens it for reading and writing: see nczchunk_array_create.
    static Array create(const std::string &path,
                        const std::string &name,
                        const Description &description,
                        ContextRef context = {})
    {
        std::optional<Array> array;
        description.pass([&](const nczchunk_description *passed) {
            array = Array(
                [&](nczchunk_array **made, nczchunk_context *with) {
                    return nczchunk_array_create(detail::c_text(path), detail::c_text(name), passed, made, with);
                },
                context);
        });
        return std::move(*array);
    }

    static Array create(const Storage &storage,
                        const std::string &name,
                        const Description &description,
                        ContextRef context = {})
    {
        std::optional<Array> array;
        description.pass([&](const nczchunk_description *passed) {
            array = Array(
                [&](nczchunk_array **made, nczchunk_context *with) {
                    return nczchunk_array_create_in(storage.get(), detail::c_text(name), passed, made, with);
                },
                context);
        });
        return std::move(*array);
    }

    /// Closes the array before it is destroyed. Everything borrowed from it is no longer valid.
    void close() noexcept { array_.reset(); }

    /// The variable and the store, for plans and the functions of nczchunk.hpp. They are valid until the array is
    /// closed, the variable until it is resized. These functions check the size of an element, but not its type.
    VariableRef variable() const noexcept { return VariableRef(nczchunk_array_var(array_.get())); }
    StoreRef store() const noexcept { return StoreRef(nczchunk_array_store(array_.get())); }

    std::size_t rank() const noexcept { return variable().rank(); }
    Lengths shape() const { return variable().shape(); }
    Lengths chunk_shape() const { return variable().chunk_shape(); }

    /// netCDF's number for the type of the elements, or 0 if netCDF has no such type; and the type's name.
    int type() const noexcept { return nczchunk_array_type(array_.get()); }
    std::string type_name() const { return nczchunk_array_type_name(array_.get()); }

    /// The storage format, such as "Zarr v3": see nczchunk_array_format.
    std::string format() const { return nczchunk_array_format(array_.get()); }

    /// The names and configurations of the codecs of the chunks, in the order of encoding: see nczchunk_array_codecs.
    std::vector<std::pair<std::string, std::string>> codecs(ContextRef context = {}) const
    {
        return detail::pairs(
            [&](auto add, void *user, nczchunk_context *with) {
                return nczchunk_array_codecs(array_.get(), add, user, with);
            },
            context);
    }

    /// Whether read, read_into and write take elements of this type: see Element.
    template <class T> bool has_elements() const
    {
        const char *const name = nczchunk_array_type_name(array_.get());
        if constexpr (std::is_same_v<T, std::string>) {
            return std::string_view(name) == "string";
        } else {
            const std::size_t size = variable().element_size();
            return size == sizeof(T) && Element<T>::fits(type(), name, size);
        }
    }

    /// The name of a dimension, empty if it has none; and all names.
    std::string dimension_name(std::size_t dimension) const { return nczchunk_array_dimname(array_.get(), dimension); }
    std::vector<std::string> dimension_names() const
    {
        std::vector<std::string> names;
        for (std::size_t d = 0; d < rank(); d++)
            names.push_back(dimension_name(d));
        return names;
    }

    /// The fill value, which reads return where nothing was written; nothing if the array does not define it, which
    /// stands for zeros. Throws Status::bad_type if the elements are not T.
    template <class T> std::optional<T> fill_value() const
    {
        check_type<T>();
        return variable().template fill_value<T>();
    }

    /// Reads a hyperslab and returns its elements, row-major. Throws Status::bad_type if they are not T, and the errors
    /// of nczchunk_array_read.
    template <class T> std::vector<T> read(const Hyperslab &hyperslab = {}, ContextRef context = {}) const
    {
        static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no elements; read std::uint8_t");
        check_type<T>();
        std::vector<T> data(detail::Selection(variable(), hyperslab).elements());
        read_into(hyperslab, data, context);
        return data;
    }

    /// Reads a hyperslab into memory of the caller's: any contiguous container, C array or span with exactly as many
    /// elements as are selected.
    template <class Container>
    void read_into(const Hyperslab &hyperslab, Container &&out, ContextRef context = {}) const
    {
        const auto span = detail::writable_span(out);
        using T = typename decltype(span)::value_type;
        check_type<T>();
        const detail::Selection selection(variable(), hyperslab);
        selection.check_memory(span.size());
        if constexpr (std::is_same_v<T, std::string>) {
            FreedTexts texts(span.size());
            read_raw(selection, texts.pointers.data(), context);
            for (std::size_t i = 0; i < span.size(); i++)
                span[i] = texts.pointers[i] == nullptr ? "" : texts.pointers[i];
        } else {
            read_raw(selection, selection.memory(span.data()), context);
        }
    }

    /// Reads a hyperslab into a part of memory, in any layout: see read_into of nczchunk.hpp.
    template <class Container>
    void read_into(const Hyperslab &hyperslab, Container &&out, const Layout &layout, ContextRef context = {}) const
    {
        check_type<typename decltype(detail::writable_span(out))::value_type>();
        nczchunk::read_into(variable(), store(), hyperslab, out, layout, context);
    }

    /// Reads or writes single elements, or those of lists of indices along dimensions: see read_points and read_lists
    /// of nczchunk.hpp. Not for strings.
    template <class T, class Points> std::vector<T> read_points(const Points &points, ContextRef context = {}) const
    {
        check_type<T>();
        return nczchunk::read_points<T>(variable(), store(), points, context);
    }
    template <class Points, class Container>
    void write_points(const Points &points, const Container &data, ContextRef context = {}) const
    {
        check_type<std::remove_cv_t<detail::ValueOf<const Container>>>();
        nczchunk::write_points(variable(), store(), points, data, context);
    }
    template <class T> std::vector<T> read_lists(const Lists &lists, ContextRef context = {}) const
    {
        check_type<T>();
        return nczchunk::read_lists<T>(variable(), store(), lists, context);
    }
    template <class Container>
    void write_lists(const Lists &lists, const Container &data, ContextRef context = {}) const
    {
        check_type<std::remove_cv_t<detail::ValueOf<const Container>>>();
        nczchunk::write_lists(variable(), store(), lists, data, context);
    }

    /// Writes a hyperslab of an array that was opened with Access::write, from memory of the caller's: see
    /// nczchunk_array_write. For an array of strings, pass a container of std::string, std::string_view or const char
    /// *.
    template <class Container>
    void write(const Hyperslab &hyperslab, const Container &data, ContextRef context = {}) const
    {
        using T = std::remove_cv_t<detail::ValueOf<const Container>>;
        check_type<std::conditional_t<detail::is_text<T>, std::string, T>>();
        const detail::Selection selection(variable(), hyperslab);
        selection.check_memory(as_span(data).size());
        if constexpr (detail::is_text<T>) {
            const detail::Texts texts(as_span(data));
            write_raw(selection, selection.memory(texts.data()), context);
        } else {
            write_raw(selection, selection.memory(as_span(data).data()), context);
        }
    }

    /// Writes a hyperslab from a part of memory, in any layout.
    template <class Container>
    void write(const Hyperslab &hyperslab,
               const Container &data,
               const Layout &layout,
               ContextRef context = {}) const
    {
        check_type<std::remove_cv_t<detail::ValueOf<const Container>>>();
        nczchunk::write(variable(), store(), hyperslab, data, layout, context);
    }

    /// Locates the stored chunks that a hyperslab touches: calls a callable for each, void or bool (LocatedRef). After
    /// it returns false it is not called again. See nczchunk_array_locate.
    template <class Tell> void locate_each(const Hyperslab &hyperslab, Tell &&tell, ContextRef context = {}) const
    {
        const detail::Selection selection(variable(), hyperslab);
        detail::tell_each<LocatedRef, nczchunk_located>(
            tell,
            [&](auto each, void *user, nczchunk_context *with) {
                return nczchunk_array_locate(
                    array_.get(), selection.start(), selection.count(), selection.stride(), each, user, with);
            },
            context);
    }

    /// The locations of the chunks that a hyperslab touches; by default, of all chunks of the array.
    std::vector<Located> locate(const Hyperslab &hyperslab = {}, ContextRef context = {}) const
    {
        std::vector<Located> all;
        locate_each(hyperslab, [&](LocatedRef chunk) { all.push_back(chunk.copy()); }, context);
        return all;
    }

    /// What it takes to read a hyperslab, by default the whole array: see nczchunk_array_read_cost.
    ReadCost read_cost(const Hyperslab &hyperslab = {}, ContextRef context = {}) const
    {
        const detail::Selection selection(variable(), hyperslab);
        ReadCost cost = NCZCHUNK_READ_COST_INIT;
        call(
            [&](nczchunk_context *with) {
                return nczchunk_array_read_cost(
                    array_.get(), selection.start(), selection.count(), selection.stride(), &cost, with);
            },
            context);
        return cost;
    }

    /// Changes the shape of the array: see nczchunk_array_resize. Throws Status::invalid for another rank.
    void resize(const Lengths &shape, ContextRef context = {})
    {
        if (array_ && shape.size() != rank())
            throw Error(Status::invalid, "the array has " + detail::text(rank()) + " dimensions, not "
                                             + detail::text(shape.size()));
        call([&](nczchunk_context *with) { return nczchunk_array_resize(array_.get(), shape.data(), with); }, context);
    }

    /// Updates the array to what is stored now: see nczchunk_array_refresh.
    void refresh(ContextRef context = {})
    {
        call([&](nczchunk_context *with) { return nczchunk_array_refresh(array_.get(), with); }, context);
    }

    /// Keeps decoded chunks in another cache than the array's own, or in none. The array can still use a cache that is
    /// destroyed.
    void set_cache(const Cache &cache) { set_cache(cache.get()); }
    void set_no_cache() { set_cache(nullptr); }

    /// Sets whether every chunk is decoded completely.
    void set_verify(bool verify)
    {
        call([&](nczchunk_context *context) {
            return nczchunk_array_set_verify(array_.get(), verify ? 1 : 0, context);
        });
    }

    /// All attributes, in the order in which they are stored. They are valid until one is changed or the
    /// array is closed, resized or refreshed. Throws if they cannot be read, even if the rest of the array can.
    std::vector<Attribute> attributes() const
    {
        std::vector<Attribute> all;
        call([&](nczchunk_context *context) { return nczchunk_array_check_attributes(array_.get(), context); });
        for (std::size_t i = 0; i < nczchunk_array_num_attributes(array_.get()); i++) {
            nczchunk_attribute attribute = NCZCHUNK_ATTRIBUTE_INIT;
            call([&](nczchunk_context *context) {
                return nczchunk_array_attribute_at(array_.get(), i, &attribute, context);
            });
            all.emplace_back(attribute);
        }
        return all;
    }

    /// The attribute of this name. Throws Status::no_attribute if there is none.
    Attribute attribute(const std::string &name) const
    {
        nczchunk_attribute attribute = NCZCHUNK_ATTRIBUTE_INIT;
        call([&](nczchunk_context *context) {
            return nczchunk_array_attribute(array_.get(), detail::c_text(name), &attribute, context);
        });
        return Attribute(attribute);
    }

    /// The attribute of this name as a value: see Attribute::as.
    template <class T> T attribute(const std::string &name) const { return attribute(name).as<T>(); }

    /// The attribute of this name, or nothing.
    std::optional<Attribute> find_attribute(const std::string &name) const
    {
        try {
            return attribute(name);
        } catch (const Error &error) {
            if (error.code() == Status::no_attribute)
                return std::nullopt;
            throw;
        }
    }

    /// All attributes as a JSON object in a string.
    std::string attributes_json() const { return nczchunk_array_attributes_json(array_.get()); }

    /// What is stored with the array and a copy does not have: names of attributes with the reasons. The name is empty
    /// for a part of the type of the elements. See nczchunk_array_left_out.
    std::vector<std::pair<std::string, std::string>> left_out(ContextRef context = {}) const
    {
        return detail::pairs(
            [&](auto add, void *user, nczchunk_context *with) {
                return nczchunk_array_left_out(array_.get(), add, user, with);
            },
            context);
    }

    /// Sets or adds an attribute, immediately: a number, a string, or a contiguous container of either. See
    /// nczchunk_array_set_attribute.
    template <class Value> void set_attribute(const std::string &name, const Value &value)
    {
        detail::with_attribute(value, [&](int type, std::size_t num_values, const void *values) {
            call([&](nczchunk_context *context) {
                return nczchunk_array_set_attribute(array_.get(), detail::c_text(name), type, num_values, values,
                                                    context);
            });
        });
    }

    /// Sets each member of a JSON object as an attribute, immediately. See nczchunk_array_set_attributes_json.
    void set_attributes_json(const std::string &attributes)
    {
        call([&](nczchunk_context *context) {
            return nczchunk_array_set_attributes_json(array_.get(), detail::c_text(attributes), context);
        });
    }

    /// Removes an attribute, immediately.
    void remove_attribute(const std::string &name)
    {
        call([&](nczchunk_context *context) {
            return nczchunk_array_remove_attribute(array_.get(), detail::c_text(name), context);
        });
    }

    nczchunk_array *get() const noexcept { return array_.get(); }

  private:
    /// Strings that the library has made.
    struct FreedTexts {
        explicit FreedTexts(std::size_t number) : pointers(number, nullptr) {}
        FreedTexts(const FreedTexts &) = delete;
        FreedTexts &operator=(const FreedTexts &) = delete;
        ~FreedTexts() { nczchunk_strings_free(pointers.size(), pointers.data()); }
        std::vector<char *> pointers;
    };

    template <class Make>
    explicit Array(Make make, ContextRef context)
        : array_(detail::make<nczchunk_array, nczchunk_array_close>(std::move(make), context))
    {
    }

    template <class Open> static std::optional<Array> found(Open open)
    {
        try {
            return open();
        } catch (const Error &error) {
            if (error.code() == Status::not_found)
                return std::nullopt;
            throw;
        }
    }

    template <class T> void check_type() const
    {
        if (!array_)
            throw Error(Status::invalid, "the array is closed, or was moved from");
        if (has_elements<T>())
            return;
        std::string name;
        if constexpr (std::is_same_v<T, std::string>)
            name = "string";
        else
            name = Element<T>::name();
        throw Error(Status::bad_type, "the elements of the array are " + type_name() + ", not " + name);
    }

    void read_raw(const detail::Selection &selection, void *data, ContextRef context) const
    {
        call(
            [&](nczchunk_context *with) {
                return nczchunk_array_read(array_.get(), selection.start(), selection.count(), selection.stride(), data,
                                           with);
            },
            context);
    }

    void write_raw(const detail::Selection &selection, const void *data, ContextRef context) const
    {
        call(
            [&](nczchunk_context *with) {
                return nczchunk_array_write(array_.get(), selection.start(), selection.count(), selection.stride(),
                                            data, with);
            },
            context);
    }

    void set_cache(const nczchunk_cache *cache)
    {
        call([&](nczchunk_context *context) { return nczchunk_array_set_cache(array_.get(), cache, context); });
    }

    detail::Owned<nczchunk_array, nczchunk_array_close> array_;
};

// ---------------------------------------------------------------------------------------------------------------------
// LISTING A GROUP

/// A group or array in a listing: see nczchunk_node.
struct Node {
    /// Its path: its name after the names of its groups. Empty for the storage itself.
    std::string name;
    bool is_group = false;
    /// 0, or the status with which it cannot be opened, and the message for it. Then the fields after these are 0 or
    /// empty.
    int status = 0;
    std::string message;
    /// The type of an array's elements: netCDF's number, and the name.
    int type = 0;
    std::string type_name;
    /// The lengths of the dimensions, of the chunks and, if it has any, of the shards.
    Lengths shape, chunk_shape;
    std::optional<Lengths> shard_shape;
    /// The names of the dimensions, and which of them are unlimited.
    std::vector<std::string> dimension_names;
    std::vector<bool> is_unlimited;
    /// All attributes as a JSON object in a string.
    std::string attributes_json;
    /// The message if the attributes cannot be read; empty if they can.
    std::string attributes_message;
    /// The format, as Array::format returns it; empty if it cannot be opened.
    std::string format;
    /// What is stored and a copy does not have: see Array::left_out.
    std::vector<std::pair<std::string, std::string>> left_out;
};

/// A group or array during a listing: valid until the callback returns.
class NodeRef {
  public:
    explicit NodeRef(const nczchunk_node *node) noexcept : node_(node) {}

    std::string_view name() const noexcept { return node_->name; }
    bool is_group() const noexcept { return node_->is_group != 0; }
    int status() const noexcept { return static_cast<int>(node_->status); }
    std::string_view message() const noexcept { return node_->message; }
    std::string_view attributes_message() const noexcept { return node_->attributes_message; }
    std::string_view format() const noexcept { return node_->format; }
    int type() const noexcept { return static_cast<int>(node_->type); }
    std::string_view type_name() const noexcept { return node_->type_name; }
    Span<const std::size_t> shape() const noexcept { return {node_->shape, node_->rank}; }
    std::string_view dimension_name(std::size_t dimension) const noexcept { return node_->dimension_names[dimension]; }

    std::vector<Attribute> attributes() const
    {
        std::vector<Attribute> all;
        for (std::size_t i = 0; i < node_->num_attributes; i++) {
            nczchunk_attribute attribute = NCZCHUNK_ATTRIBUTE_INIT;
            call([&](nczchunk_context *context) { return nczchunk_node_attribute_at(node_, i, &attribute, context); });
            all.emplace_back(attribute);
        }
        return all;
    }

    /// What is stored and a copy does not have: see Array::left_out.
    std::vector<std::pair<std::string, std::string>> left_out(ContextRef context = {}) const
    {
        return detail::pairs(
            [&](auto add, void *user, nczchunk_context *with) {
                return nczchunk_node_left_out(node_, add, user, with);
            },
            context);
    }

    /// A copy of everything except the attributes' values.
    Node copy() const
    {
        Node node;
        node.name = node_->name;
        node.is_group = is_group();
        node.status = status();
        node.message = node_->message;
        node.type = type();
        node.type_name = node_->type_name;
        node.shape = Lengths(node_->shape, node_->rank);
        node.chunk_shape = Lengths(node_->chunk_shape, node_->rank);
        if (node_->shard_shape != nullptr)
            node.shard_shape = Lengths(node_->shard_shape, node_->rank);
        for (std::size_t d = 0; d < node_->rank; d++) {
            node.dimension_names.emplace_back(node_->dimension_names[d]);
            node.is_unlimited.push_back(node_->is_unlimited[d] != 0);
        }
        node.attributes_json = node_->attributes_json;
        node.attributes_message = node_->attributes_message;
        node.format = node_->format;
        node.left_out = left_out();
        return node;
    }

    const nczchunk_node *get() const noexcept { return node_; }

  private:
    const nczchunk_node *node_;
};

/// Lists a group: calls a callable for the group, and for each group and array in it, as they are found: void or bool
/// (NodeRef). If it returns false, the listing ends. See nczchunk_list.
template <class Tell>
void list_each(const std::string &path,
               const std::string &group,
               bool recursive,
               Tell &&tell,
               ContextRef context = {})
{
    detail::tell_each<NodeRef, nczchunk_node>(
        tell,
        [&](auto found, void *user, nczchunk_context *with) {
            return nczchunk_list(detail::c_text(path), detail::c_text(group), recursive ? 1 : 0, found, user, with);
        },
        context);
}

template <class Tell>
void list_each(const Storage &storage,
               const std::string &group,
               bool recursive,
               Tell &&tell,
               ContextRef context = {})
{
    detail::tell_each<NodeRef, nczchunk_node>(
        tell,
        [&](auto found, void *user, nczchunk_context *with) {
            return nczchunk_list_in(storage.get(), detail::c_text(group), recursive ? 1 : 0, found, user, with);
        },
        context);
}

/// Lists a group: the group itself first, then each group and array in it; if recursive, also the contents of those
/// groups.
inline std::vector<Node> list(const std::string &path, const std::string &group = {}, bool recursive = true)
{
    std::vector<Node> nodes;
    list_each(path, group, recursive, [&](NodeRef node) { nodes.push_back(node.copy()); });
    return nodes;
}

inline std::vector<Node> list(const Storage &storage, const std::string &group = {}, bool recursive = true)
{
    std::vector<Node> nodes;
    list_each(storage, group, recursive, [&](NodeRef node) { nodes.push_back(node.copy()); });
    return nodes;
}

/// The group or array of a storage that has this name, without its members. See nczchunk_list_node.
inline Node node(const Storage &storage, const std::string &name = {}, ContextRef context = {})
{
    Node found;
    const auto keep = [&](NodeRef one) { found = one.copy(); };
    detail::tell_each<NodeRef, nczchunk_node>(
        keep,
        [&](auto tell, void *user, nczchunk_context *with) {
            return nczchunk_list_node(storage.get(), detail::c_text(name), tell, user, with);
        },
        context);
    return found;
}

// GROUPS

/// A dimension that a group defines: see nczchunk_dimension.
struct GroupDimension {
    std::string name;
    std::size_t len = 0;
    bool is_unlimited = false;
};

/// The dimensions that a group defines, whether an array has them or not. See nczchunk_group_dimensions.
inline std::vector<GroupDimension>
group_dimensions(const Storage &storage, const std::string &group = {}, ContextRef context = {})
{
    std::vector<GroupDimension> all;
    const auto keep = [&](const nczchunk_dimension *one) {
        all.push_back({one->name, one->len, one->is_unlimited != 0});
    };
    detail::tell_each<const nczchunk_dimension *, nczchunk_dimension>(
        keep,
        [&](auto tell, void *user, nczchunk_context *with) {
            return nczchunk_group_dimensions(storage.get(), detail::c_text(group), tell, user, with);
        },
        context);
    return all;
}

/// Creates a group, with the members of a JSON object as its attributes. Without a format it is of the version of the
/// group that it is in, or of Zarr v3. See nczchunk_group_create.
inline void create_group(const std::string &path,
                         const std::string &name = {},
                         const std::string &attributes_json = "{}",
                         std::optional<Format> format = {})
{
    const std::size_t number = format ? static_cast<std::size_t>(*format) : 0;
    call([&](nczchunk_context *context) {
        return nczchunk_group_create(detail::c_text(path), detail::c_text(name), number,
                                     detail::c_text(attributes_json), context);
    });
}

inline void create_group(const Storage &storage,
                         const std::string &name = {},
                         const std::string &attributes_json = "{}",
                         std::optional<Format> format = {})
{
    const std::size_t number = format ? static_cast<std::size_t>(*format) : 0;
    call([&](nczchunk_context *context) {
        return nczchunk_group_create_in(storage.get(), detail::c_text(name), number, detail::c_text(attributes_json),
                                        context);
    });
}

/// Sets or adds an attribute of a group, immediately: a number, a string, or a contiguous container of either. See
/// nczchunk_group_set_attribute.
template <class Value>
void set_group_attribute(const Storage &storage, const std::string &group, const std::string &name, const Value &value)
{
    detail::with_attribute(value, [&](int type, std::size_t num_values, const void *values) {
        call([&](nczchunk_context *context) {
            return nczchunk_group_set_attribute(storage.get(), detail::c_text(group), detail::c_text(name), type,
                                                num_values, values, context);
        });
    });
}

/// Sets each member of a JSON object as an attribute of a group, immediately.
inline void
set_group_attributes_json(const Storage &storage, const std::string &group, const std::string &attributes_json)
{
    call([&](nczchunk_context *context) {
        return nczchunk_group_set_attributes_json(storage.get(), detail::c_text(group),
                                                  detail::c_text(attributes_json), context);
    });
}

/// Removes an attribute of a group, immediately.
inline void remove_group_attribute(const Storage &storage, const std::string &group, const std::string &name)
{
    call([&](nczchunk_context *context) {
        return nczchunk_group_remove_attribute(storage.get(), detail::c_text(group), detail::c_text(name), context);
    });
}

/// Copies the metadata of all that is in a group into the group's own. See nczchunk_group_consolidate.
inline void consolidate(const Storage &storage, const std::string &group = {})
{
    call([&](nczchunk_context *context) {
        return nczchunk_group_consolidate(storage.get(), detail::c_text(group), context);
    });
}

// ---------------------------------------------------------------------------------------------------------------------
// RECHUNKING

/// How an array is or was rechunked: see nczchunk_rechunk_report.
using RechunkReport = nczchunk_rechunk_report;

/// How an array is to be rechunked: see nczchunk_rechunk_options. By default with chunks of about 16 MiB, or those that
/// a Zarr array has, to Zarr v3, within 256 MiB of memory.
///
///     nczchunk::RechunkOptions().chunks({365, 24, 24}).memory(64 << 20)
class RechunkOptions {
  public:
    /// Sets the most bytes of memory that the call takes.
    RechunkOptions &memory(std::size_t bytes)
    {
        memory_ = bytes;
        return *this;
    }

    /// Sets the lengths of a chunk; and the lengths of a shard, which are multiples of those of a chunk.
    RechunkOptions &chunks(const Lengths &lengths)
    {
        chunks_ = lengths;
        return *this;
    }
    RechunkOptions &shards(const Lengths &lengths)
    {
        shards_ = lengths;
        return *this;
    }

    /// Adds a codec, as Description::codec does; or has none. By default those of a Zarr array stay.
    RechunkOptions &codec(std::string name, std::string configuration = {})
    {
        codecs_.emplace_back(std::move(name), std::move(configuration));
        return *this;
    }
    RechunkOptions &uncompressed()
    {
        uncompressed_ = true;
        return *this;
    }

    RechunkOptions &format(Format format)
    {
        format_ = format;
        return *this;
    }

    RechunkOptions &endian(Endian endian)
    {
        endian_ = endian;
        return *this;
    }

    /// Sets where the temporary array is, if there is one. The storage must exist as long as these options are used.
    RechunkOptions &temporary(const Storage &storage)
    {
        temporary_ = &storage;
        return *this;
    }

    /// Calls function with the options as C has them, for an array of this rank, and returns its report.
    template <class Function> RechunkReport pass(const Array &source, ContextRef context, Function function) const
    {
        for (const std::optional<Lengths> *lengths : {&chunks_, &shards_})
            if (*lengths && (*lengths)->size() != nczchunk_var_rank(nczchunk_array_var(source.get())))
                throw Error(Status::invalid, "there must be a length for each dimension of the array");
        std::vector<nczchunk_codec_setting> codecs;
        for (const auto &[name, configuration] : codecs_)
            codecs.push_back({detail::c_text(name), detail::c_text(configuration)});
        nczchunk_rechunk_options options = NCZCHUNK_RECHUNK_OPTIONS_INIT;
        options.memory = memory_;
        options.chunk_shape = chunks_ ? chunks_->data() : nullptr;
        options.shard_shape = shards_ ? shards_->data() : nullptr;
        options.codecs = codecs.empty() ? nullptr : codecs.data();
        options.num_codecs = codecs.size();
        options.uncompressed = uncompressed_ ? 1 : 0;
        options.format = static_cast<std::size_t>(format_);
        options.endian = static_cast<std::size_t>(endian_);
        options.temporary = temporary_ != nullptr ? temporary_->get() : nullptr;
        RechunkReport report = NCZCHUNK_RECHUNK_REPORT_INIT;
        call([&](nczchunk_context *with) { return function(&options, &report, with); }, context);
        return report;
    }

  private:
    std::size_t memory_ = std::size_t(256) << 20;
    std::optional<Lengths> chunks_, shards_;
    std::vector<std::pair<std::string, std::string>> codecs_;
    Format format_ = Format::zarr_v3;
    Endian endian_ = Endian::native;
    const Storage *temporary_ = nullptr;
    bool uncompressed_ = false;
};

/// Writes the elements of an array to a new array with other chunks, within a limit of memory. A call that was ended in
/// the middle is continued by the same call. The threads and the progress callback are the context's. See
/// nczchunk_rechunk.
inline RechunkReport rechunk(const Array &source,
                             const std::string &path,
                             const std::string &name = {},
                             const RechunkOptions &options = {},
                             ContextRef context = {})
{
    return options.pass(source, context, [&](const auto *passed, RechunkReport *report, nczchunk_context *with) {
        return nczchunk_rechunk(source.get(), detail::c_text(path), detail::c_text(name), passed, report, with);
    });
}

inline RechunkReport rechunk(const Array &source,
                             const Storage &storage,
                             const std::string &name = {},
                             const RechunkOptions &options = {},
                             ContextRef context = {})
{
    return options.pass(source, context, [&](const auto *passed, RechunkReport *report, nczchunk_context *with) {
        return nczchunk_rechunk_in(source.get(), storage.get(), detail::c_text(name), passed, report, with);
    });
}

/// How rechunk would rechunk an array. Nothing is read or written.
inline RechunkReport rechunk_plan(const Array &source, const RechunkOptions &options = {}, ContextRef context = {})
{
    return options.pass(source, context, [&](const auto *passed, RechunkReport *report, nczchunk_context *with) {
        return nczchunk_rechunk_plan(source.get(), passed, report, with);
    });
}

} // namespace NCZCHUNK_NAMESPACE

#endif // NCZCHUNK_ARRAY_HPP
