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
PARITY_FN size_t row_step() { return group_count() * __ockl_get_local_size(1); }

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

// Folds the values of all threads with `join`, in a tree, and gives every thread the result: first each wave by itself, which
// needs no memory, then one value of each wave. `lds` has a place for each wave; the threads of x are a power of two. All
// threads of the workgroup must call it. Where x is no longer than a wave, each y folds by itself.
template <typename A, typename Join> PARITY_FN A fold(A *lds, A mine, Join join) {
    const u32 threads = thread_count();
    mine = fold_lanes(mine, threads < WAVE ? threads : WAVE, join);
    if (threads <= WAVE) {
        return mine;
    }
    const u32 lane = thread_index() % WAVE, waves = threads / WAVE;
    if (lane == 0) {
        lds[thread_index() / WAVE] = mine;
    }
    barrier();
    mine = fold_lanes(A(lds[lane % waves]), waves, join);
    barrier(); // so that the next fold does not write what a slow thread still reads
    return mine;
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
        .each(
            thread_index(), thread_count(),
            [&](size_t at) {
                const Pack<T, N> pack = load_pack<N>(run + at);
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
        .each(
            thread_index(), thread_count(),
            [&](size_t at) {
                const Pack<T, N> pack = load_pack<N>(run + at);
#pragma unroll
                for (unsigned e = 0; e < N; ++e) {
                    mine = join(mine, term(pack.at[e], at + e));
                }
            },
            [&](size_t at) { mine = join(mine, term(run[at], at)); });
    return fold(lds, mine, join);
}

} // namespace parity
