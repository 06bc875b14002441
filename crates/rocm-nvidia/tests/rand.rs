//! rocRAND's entry points over stand-ins for NVIDIA's driver and cuRAND (libcuda.c, libcurand.c), compiled here with `cc`: what each asks
//! of cuRAND. No GPU is needed. One test, as a process has one of each library.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(unsafe_code, reason = "calls C functions by their addresses")]

#[path = "mock/function.rs"]
mod function;
mod mock;

use std::ptr;

use function::function;
use mock::Mock;
use rocm_rs::rocrand::bindings as rand;
use rocm_rs::rocrand::bindings::{rocrand_generator, rocrand_status};

const SUCCESS: rocrand_status = rand::rocrand_status_ROCRAND_STATUS_SUCCESS;
const NOT_CREATED: rocrand_status = rand::rocrand_status_ROCRAND_STATUS_NOT_CREATED;
const TYPE_ERROR: rocrand_status = rand::rocrand_status_ROCRAND_STATUS_TYPE_ERROR;
const LAUNCH_FAILURE: rocrand_status = rand::rocrand_status_ROCRAND_STATUS_LAUNCH_FAILURE;
const PHILOX: u32 = rand::rocrand_rng_type_ROCRAND_RNG_PSEUDO_PHILOX4_32_10;

type Create = unsafe extern "C" fn(*mut rocrand_generator, u32) -> rocrand_status;
type OfGenerator = unsafe extern "C" fn(rocrand_generator) -> rocrand_status;
type SetStream = unsafe extern "C" fn(rocrand_generator, rand::hipStream_t) -> rocrand_status;
type SetNumber = unsafe extern "C" fn(rocrand_generator, u64) -> rocrand_status;
type Uniform<T> = unsafe extern "C" fn(rocrand_generator, *mut T, usize) -> rocrand_status;
type Normal<T> = unsafe extern "C" fn(rocrand_generator, *mut T, usize, T, T) -> rocrand_status;

fn create(kind: u32) -> (rocrand_status, rocrand_generator) {
    let mut generator = ptr::null_mut();
    let create = function!(rand::rocrand_create_generator: Create);
    // SAFETY: a live place for a generator.
    let status = unsafe { create(&raw mut generator, kind) };
    (status, generator)
}

#[test]
fn each_entry_point_asks_curand_for_the_same_thing() {
    assert_eq!(
        create(PHILOX),
        (NOT_CREATED, ptr::null_mut()),
        "no cuRAND is loaded"
    );
    let folder = tempfile::tempdir().unwrap();
    let driver = Mock::compile(folder.path(), "libcuda.c", rocm_nvidia::LIBRARY);
    let library = Mock::compile(folder.path(), "libcurand.c", rocm_nvidia::RAND_LIBRARIES[0]);
    rocm_nvidia::load(&driver).unwrap();
    rocm_nvidia::load_rand(&library).unwrap();
    let mock = Mock::load(&library);

    assert_eq!(
        create(PHILOX + 1),
        (TYPE_ERROR, ptr::null_mut()),
        "another generator"
    );
    assert!(mock.calls().is_empty());
    let (status, generator) = create(PHILOX);
    assert_eq!(
        (status, mock.calls()),
        (SUCCESS, vec!["curandCreateGenerator 161".to_owned()])
    );

    let set_seed = function!(rand::rocrand_set_seed: SetNumber);
    let set_offset = function!(rand::rocrand_set_offset: SetNumber);
    let set_stream = function!(rand::rocrand_set_stream: SetStream);
    // SAFETY: a living generator; the stand-in looks at no stream.
    let set = unsafe {
        let stream = ptr::without_provenance_mut(0x500);
        [
            set_stream(generator, stream),
            set_seed(generator, 7),
            set_offset(generator, 12),
        ]
    };
    assert_eq!(set, [SUCCESS; 3]);
    let asked = [
        "curandSetStream 1 500",
        "curandSetPseudoRandomGeneratorSeed 7",
        "curandSetGeneratorOffset 12",
    ];
    assert_eq!(mock.calls(), asked);

    let uniform = function!(rand::rocrand_generate_uniform: Uniform<f32>);
    let uniform_double = function!(rand::rocrand_generate_uniform_double: Uniform<f64>);
    let (mut singles, mut doubles) = ([0_f32; 4], [0_f64; 4]);
    // SAFETY: a living generator and four elements each.
    let drawn = unsafe {
        [
            uniform(generator, singles.as_mut_ptr(), 4),
            uniform_double(generator, doubles.as_mut_ptr(), 4),
        ]
    };
    assert_eq!(drawn, [SUCCESS; 2]);
    assert_eq!(
        (singles, doubles),
        ([12.0, 13.0, 14.0, 15.0], [12.0, 13.0, 14.0, 15.0])
    );
    let normal = function!(rand::rocrand_generate_normal: Normal<f32>);
    let normal_double = function!(rand::rocrand_generate_normal_double: Normal<f64>);
    // SAFETY: as above.
    let drawn = unsafe {
        [
            normal(generator, singles.as_mut_ptr(), 2, 1.0, 2.0),
            normal_double(generator, doubles.as_mut_ptr(), 2, 1.0, 0.5),
        ]
    };
    assert_eq!(drawn, [SUCCESS; 2]);
    assert_eq!(
        (singles, doubles),
        ([25.0, 27.0, 14.0, 15.0], [7.0, 7.5, 14.0, 15.0])
    );
    mock.calls();

    // cuRAND draws normal numbers in pairs: it is not asked for others, and nothing is written.
    // SAFETY: as above.
    let odd = unsafe { normal(generator, singles.as_mut_ptr(), 3, 9.0, 9.0) };
    assert_eq!(odd, TYPE_ERROR);
    assert_eq!((singles, mock.calls().len()), ([25.0, 27.0, 14.0, 15.0], 0));
    mock.fail(c"curandGenerateNormal", 201);
    // SAFETY: as above.
    let failed = unsafe { normal(generator, singles.as_mut_ptr(), 2, 9.0, 9.0) };
    assert_eq!(failed, LAUNCH_FAILURE);
    let detail = rocm_nvidia::take_detail();
    assert_eq!(
        detail.as_deref(),
        Some("curandGenerateNormal: curandStatus_t 201")
    );
    mock.calls();

    let destroy = function!(rand::rocrand_destroy_generator: OfGenerator);
    // SAFETY: the second call gets a destroyed generator. The function looks its number up and does not dereference it.
    let destroyed = unsafe { [destroy(generator), destroy(generator)] };
    assert_eq!(destroyed, [SUCCESS, NOT_CREATED]);
    assert_eq!(mock.calls(), ["curandDestroyGenerator"]);
    // SAFETY: as above.
    assert_eq!(unsafe { set_seed(generator, 1) }, NOT_CREATED);
}
