//! The model of rocRAND: which words become which numbers, where a sequence goes on, and what it refuses.

use core::ptr;

use rocm_rs::rocrand::bindings as rand;
use rocm_rs::rocrand::bindings::{rocrand_generator, rocrand_status};

use crate::call::{OK, call, download, malloc};

const SUCCESS: rocrand_status = rand::rocrand_status_ROCRAND_STATUS_SUCCESS;
const PHILOX: u32 = rand::rocrand_rng_type_ROCRAND_RNG_PSEUDO_PHILOX4_32_10;

/// `rand!(rocrand_destroy_generator(generator))`: what the function gives.
macro_rules! rand {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let witness = || {
            let declared: unsafe extern "C" fn($($crate::call::infer!($argument)),*) -> _ = rand::$name;
            declared
        };
        // SAFETY: the type is the declaration's, and the tests pass what rocRAND asks for.
        unsafe { $crate::call::resolve(stringify!($name), witness)($($argument),*) }
    }};
}

fn generator(seed: u64) -> rocrand_generator {
    let mut generator = ptr::null_mut();
    assert_eq!(rand!(rocrand_create_generator(&mut generator, PHILOX)), SUCCESS);
    assert_eq!(rand!(rocrand_set_seed(generator, seed)), SUCCESS);
    generator
}

fn uniform(generator: rocrand_generator, count: usize) -> Vec<f32> {
    let data = malloc(4 * count);
    assert_eq!(
        rand!(rocrand_generate_uniform(generator, data.cast(), count)),
        SUCCESS
    );
    download(data, count).into_iter().map(f32::from_bits).collect()
}

fn normal(generator: rocrand_generator, count: usize) -> Vec<f32> {
    let data = malloc(4 * count);
    let status = rand!(rocrand_generate_normal(generator, data.cast(), count, 1.0, 2.0));
    assert_eq!(status, SUCCESS);
    download(data, count).into_iter().map(f32::from_bits).collect()
}

fn doubles(words: Vec<u32>) -> Vec<f64> {
    let pairs = words.chunks_exact(2);
    pairs
        .map(|pair| f64::from_bits(u64::from(pair[0]) | u64::from(pair[1]) << 32))
        .collect()
}

#[test]
fn the_first_uniform_numbers_are_those_of_philox_with_key_and_counter_zero() {
    // Random123's known answers for Philox4x32-10.
    let words = [0x6627_e8d5_u32, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8];
    let want = words.map(|word| word as f32 * 2f32.powi(-32) + 2f32.powi(-32));
    assert_eq!(uniform(generator(0), 4), want);
}

#[test]
fn a_sequence_goes_on_where_it_ended_and_anew_from_its_seed_or_offset() {
    let all = uniform(generator(7), 12);
    let parts = generator(7);
    assert_eq!([uniform(parts, 5), uniform(parts, 7)].concat(), all);
    assert_eq!(rand!(rocrand_set_offset(parts, 6)), SUCCESS);
    assert_eq!(uniform(parts, 6), all[6..]);
    assert_eq!(rand!(rocrand_set_seed(parts, 8)), SUCCESS);
    assert_ne!(uniform(parts, 6), all[6..], "another seed, other numbers");
}

#[test]
fn normal_numbers_use_words_by_pairs_and_have_their_mean_and_width() {
    let all = normal(generator(3), 4000);
    let odd = generator(3);
    assert_eq!(normal(odd, 3), all[..3]);
    assert_eq!(
        normal(odd, 2),
        all[4..6],
        "a pair was begun, so both its words are used"
    );
    let mean = all.iter().sum::<f32>() / 4000.0;
    let variance = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / 4000.0;
    // Four standard errors: 2 / sqrt(4000), and 4 sqrt(2 / 4000).
    assert!(
        (mean - 1.0).abs() < 0.13 && (variance - 4.0).abs() < 0.36,
        "{mean} {variance}"
    );
}

#[test]
fn doubles_take_two_words_and_normal_ones_four_for_two() {
    let one = generator(5);
    let data = malloc(8 * 3);
    assert_eq!(
        rand!(rocrand_generate_uniform_double(one, data.cast(), 3)),
        SUCCESS
    );
    let numbers = doubles(download(data, 6));
    assert!(numbers.iter().all(|&x| x > 0.0 && x <= 1.0), "{numbers:?}");
    assert_eq!(uniform(one, 2), uniform(generator(5), 8)[6..]);
    let status = rand!(rocrand_generate_normal_double(one, data.cast(), 3, 0.0, 1.0));
    assert_eq!(status, SUCCESS);
    assert_eq!(uniform(one, 1), uniform(generator(5), 17)[16..]);
}

#[test]
fn what_is_no_generator_or_not_modelled_is_refused() {
    let not_created = rand::rocrand_status_ROCRAND_STATUS_NOT_CREATED;
    let mut other = ptr::null_mut();
    let xorwow = rand::rocrand_rng_type_ROCRAND_RNG_PSEUDO_XORWOW;
    assert_eq!(
        rand!(rocrand_create_generator(&mut other, xorwow)),
        rand::rocrand_status_ROCRAND_STATUS_TYPE_ERROR
    );
    assert_eq!(rand!(rocrand_set_seed(ptr::null_mut(), 1)), not_created);
    let generator = generator(1);
    assert_eq!(
        rand!(rocrand_generate_uniform(generator, ptr::null_mut(), 4)),
        rand::rocrand_status_ROCRAND_STATUS_LAUNCH_FAILURE
    );
    assert!(
        rocm_soft::take_fault()
            .unwrap()
            .contains("rocRAND writes 16 bytes")
    );
    assert_eq!(rand!(rocrand_destroy_generator(generator)), SUCCESS);
    assert_eq!(rand!(rocrand_destroy_generator(generator)), not_created);
    assert_eq!(call!(hipDeviceSynchronize()), OK);
}
