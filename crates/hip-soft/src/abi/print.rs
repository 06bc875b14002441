//! C's side of what kernels ask for: `printf`'s conversions, the standard streams, functions of the program.

use core::ffi::{c_char, c_int, c_void};
use std::ffi::CString;

unsafe extern "C" {
    fn snprintf(to: *mut c_char, room: usize, format: *const c_char, ...) -> c_int;
    fn fwrite(from: *const c_void, size: usize, count: usize, to: *mut c_void) -> usize;
    fn fflush(stream: *mut c_void) -> c_int;
    static stdout: *mut c_void;
    static stderr: *mut c_void;
}

/// An argument of a conversion.
#[derive(Debug)]
pub(crate) enum Value {
    /// 64 bits: of a whole number, of a double, of an address.
    Number(u64),
    /// The bytes of a text.
    Text(Vec<u8>),
}

/// The longest width and precision that are printed; C has no limit.
const MOST: usize = 4096;

/// The text of one conversion, such as `%-4.2f`, of one argument.
pub(crate) fn formatted(conversion: &[u8], value: &Value) -> Vec<u8> {
    let numbers = conversion.split(|byte| !byte.is_ascii_digit());
    let is_long = |digits: &[u8]| {
        digits.len() > 4
            || str::from_utf8(digits).is_ok_and(|text| text.parse().is_ok_and(|number: usize| number > MOST))
    };
    let Ok(format) = CString::new(conversion) else {
        return Vec::new();
    };
    if numbers.into_iter().any(is_long) {
        return conversion.to_vec();
    }
    match value {
        Value::Text(text) => {
            let Ok(text) = CString::new(text.as_slice()) else {
                return Vec::new();
            };
            // SAFETY: the conversion is one of a text, and the text ends with a NUL.
            written(|to, room| unsafe { snprintf(to, room, format.as_ptr(), text.as_ptr()) })
        }
        Value::Number(bits) => match conversion.last() {
            Some(b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G') => {
                let number = f64::from_bits(*bits);
                // SAFETY: the conversion is one of a double.
                written(|to, room| unsafe { snprintf(to, room, format.as_ptr(), number) })
            }
            Some(b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'c' | b'p') => {
                // SAFETY: the conversion is one of a whole number or an address, which are read from the same 64 bits, of which
                // shorter ones are the lower half.
                written(|to, room| unsafe { snprintf(to, room, format.as_ptr(), *bits) })
            }
            _ => Vec::new(),
        },
    }
}

/// What is written into room that is long enough.
fn written(write: impl Fn(*mut c_char, usize) -> c_int) -> Vec<u8> {
    let Ok(len) = usize::try_from(write(std::ptr::null_mut(), 0)) else {
        return Vec::new();
    };
    let mut room = vec![0_u8; len + 1];
    write(room.as_mut_ptr().cast(), room.len());
    room.truncate(len);
    room
}

/// Writes to standard output, or to standard error, in the order of the program's own text.
pub(crate) fn write(text: &[u8], to_error: bool) {
    // SAFETY: C's standard streams are there as long as the process, and the bytes are the slice's.
    unsafe {
        let stream = if to_error { stderr } else { stdout };
        fwrite(text.as_ptr().cast(), 1, text.len(), stream);
        fflush(stream);
    }
}

/// Calls a function of the program's that a kernel names, with its seven arguments; it gives two numbers.
pub(crate) fn call(slots: &[u64; 8]) -> [u64; 2] {
    let mut output = [0; 2];
    if slots[0] == 0 {
        return output;
    }
    let function = std::ptr::with_exposed_provenance::<c_void>(slots[0] as usize);
    // SAFETY: the program gave the kernel the address of a function of this type, as AMD's device library demands.
    unsafe {
        let function: unsafe extern "C" fn(*mut u64, *const u64) = std::mem::transmute(function);
        function(output.as_mut_ptr(), slots[1..].as_ptr());
    }
    output
}
