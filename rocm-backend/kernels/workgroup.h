// What the threads of one workgroup do together: find out who they are, meet, and fold a value of each into one, of rows
// that lie anyhow or, in packs, of contiguous ones. Not here: what is folded (reduce.h, norm.h).
#pragma once
#include "packs.h"

#ifndef __shared__
#define __shared__ __attribute__((shared))
#endif

namespace parity {

// Waves of a workgroup at most, and so the length of the arrays that `fold` works in.
constexpr u32 MAX_WAVES = 1024 / WAVE;
// Terms that are added one after the other before their sum joins the others: the rounding error of a sum of n grows
// with the length of such chains, not with n.
constexpr u32 CHAIN = 64;

PARITY_FN u32 thread_index() { return __builtin_amdgcn_workitem_id_x(); }
PARITY_FN u32 thread_count() { return u32(__ockl_get_local_size(0)); }
PARITY_FN size_t group_index() { return __builtin_amdgcn_workgroup_id_x(); }
PARITY_FN size_t group_count() { return __ockl_get_num_groups(0); }

// Calls f(x, y, z) for what is numbered in three dimensions, the work of one workgroup each: groups stride over the grid in each.
template <typename F> PARITY_FN void for_groups(size_t across, size_t down, size_t deep, F f) {
    for (size_t z = __builtin_amdgcn_workgroup_id_z(); z < deep; z += __ockl_get_num_groups(2)) {
        for (size_t y = __builtin_amdgcn_workgroup_id_y(); y < down; y += __ockl_get_num_groups(1)) {
            for (size_t x = group_index(); x < across; x += group_count()) {
                f(x, y, z);
            }
        }
    }
}

// The rows that a workgroup works on: one, or one for each y of a workgroup of two dimensions, whose x is no longer than a wave.
PARITY_FN size_t first_row() {
    return group_index() * __ockl_get_local_size(1) + __builtin_amdgcn_workitem_id_y();
}
// Calls f(row, whether the row is this thread's) for rows of `per_row` elements, `numel` elements in all. All threads of a workgroup
// call it as often as each other, because rows share waves: those for which no row is left do the first one of the workgroup again,
// and are not to write it.
template <typename F> PARITY_FN void for_rows(size_t numel, size_t per_row, F f) {
    const size_t together = __ockl_get_local_size(1);
    for (size_t first = group_index() * together; first * per_row < numel; first += group_count() * together) {
        const size_t row = first + __builtin_amdgcn_workitem_id_y();
        const bool is_there = row * per_row < numel;
        f(is_there ? row : first, is_there);
    }
}

// Waits for all threads of the workgroup. After it, every thread sees what each wrote to memory before.
PARITY_FN void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// What `of_lane` and `fold` move: any type, a word after the other.
template <typename A> PARITY_FN A of_lane(A x, u32 distance) {
    constexpr unsigned WORDS = (sizeof(A) + sizeof(u32) - 1) / sizeof(u32);
    u32 words[WORDS] = {};
    __builtin_memcpy(words, &x, sizeof(A));
#pragma unroll
    for (unsigned w = 0; w < WORDS; ++w) {
        words[w] = word_of_lane(words[w], distance);
    }
    __builtin_memcpy(&x, words, sizeof(A));
    return x;
}

// join of the values of `count` lanes that follow one another, a power of two of them, given to each: lanes whose numbers differ
// in one bit join, so that both have the same. join(x, y) is join(y, x).
template <typename A, typename Join> PARITY_FN A fold_lanes(A mine, u32 count, Join join) {
    for (u32 distance = count / 2; distance > 0; distance /= 2) {
        mine = join(mine, of_lane(mine, distance));
    }
    return mine;
}

// The same of all lanes of a wave.
template <typename A, typename Join> PARITY_FN A fold_wave(A mine, Join join) {
#pragma unroll
    for (u32 distance = WAVE / 2; distance > 0; distance /= 2) {
        mine = join(mine, of_lane(mine, distance));
    }
    return mine;
}

// `fold`, below, of threads that fill their waves.
template <bool IS_LAST = false, typename A, typename Join> PARITY_FN A fold_waves(u32 threads, A *lds, A mine, Join join) {
    mine = fold_wave(mine, join);
    if (threads == WAVE) {
        return mine;
    }
    const u32 lane = thread_index() % WAVE, waves = threads / WAVE;
    if (lane == 0) {
        lds[thread_index() / WAVE] = mine;
    }
    barrier();
    mine = fold_lanes(A(lds[lane & (waves - 1)]), waves, join);
    if constexpr (!IS_LAST) {
        barrier(); // so that the next fold does not write what a slow thread still reads
    }
    return mine;
}

// Folds the values of all threads with `join`, in a tree, and gives every thread the result: first each wave by itself, which
// needs no memory, then one value of each wave. `lds` has a place for each wave; the threads of x are a power of two. All
// threads of the workgroup must call it. Where x is no longer than a wave, which `IN_A_WAVE` promises, each y folds by itself.
template <bool IN_A_WAVE = false, bool IS_LAST = false, typename A, typename Join>
PARITY_FN A fold_of(u32 threads, A *lds, A mine, Join join) {
    if constexpr (IN_A_WAVE) {
        return fold_lanes(mine, threads, join);
    }
    if (threads < WAVE) {
        return fold_lanes(mine, threads, join);
    }
    return fold_waves<IS_LAST>(threads, lds, mine, join);
}
// The same of as many threads as the launch says; above, a kernel that is launched with one number of threads says it, and has no code for
// others.
template <bool IN_A_WAVE = false, bool IS_LAST = false, typename A, typename Join> PARITY_FN A fold(A *lds, A mine, Join join) {
    return fold_of<IN_A_WAVE, IS_LAST>(thread_count(), lds, mine, join);
}

// Packs of a row that a thread holds at most: 64 elements of one byte or two.
template <typename T> constexpr unsigned HELD_MOST = sizeof(T) == 1 ? 4 : 8;

// A row of whole aligned packs in the registers of a workgroup: a thread has those whose numbers are its own and further ones a
// workgroup apart, at most P. It is read once, however often it is looked at.
template <typename T, unsigned P> struct Held {
    using Element = T;
    static constexpr unsigned N = PackLen<T>::value, PACKS = P;
    Pack<T, N> packs[P];
    u32 count; // of the row's packs

    // Where a thread has no such pack it reads the last one again.
    PARITY_MEMBER Held(const T *row, u32 count) : count(count) {
#pragma unroll
        for (unsigned k = 0; k < P; ++k) {
            packs[k] = load_aligned_pack<N>(row + size_t(place(k)) * N);
        }
    }
    PARITY_MEMBER u32 number(unsigned k) const { return thread_index() + k * thread_count(); }
    PARITY_MEMBER bool has(unsigned k) const { return number(k) < count; }
    PARITY_MEMBER u32 place(unsigned k) const { return has(k) ? number(k) : count - 1; }
    // Between two looks at the row: else the compiler keeps each element in the width in which it is computed with.
    PARITY_MEMBER void forget() {
#pragma unroll
        for (unsigned k = 0; k < P; ++k) {
            packs[k] = forgotten(packs[k]);
        }
    }

    // The sum of term(element) over this thread's elements.
    template <typename A, typename Term> PARITY_MEMBER A sum(Term term) const {
        A total = A(0);
#pragma unroll
        for (unsigned k = 0; k < P; ++k) {
            A part = A(0);
#pragma unroll
            for (unsigned e = 0; e < N; ++e) {
                part += term(packs[k].at[e]);
            }
            total += has(k) ? part : A(0);
        }
        return total;
    }
    // join(join(first, an element, its number), …) over elements of this thread in their order, of which some may come twice.
    template <typename A, typename Join> PARITY_MEMBER A best(A first, Join join) const {
#pragma unroll
        for (unsigned k = 0; k < P; ++k) {
#pragma unroll
            for (unsigned e = 0; e < N; ++e) {
                first = join(first, packs[k].at[e], place(k) * N + e);
            }
        }
        return first;
    }
    // The number of this thread's first element that is as `is_it` says; the greatest number where none is.
    template <typename Is> PARITY_MEMBER u32 first_that(Is is_it) const {
        constexpr u32 NONE = P * N;
        u32 found = NONE;
        // From the last one on, so that no number is compared with another.
#pragma unroll
        for (unsigned k = P; k-- > 0;) {
#pragma unroll
            for (unsigned e = N; e-- > 0;) {
                found = is_it(packs[k].at[e]) ? k * N + e : found;
            }
        }
        return found == NONE ? ~u32(0) : place(found / N) * N + found % N;
    }
    // to[i] = f(element i, its number of pack and in the pack of this thread).
    template <typename F> PARITY_MEMBER void store(T *to, F f) const {
        store_packs(to, [&](unsigned k, Pack<T, N> pack) {
#pragma unroll
            for (unsigned e = 0; e < N; ++e) {
                pack.at[e] = f(pack.at[e], k, e);
            }
            return pack;
        });
    }
    // The same of a pack at once: f(its number of this thread's, the pack).
    template <typename F> PARITY_MEMBER void store_packs(T *to, F f) const {
#pragma unroll
        for (unsigned k = 0; k < P; ++k) {
            if (has(k)) {
                store_pack<N>(to + size_t(number(k)) * N, f(k, packs[k]));
            }
        }
    }
};

// Calls f with the row of `cols` elements in registers, and says whether it has room there, in `MOST` packs of a thread if that is not 0. An
// `IS_SHORT` one has, with a pack a thread at most.
template <bool IS_SHORT = false, unsigned MOST = 0, typename T, typename F> PARITY_FN bool hold_row(const T *row, size_t cols, F f) {
    constexpr unsigned N = PackLen<T>::value, HELD = MOST == 0 ? HELD_MOST<T> : MOST;
    const size_t packs = cols / N;
    if constexpr (IS_SHORT) {
        Held<T, 1> held(row, u32(packs));
        f(held);
        return true;
    }
    if (cols % N != 0 || !is_whole<N>(row) || packs > size_t(thread_count()) * HELD) {
        return false;
    }
    if (packs <= thread_count()) {
        Held<T, 1> held(row, u32(packs));
        f(held);
    } else {
        Held<T, HELD> held(row, u32(packs));
        f(held);
    }
    return true;
}

// `fold` of what threads have of a row that they hold; after an `IS_LAST` one the workgroup does not write `lds` any more, and nobody waits
// for those that still read. Of a short row those of a wave share it. Another one has more packs than a wave of
// 32 has threads, and where each thread has one pack of it, threads fill their waves.
template <bool IS_SHORT = false, bool IS_LAST = false, typename H, typename A, typename Join>
PARITY_FN A fold_held(const H &, A *lds, A mine, Join join) {
    if constexpr (!IS_SHORT && H::PACKS == 1) {
        return fold_waves<IS_LAST>(thread_count(), lds, mine, join);
    } else {
        return fold<IS_SHORT, IS_LAST>(lds, mine, join);
    }
}

// term(first) + term(first + step) + …, below `count`, in chains. One loop on purpose: from a loop in a loop, both of
// which end at `count`, clang 19 makes code in which threads that are done with the inner one go on with the outer one.
template <typename A, typename Term> PARITY_FN A sum_of(size_t first, size_t count, size_t step, Term term) {
    A total = A(0), part = A(0);
    u32 length = 0;
    for (size_t at = first; at < count; at += step) {
        part += term(at);
        if (++length == CHAIN) {
            total += part;
            part = A(0);
            length = 0;
        }
    }
    return total + part;
}

// The sum of term(0) … term(count - 1), the work of the whole workgroup, given to every thread.
template <typename A, typename Term> PARITY_FN A group_sum(A *lds, size_t count, Term term) {
    const A mine = sum_of<A>(thread_index(), count, thread_count(), term);
    return fold(lds, mine, [](A x, A y) { return x + y; });
}

// The same of contiguous elements, in packs: the sum of term(element, its number) over `count` elements from `run` on.
template <typename A, typename T, typename Term>
PARITY_FN A group_sum_of_run(A *lds, const T *run, size_t count, Term term) {
    constexpr unsigned N = PackLen<T>::value;
    A total = A(0), part = A(0);
    u32 length = 0;
    Run<N>(run, count, true)
        .read(
            run, thread_index(), thread_count(),
            [&](const Pack<T, N> &pack, size_t at) {
#pragma unroll
                for (unsigned e = 0; e < N; ++e) {
                    part += term(pack.at[e], at + e);
                }
                length += N;
                if (length == CHAIN) {
                    total += part;
                    part = A(0);
                    length = 0;
                }
            },
            [&](size_t at) { part += term(run[at], at); });
    return fold(lds, A(total + part), [](A x, A y) { return x + y; });
}

// join over term(0) … term(count - 1), of at least one. A thread that has no term takes the first, which must not
// change the result: join(x, x) is x.
template <typename A, typename Term, typename Join>
PARITY_FN A group_best(A *lds, size_t count, Term term, Join join) {
    const size_t first = thread_index() < count ? thread_index() : 0;
    A mine = term(first);
    for (size_t at = first + thread_count(); at < count; at += thread_count()) {
        mine = join(mine, term(at));
    }
    return fold(lds, mine, join);
}

// The same of contiguous elements, in packs: join over term(element, its number) of `count` elements from `run` on.
template <typename A, typename T, typename Term, typename Join>
PARITY_FN A group_best_of_run(A *lds, const T *run, size_t count, Term term, Join join) {
    constexpr unsigned N = PackLen<T>::value;
    const size_t first = thread_index() < count ? thread_index() : 0;
    A mine = term(run[first], first);
    Run<N>(run, count, true)
        .read(
            run, thread_index(), thread_count(),
            [&](const Pack<T, N> &pack, size_t at) {
#pragma unroll
                for (unsigned e = 0; e < N; ++e) {
                    mine = join(mine, term(pack.at[e], at + e));
                }
            },
            [&](size_t at) { mine = join(mine, term(run[at], at)); });
    return fold(lds, mine, join);
}

} // namespace parity
