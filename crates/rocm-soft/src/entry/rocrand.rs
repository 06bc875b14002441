//! The entry points of rocRAND: C's side of the model in `crate::rocrand`. See entry.rs for what is relied on.

use rocm_rs::rocrand::bindings::{self as declared, rocrand_generator, rocrand_rng_type, rocrand_status};

use super::{address, c_void, opaque, out, status_of};
use crate::rocrand::{self, Normal, NormalDouble, Uniform, UniformDouble};

fn guard(body: impl FnOnce() -> rocrand::Result) -> rocrand_status {
    status_of(
        declared::rocrand_status_ROCRAND_STATUS_SUCCESS,
        rocrand::INTERNAL_ERROR,
        body,
    )
}

foreign! {
    fn rocrand_create_generator(generator: *mut rocrand_generator, kind: rocrand_rng_type) -> rocrand_status {
        guard(|| {
            // SAFETY: rocRAND's contract on out-pointers is HIP's.
            let place = unsafe { out(generator) }.map_err(|_| rocrand::INTERNAL_ERROR)?;
            place.write(opaque(rocrand::create(kind)?));
            Ok(())
        })
    }

    fn rocrand_destroy_generator(generator: rocrand_generator) -> rocrand_status {
        guard(|| rocrand::destroy(generator.addr()))
    }

    fn rocrand_set_stream(generator: rocrand_generator, stream: declared::hipStream_t) -> rocrand_status {
        guard(|| rocrand::set_stream(generator.addr(), stream.addr()))
    }

    fn rocrand_set_seed(generator: rocrand_generator, seed: u64) -> rocrand_status {
        guard(|| rocrand::set_seed(generator.addr(), seed))
    }

    fn rocrand_set_offset(generator: rocrand_generator, offset: u64) -> rocrand_status {
        guard(|| rocrand::set_offset(generator.addr(), offset))
    }

    fn rocrand_generate_uniform(generator: rocrand_generator, data: *mut f32, count: usize) -> rocrand_status {
        guard(|| rocrand::generate(generator.addr(), &Uniform, address(data.cast()), count, 4))
    }

    fn rocrand_generate_uniform_double(
        generator: rocrand_generator, data: *mut f64, count: usize,
    ) -> rocrand_status {
        guard(|| rocrand::generate(generator.addr(), &UniformDouble, address(data.cast()), count, 8))
    }

    fn rocrand_generate_normal(
        generator: rocrand_generator, data: *mut f32, count: usize, mean: f32, stddev: f32,
    ) -> rocrand_status {
        guard(|| rocrand::generate(generator.addr(), &Normal(mean, stddev), address(data.cast()), count, 4))
    }

    fn rocrand_generate_normal_double(
        generator: rocrand_generator, data: *mut f64, count: usize, mean: f64, stddev: f64,
    ) -> rocrand_status {
        guard(|| rocrand::generate(generator.addr(), &NormalDouble(mean, stddev), address(data.cast()), count, 8))
    }
}
