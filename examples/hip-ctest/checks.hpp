// What the programs of many checks share. `PROGRAM NAME..` runs the checks of these names, `PROGRAM` all of them, `PROGRAM --list` prints
// the names. Each check prints `ok NAME`, `skipped NAME: why` or `FAILED NAME: what (line N)`. The program ends with 1 when one failed.
//
// The checks say what AMD's own runtimes 6.4 and 7.2 answer, over this workspace's libhsa-runtime64. Where they answer what
// the manual does not say, a comment does.
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

// What `mkstemp` makes a name of.
inline std::string name_of_a_file() { return "/tmp/hip-ctest-" + std::string(6, 'X'); }

struct Failure {
    std::string what;
    int line;
};
struct Skipped {
    std::string why;
};

struct Check {
    const char* name;
    void (*run)();
    static std::vector<Check>& all() {
        static std::vector<Check> checks;
        return checks;
    }
    Check(const char* name, void (*run)()) : name(name), run(run) { all().push_back(*this); }
    Check(const Check&) = default;
};

#define CHECK(name)                                \
    static void check_##name();                    \
    static Check entry_##name(#name, check_##name); \
    static void check_##name()

// The call succeeds.
#define OK(...)                                                                                                        \
    do {                                                                                                               \
        hipError_t error_ = (__VA_ARGS__);                                                                             \
        if (error_ != hipSuccess) throw Failure{std::string(#__VA_ARGS__ " is ") + hipGetErrorName(error_), __LINE__}; \
    } while (0)

// The call is this error, which then is no longer the last one.
#define FAILS(wanted, ...)                                                                                                    \
    do {                                                                                                                      \
        hipError_t error_ = (__VA_ARGS__);                                                                                    \
        if (error_ != (wanted))                                                                                               \
            throw Failure{std::string(#__VA_ARGS__ " is ") + hipGetErrorName(error_) + ", should be " #wanted, __LINE__};     \
        (void)hipGetLastError();                                                                                              \
    } while (0)

template <typename T> std::string shown(const T& value) {
    if constexpr (std::is_convertible_v<T, std::string>) return std::string("`") + std::string(value) + "`";
    else if constexpr (std::is_pointer_v<T>) return std::to_string(reinterpret_cast<uintptr_t>(value));
    else if constexpr (std::is_enum_v<T>) return std::to_string(int(value));
    else return std::to_string(value);
}

// Two values are the same.
#define SAME(got, wanted)                                                                                             \
    do {                                                                                                              \
        auto got_ = (got);                                                                                            \
        auto wanted_ = (wanted);                                                                                      \
        if (!(got_ == wanted_)) throw Failure{#got " is " + shown(got_) + ", should be " + shown(wanted_), __LINE__}; \
    } while (0)

#define TRUE(...)                                                            \
    do {                                                                     \
        if (!(__VA_ARGS__)) throw Failure{#__VA_ARGS__ " is not so", __LINE__}; \
    } while (0)

#define SKIP(why) throw Skipped { why }

// Numbers that a kernel or a copy should have left, with what each should be.
#define ALL(numbers, n, i, wanted)                                                                                                         \
    do {                                                                                                                                   \
        for (size_t i = 0; i < size_t(n); i++) {                                                                                           \
            auto number_ = (numbers)[i];                                                                                                   \
            auto wanted_ = decltype(number_)(wanted);                                                                                      \
            if (!(number_ == wanted_))                                                                                                     \
                throw Failure{#numbers "[" + std::to_string(i) + "] is " + shown(number_) + ", should be " + shown(wanted_), __LINE__};   \
        }                                                                                                                                  \
    } while (0)

// Numbers of the card, freed at the end of the check.
template <typename T> struct Numbers {
    T* at = nullptr;
    size_t n;
    explicit Numbers(size_t n) : n(n) { OK(hipMalloc(&at, n * sizeof(T))); }
    Numbers(const Numbers&) = delete;
    ~Numbers() { (void)hipFree(at); }
    operator T*() const { return at; }
    size_t bytes() const { return n * sizeof(T); }
    std::vector<T> read() const {
        std::vector<T> host(n);
        OK(hipMemcpy(host.data(), at, bytes(), hipMemcpyDeviceToHost));
        return host;
    }
    void write(const std::vector<T>& host) { OK(hipMemcpy(at, host.data(), host.size() * sizeof(T), hipMemcpyHostToDevice)); }
};

struct Stream {
    hipStream_t at = nullptr;
    explicit Stream(unsigned flags = hipStreamDefault) { OK(hipStreamCreateWithFlags(&at, flags)); }
    Stream(const Stream&) = delete;
    ~Stream() { (void)hipStreamDestroy(at); }
    operator hipStream_t() const { return at; }
};

struct Event {
    hipEvent_t at = nullptr;
    explicit Event(unsigned flags = hipEventDefault) { OK(hipEventCreateWithFlags(&at, flags)); }
    Event(const Event&) = delete;
    ~Event() { (void)hipEventDestroy(at); }
    operator hipEvent_t() const { return at; }
};

inline int runtime() {
    int version = 0;
    OK(hipRuntimeGetVersion(&version));
    return version / 10000000;
}

inline bool run(const Check& check) {
    (void)hipGetLastError();
    try {
        check.run();
        OK(hipDeviceSynchronize());
        std::printf("ok %s\n", check.name);
        return true;
    } catch (const Failure& failure) {
        std::printf("FAILED %s: %s (line %d)\n", check.name, failure.what.c_str(), failure.line);
        (void)hipDeviceSynchronize();
        return false;
    } catch (const Skipped& skipped) {
        std::printf("skipped %s: %s\n", check.name, skipped.why.c_str());
        return true;
    }
}

int main(int count, char** arguments) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    bool listed = count == 2 && !std::strcmp(arguments[1], "--list"), all = count == 1, good = true;
    int ran = 0;
    for (const Check& check : Check::all()) {
        bool asked = all;
        for (int i = 1; i < count; i++) asked |= !std::strcmp(arguments[i], check.name);
        if (listed) std::puts(check.name);
        else if (asked) good &= run(check), ran++;
    }
    if (!listed && (all ? ran == 0 : ran < count - 1)) {
        std::fprintf(stderr, "names of checks are expected: --list has them\n");
        return 2;
    }
    return good ? 0 : 1;
}
