//! Random work on random buffers, every one with a mirror on the host: what a pool of memory, streams that share it and
//! transfers do wrong shows as a buffer that differs from its mirror. Used by tests/memory.rs and examples/soak.rs.

use rocm_backend::ops::{self, Binary, Unary};
use rocm_backend::{Buffer, Device, Result, View};

/// Buffers held at a time at most.
const HELD: usize = 24;

/// A fixed pseudo-random sequence (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize
    }

    fn below(&mut self, limit: usize) -> usize {
        self.next() % limit
    }

    /// Mostly a few elements, at times thousands; rarely megabytes.
    fn len(&mut self) -> usize {
        match self.below(64) {
            0 => 1 + self.below(1 << 20),
            1..8 => 1 + self.below(1 << 13),
            _ => 1 + self.below(700),
        }
    }

    fn numbers(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| self.below(19) as f32 - 9.0).collect()
    }
}

/// A buffer and what it must hold.
struct Held {
    device: usize,
    buffer: Buffer<f32>,
    mirror: Vec<f32>,
}

/// Works on `devices`, of which buffers never meet but which may share memory, until `go_on`, given the number of steps so
/// far, says no; then drops every buffer. The number of steps.
///
/// # Errors
/// What differs from its mirror, or the backend's error, with the step.
pub(crate) fn run(
    devices: &[Device],
    seed: u64,
    mut go_on: impl FnMut(u64) -> bool,
) -> std::result::Result<u64, String> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut held: Vec<Held> = Vec::new();
    let mut steps = 0;
    while go_on(steps) {
        step(devices, &mut random, &mut held)
            .map_err(|what| format!("step {steps} of seed {seed}: {what}"))?;
        steps += 1;
    }
    for one in held {
        check(&one)?;
    }
    Ok(steps)
}

fn step(devices: &[Device], random: &mut Random, held: &mut Vec<Held>) -> std::result::Result<(), String> {
    let what = random.below(10);
    if held.is_empty() || what < 2 {
        let device = random.below(devices.len());
        let len = random.len();
        let mirror = random.numbers(len);
        let buffer = devices[device]
            .upload(&mirror)
            .map_err(|error| error.to_string())?;
        held.push(Held {
            device,
            buffer,
            mirror,
        });
    } else {
        let at = random.below(held.len());
        if what < 4 {
            let one = held.swap_remove(at);
            return if what == 2 { check(&one) } else { Ok(()) };
        }
        let of = &held[at];
        let (buffer, mirror) = work(devices, random, what, of).map_err(|error| error.to_string())?;
        let device = of.device;
        held.push(Held {
            device,
            buffer,
            mirror,
        });
    }
    while held.len() > HELD {
        let at = random.below(held.len());
        check(&held.swap_remove(at))?;
    }
    Ok(())
}

/// A new buffer made of `of`, and what it must hold.
fn work(devices: &[Device], random: &mut Random, what: usize, of: &Held) -> Result<(Buffer<f32>, Vec<f32>)> {
    let (x, host) = (&of.buffer, &of.mirror);
    let flat = x.view();
    // Kernels run in software at times: what is large is only copied.
    if what == 4 || x.len() > 1 << 14 {
        return Ok((x.try_clone()?, host.clone()));
    }
    Ok(match what {
        5 => (
            ops::unary(Unary::Neg, flat)?.typed()?,
            host.iter().map(|x| -x).collect(),
        ),
        6 => (
            ops::unary(Unary::Abs, flat)?.typed()?,
            host.iter().map(|x| x.abs()).collect(),
        ),
        7 => (
            ops::binary(Binary::Add, flat, flat)?.typed()?,
            host.iter().map(|x| x + x).collect(),
        ),
        8 => {
            // By columns: a table of strides.
            let rows = 1 + random.below(9);
            let cols = x.len() / rows;
            let (dims, strides) = ([cols, rows], [1, cols]);
            let turned = View::new(x, &dims, &strides).at(x.len() - rows * cols);
            let first = x.len() - rows * cols;
            let mirror = (0..cols).flat_map(|col| (0..rows).map(move |row| host[first + row * cols + col]));
            (ops::unary(Unary::Copy, turned)?.typed()?, mirror.collect())
        }
        _ => product(&devices[of.device], random)?,
    })
}

/// A product of two new matrices of whole numbers, which is exact.
fn product(device: &Device, random: &mut Random) -> Result<(Buffer<f32>, Vec<f32>)> {
    let [m, n, k] = [0; 3].map(|_| 1 + random.below(12));
    let (l, r) = (random.numbers(m * k), random.numbers(k * n));
    let (left, right) = (device.upload(&l)?, device.upload(&r)?);
    let out = ops::matmul(
        View::contiguous(&left, &[m, k]),
        View::contiguous(&right, &[k, n]),
    )?;
    let element = |i: usize| {
        let terms = (0..k).map(|at| l[i / n * k + at] * r[at * n + i % n]);
        // From +0 on, as the kernel: a sum of no terms in Rust is -0.
        terms.fold(0.0, |sum, term| sum + term)
    };
    Ok((out.typed()?, (0..m * n).map(element).collect()))
}

/// Whether a buffer holds what its mirror has, bit for bit.
fn check(held: &Held) -> std::result::Result<(), String> {
    let elements = held.buffer.download().map_err(|error| error.to_string())?;
    let mut pairs = elements.iter().zip(&held.mirror).enumerate();
    match pairs.find(|(_, (x, want))| x.to_bits() != want.to_bits()) {
        Some((at, (x, want))) => Err(format!(
            "element {at} of {} is {x}, expected {want}",
            held.mirror.len()
        )),
        None if elements.len() == held.mirror.len() => Ok(()),
        None => Err(format!(
            "{} elements, expected {}",
            elements.len(),
            held.mirror.len()
        )),
    }
}

/// That a buffer which is not what it must be is noticed.
#[cfg(test)]
pub(crate) fn notices_a_wrong_element(device: &Device) -> bool {
    let held = |mirror| Held {
        device: 0,
        buffer: device.upload(&[1.0, 2.0]).unwrap(),
        mirror,
    };
    check(&held(vec![1.0, 2.0])).is_ok()
        && check(&held(vec![1.0, 3.0])).is_err()
        && check(&held(vec![1.0])).is_err()
}
