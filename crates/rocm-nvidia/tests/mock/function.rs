//! How tests of AMD's libraries call their functions.

/// A function of one of AMD's libraries by its name, with the type that rocm-rs declares in `bindings`.
macro_rules! function {
    ($bindings:ident::$name:ident: $ty:ty) => {{
        let _: $ty = $bindings::$name;
        let address = rocm_nvidia::symbol(stringify!($name)).unwrap();
        // SAFETY: the crate checks that the function has the signature that rocm-rs declares, which is this one.
        unsafe { std::mem::transmute::<*const std::ffi::c_void, $ty>(address) }
    }};
}
pub(crate) use function;
