//! Caches in pages: attention over them is attention over the same keys in a row, new tokens come to their slots as rope has them, and
//! numbers that there are not are errors that touch nothing else.

use rocm_backend::ops::{Attention, NewTokens, PagedAttention};
use rocm_backend::{DType, Device, DynBuffer, Error, Result, View, ViewMut, ops};

use crate::floats::{contiguous, download, random, upload};
use crate::support::device;

const DTYPES: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// The cache has ten pages.
const PAGES: usize = 10;
/// The pages of three sequences. Sequence 1 has one page: the kernel must not read the numbers after it.
const TABLE: [[u32; 3]; 3] = [[7, 2, 9], [0, 99, 99], [4, 3, u32::MAX]];

struct PagedCall {
    page: usize,
    queries: usize,
    lengths: [u32; 3],
    heads: [usize; 2],
    width: usize,
    /// Scores are capped and lose ALiBi's part.
    is_bent: bool,
}

const CALLS: [PagedCall; 4] = [
    // A decode step: the last page full, begun, and half.
    PagedCall {
        page: 16,
        queries: 1,
        lengths: [48, 1, 24],
        heads: [4, 2],
        width: 128,
        is_bent: false,
    },
    // Several tokens at once, over pages shorter than a tile of keys.
    PagedCall {
        page: 4,
        queries: 3,
        lengths: [10, 3, 8],
        heads: [2, 1],
        width: 64,
        is_bent: false,
    },
    PagedCall {
        page: 32,
        queries: 20,
        lengths: [70, 20, 33],
        heads: [3, 3],
        width: 8,
        is_bent: false,
    },
    PagedCall {
        page: 8,
        queries: 2,
        lengths: [17, 2, 9],
        heads: [2, 2],
        width: 160,
        is_bent: false,
    },
];

impl PagedCall {
    fn dims(&self) -> [[usize; 4]; 2] {
        let [heads, key_heads] = self.heads;
        [
            [3, self.queries, heads, self.width],
            [PAGES, self.page, key_heads, self.width],
        ]
    }

    fn buffers(&self, device: &Device, dtype: DType) -> [(Vec<f64>, DynBuffer); 3] {
        let [query, key] = self.dims().map(|dims| dims.iter().product::<usize>());
        [(query, 1), (key, 2), (key, 3)].map(|(count, seed)| {
            let values = random(dtype, count, 2.0, seed);
            let buffer = upload(device, dtype, &values);
            (values, buffer)
        })
    }

    /// The cap of scores, and a slope of each head.
    fn bends(&self, device: &Device) -> (Option<f32>, Option<DynBuffer>) {
        let slopes: Vec<f64> = (0..self.heads[0])
            .map(|head| 0.5_f64.powi(head as i32 + 1))
            .collect();
        let softcap = self.is_bent.then_some(1.5);
        (softcap, softcap.map(|_| upload(device, DType::F32, &slopes)))
    }

    fn run(&self, [q, k, v]: [&DynBuffer; 3], table: &[u32], lengths: &[u32]) -> Result<DynBuffer> {
        let [of_query, of_key] = self.dims();
        let device = q.device();
        let (table, lengths) = (device.upload(table)?, device.upload(lengths)?);
        let (softcap, slopes) = self.bends(device);
        let heads = [self.heads[0]];
        ops::paged_attention(&PagedAttention {
            query: View::contiguous(q, &of_query),
            key: View::contiguous(k, &of_key),
            value: View::contiguous(v, &of_key),
            table: View::contiguous(&table, &[3, 3]),
            lengths: View::contiguous(&lengths, &[3]),
            query_starts: None,
            scale: 0.25,
            left: None,
            right: Some(0),
            softcap,
            slopes: slopes.as_ref().map(|slopes| View::contiguous(slopes, &heads)),
        })
    }

    /// What [`ops::flash_attn`] makes of a batch whose keys lie in a row.
    fn in_a_row(&self, device: &Device, dtype: DType, values: [&[f64]; 3], batch: usize) -> Vec<f64> {
        let [heads, key_heads] = self.heads;
        let (per_query, per_key) = (heads * self.width, key_heads * self.width);
        let length = self.lengths[batch] as usize;
        let own = &values[0][batch * self.queries * per_query..][..self.queries * per_query];
        let row = |cache: &[f64]| -> Vec<f64> {
            let place = |at: usize| TABLE[batch][at / self.page] as usize * self.page + at % self.page;
            let rows = (0..length).map(|at| &cache[place(at) * per_key..][..per_key]);
            rows.collect::<Vec<_>>().concat()
        };
        let [q, k, v] =
            [own.to_vec(), row(values[1]), row(values[2])].map(|part| upload(device, dtype, &part));
        let (of_query, of_key) = (
            [1, self.queries, heads, self.width],
            [1, length, key_heads, self.width],
        );
        let (softcap, slopes) = self.bends(device);
        let out = ops::flash_attn(&Attention {
            query: View::contiguous(&q, &of_query),
            key: View::contiguous(&k, &of_key),
            value: View::contiguous(&v, &of_key),
            scale: 0.25,
            left: None,
            right: Some(0),
            softcap,
            slopes: slopes
                .as_ref()
                .map(|slopes| View::contiguous(slopes, &self.heads[..1])),
            lengths: None,
        });
        download(&out.unwrap())
    }
}

#[test]
fn attention_over_pages_is_attention_over_the_same_keys_in_a_row() {
    let device = device();
    for dtype in DTYPES {
        for call in &CALLS {
            let [(q, q_buffer), (k, k_buffer), (v, v_buffer)] = call.buffers(&device, dtype);
            let out = call.run(
                [&q_buffer, &k_buffer, &v_buffer],
                TABLE.as_flattened(),
                &call.lengths,
            );
            let got = download(&out.unwrap());
            let each = got.len() / 3;
            for batch in 0..3 {
                let want = call.in_a_row(&device, dtype, [&q, &k, &v], batch);
                assert_eq!(
                    got[batch * each..][..each],
                    want,
                    "{dtype}, page {}, batch {batch}",
                    call.page
                );
            }
        }
    }
}

/// A head of each kernel, 20 queries over pages of 32.
fn of_each_kernel() -> impl Iterator<Item = (DType, PagedCall)> {
    let of_width = |width| PagedCall { width, ..CALLS[2] };
    DTYPES
        .into_iter()
        .flat_map(move |dtype| [8, 64, 72, 160].map(|width| (dtype, of_width(width))))
}

#[test]
fn scores_over_pages_are_capped_and_sloped_as_those_over_keys_in_a_row() {
    let device = device();
    for (dtype, call) in of_each_kernel() {
        let call = PagedCall {
            is_bent: true,
            ..call
        };
        let [(q, q_buffer), (k, k_buffer), (v, v_buffer)] = call.buffers(&device, dtype);
        let run = |call: &PagedCall| {
            let out = call.run(
                [&q_buffer, &k_buffer, &v_buffer],
                TABLE.as_flattened(),
                &call.lengths,
            );
            download(&out.unwrap())
        };
        let got = run(&call);
        let each = got.len() / 3;
        for batch in 0..3 {
            let want = call.in_a_row(&device, dtype, [&q, &k, &v], batch);
            assert_eq!(
                got[batch * each..][..each],
                want,
                "{dtype}, heads of {}, batch {batch}",
                call.width
            );
        }
        let straight = run(&PagedCall {
            is_bent: false,
            ..call
        });
        assert_ne!(got, straight, "{dtype}, heads of {}", call.width);
    }
}

#[test]
fn batches_of_several_queries_are_attended_to_each_by_itself() {
    let device = device();
    for (dtype, call) in of_each_kernel() {
        // Of twenty queries each the first batch has 20, the second none, the third 3.
        let (starts, counts) = ([0_u32, 20, 20, 23], [20, 0, 3]);
        let [heads, _] = call.heads;
        let row = heads * call.width;
        let [(q, _), (k, k_buffer), (v, v_buffer)] = call.buffers(&device, dtype);
        // The queries of a batch are its last ones, so that they see as many keys as among all of its own.
        let part = |batch: usize| &q[((batch + 1) * 20 - counts[batch]) * row..(batch + 1) * 20 * row];
        let queries = upload(&device, dtype, &[part(0), part(1), part(2)].concat());
        let lists = [&starts[..], TABLE.as_flattened(), &call.lengths];
        let [starts, table, lengths] = lists.map(|list| device.upload(list).unwrap());
        let (of_query, [_, of_key]) = ([23, heads, call.width], call.dims());
        let out = ops::paged_attention(&PagedAttention {
            query: View::contiguous(&queries, &of_query),
            key: View::contiguous(&k_buffer, &of_key),
            value: View::contiguous(&v_buffer, &of_key),
            table: View::contiguous(&table, &[3, 3]),
            lengths: View::contiguous(&lengths, &[3]),
            query_starts: Some(View::contiguous(&starts, &[4])),
            scale: 0.25,
            left: None,
            right: Some(0),
            softcap: None,
            slopes: None,
        });
        let got = download(&out.unwrap());
        let whole = |batch: usize| call.in_a_row(&device, dtype, [&q, &k, &v], batch);
        assert_eq!(got[..20 * row], whole(0), "{dtype}, heads of {}", call.width);
        assert_eq!(
            got[20 * row..],
            whole(2)[17 * row..],
            "{dtype}, heads of {}",
            call.width
        );
    }
}

#[test]
fn a_page_and_a_length_that_there_are_not_are_errors_that_name_them() {
    let device = device();
    for (dtype, call) in of_each_kernel() {
        let [q, k, v] = call.buffers(&device, dtype).map(|(_, buffer)| buffer);
        let words = |table: &[u32], lengths: &[u32]| {
            let done = call
                .run([&q, &k, &v], table, lengths)
                .and_then(|out| out.download_bytes());
            match done.unwrap_err() {
                Error::Index { op, index, bound, .. } => (op, index, bound),
                other => panic!("{other}"),
            }
        };
        let mut table = TABLE;
        table[0][1] = 10;
        let found = words(table.as_flattened(), &call.lengths);
        assert_eq!(found, ("paged_attn: pages".to_owned(), 10, PAGES));
        let found = words(TABLE.as_flattened(), &[70, 20, 97]);
        assert_eq!(found, ("paged_attn: lengths".to_owned(), 97, 97));
        // The next call is a right one.
        assert!(
            call.run([&q, &k, &v], TABLE.as_flattened(), &call.lengths)
                .is_ok()
        );
    }
}

#[test]
fn operands_that_do_not_fit_are_refused_before_anything_runs() {
    let device = device();
    let call = PagedCall { page: 12, ..CALLS[0] };
    let [q, k, v] = call.buffers(&device, DType::F32).map(|(_, buffer)| buffer);
    let error = call
        .run([&q, &k, &v], TABLE.as_flattened(), &call.lengths)
        .unwrap_err();
    assert!(error.to_string().contains("a power of two"), "{error}");
    let wide = PagedCall {
        width: 264,
        ..CALLS[0]
    };
    let [q, k, v] = wide.buffers(&device, DType::F32).map(|(_, buffer)| buffer);
    let error = wide
        .run([&q, &k, &v], TABLE.as_flattened(), &wide.lengths)
        .unwrap_err();
    assert!(
        error.to_string().contains("heads of 264 elements, at most 256"),
        "{error}"
    );
}

/// New tokens: heads of queries and of keys, elements, and pages of the caches.
struct New {
    dtype: DType,
    heads: [usize; 2],
    width: usize,
    neighbours: bool,
}

/// Places of the tokens in their sequences, and where they go: pages of four positions.
const POSITIONS: [u32; 5] = [3, 0, 6, 1, 2];
const SLOTS: [u32; 5] = [13, 2, 7, 0, 11];
const ANGLES: usize = 7;

impl New {
    /// The queries, turned, and both caches, which held `before` everywhere.
    fn run(&self, positions: &[u32], slots: &[u32], before: f64) -> Result<[Vec<f64>; 3]> {
        let device = device();
        let tokens = positions.len();
        let [heads, key_heads] = self.heads;
        let (of_query, of_key) = ([tokens, heads, self.width], [tokens, key_heads, self.width]);
        let of_cache = [4, 4, key_heads, self.width];
        let of_angles = [ANGLES, self.width / 2];
        let made = |dims: &[usize], seed| random(self.dtype, dims.iter().product(), 1.0, seed);
        let put = |values: &[f64]| upload(&device, self.dtype, values);
        let [q, k, v] =
            [(&of_query, 1), (&of_key, 2), (&of_key, 3)].map(|(dims, seed)| put(&made(dims, seed)));
        let [cos, sin] = [4, 5].map(|seed| put(&made(&of_angles, seed)));
        let cache = vec![before; of_cache.iter().product()];
        let (mut keys, mut values) = (put(&cache), put(&cache));
        let [positions, slots] = [positions, slots].map(|list| device.upload(list).unwrap());
        let out = ops::rope_append(
            &NewTokens {
                query: View::contiguous(&q, &of_query),
                key: View::contiguous(&k, &of_key),
                value: View::contiguous(&v, &of_key),
                cos: View::contiguous(&cos, &of_angles),
                sin: View::contiguous(&sin, &of_angles),
                positions: View::contiguous(&positions, &[tokens]),
                slots: View::contiguous(&slots, &[tokens]),
                neighbours: self.neighbours,
            },
            ViewMut::contiguous(&mut keys, &of_cache),
            ViewMut::contiguous(&mut values, &of_cache),
        );
        // The caches after an error as well: what it touched.
        let waited = out.and_then(|out| device.synchronize().map(|()| out));
        let all = [keys, values].map(|cache| download(&cache));
        let [keys, values] = all;
        Ok([download(&waited?), keys, values])
    }

    /// What [`ops::rope`] or [`ops::rope_i`] makes of a token's row of heads.
    fn turned(&self, heads: usize, seed: u64, token: usize) -> Vec<f64> {
        let device = device();
        let count = POSITIONS.len() * heads * self.width;
        let all = random(self.dtype, count, 1.0, seed);
        let own = upload(
            &device,
            self.dtype,
            &all[token * heads * self.width..][..heads * self.width],
        );
        let half = self.width / 2;
        let angles = [4, 5].map(|seed| {
            let all = random(self.dtype, ANGLES * half, 1.0, seed);
            let row = &all[POSITIONS[token] as usize * half..][..half];
            upload(&device, self.dtype, row)
        });
        let dims = [1, heads, 1, self.width];
        let op = if self.neighbours { ops::rope_i } else { ops::rope };
        let of_angles = [1, half];
        let [cos, sin] = angles
            .each_ref()
            .map(|buffer| View::contiguous(buffer, &of_angles));
        download(&op(View::new(&own, &dims, &contiguous(&dims)), cos, sin).unwrap())
    }
}

#[test]
fn new_tokens_are_turned_as_rope_does_and_come_to_their_slots() {
    for dtype in DTYPES {
        for neighbours in [false, true] {
            let new = New {
                dtype,
                heads: [3, 2],
                width: 6,
                neighbours,
            };
            let [queries, keys, values] = new.run(&POSITIONS, &SLOTS, -7.0).unwrap();
            let raw = random(dtype, POSITIONS.len() * 2 * 6, 1.0, 3);
            let mut is_new = [false; 16];
            for (token, slot) in SLOTS.iter().map(|slot| *slot as usize).enumerate() {
                assert_eq!(
                    queries[token * 18..][..18],
                    new.turned(3, 1, token),
                    "{dtype} {neighbours}"
                );
                assert_eq!(
                    keys[slot * 12..][..12],
                    new.turned(2, 2, token),
                    "{dtype} {neighbours}"
                );
                assert_eq!(
                    values[slot * 12..][..12],
                    raw[token * 12..][..12],
                    "{dtype} {neighbours}"
                );
                is_new[slot] = true;
            }
            for slot in (0..16).filter(|slot| !is_new[*slot]) {
                for cache in [&keys, &values] {
                    assert!(cache[slot * 12..][..12].iter().all(|x| *x == -7.0), "slot {slot}");
                }
            }
        }
    }
}

#[test]
fn a_slot_and_a_position_that_there_are_not_are_errors_that_name_them() {
    let new = New {
        dtype: DType::F32,
        heads: [1, 1],
        width: 4,
        neighbours: false,
    };
    for (positions, slots, op, index, size) in [
        ([1, 2], [3, 16], "rope_append: slots", 16, 16),
        ([1, 7], [3, 4], "rope_append: positions", 7, ANGLES),
    ] {
        match new.run(&positions, &slots, 0.0).unwrap_err() {
            Error::Index {
                op: found,
                index: at,
                bound: of,
                ..
            } => {
                assert_eq!((found.as_str(), at, of), (op, index, size));
            }
            other => panic!("{other}"),
        }
    }
}
