//! hipRTC, ROCm's compiler for programs that run: source in, code object out. Used where there is no clang.
//!
//! rocm-rs declares none of its functions, so sys.rs has their types, after HIP's documentation. Up to ROCm 6 they
//! are in libamdhip64 too, from ROCm 7 on in a library of their own only.
#![expect(unsafe_code, reason = "loads hipRTC and calls it")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::sync::OnceLock;

use libloading::Library;

use super::sys::rtc as c;
use crate::{DriverInfo, Error, Result};

/// Names of the library, newest first, and the HIP runtime that may contain it.
const NAMES: [&str; 8] = [
    "libhiprtc.so.10",
    "libhiprtc.so.9",
    "libhiprtc.so.8",
    "libhiprtc.so.7",
    "libhiprtc.so.6",
    "libhiprtc.so.5",
    "libhiprtc.so",
    "libamdhip64.so",
];

/// The functions of a loaded library.
#[derive(Debug)]
pub(crate) struct Rtc {
    create: c::Create,
    destroy: c::Destroy,
    compile: c::Compile,
    code_size: c::Size,
    code: c::Text,
    log_size: c::Size,
    log: c::Text,
    error_string: c::ErrorString,
    /// Its path and version: another one may make other code.
    pub(crate) identity: String,
}

/// A program in the making, owned.
struct RtcProgram<'a> {
    rtc: &'a Rtc,
    raw: c::Program,
}

/// The hipRTC beside the driver's library, if there is one. The first call loads it.
pub(crate) fn of(driver: &DriverInfo) -> Option<&'static Rtc> {
    static RTC: OnceLock<Option<Rtc>> = OnceLock::new();
    RTC.get_or_init(|| {
        let hip = driver.library()?;
        let beside = NAMES.iter().map(|name| hip.with_file_name(name));
        beside.chain([hip.to_owned()]).find_map(|path| Rtc::open(&path))
    })
    .as_ref()
}

impl Rtc {
    fn open(path: &Path) -> Option<Rtc> {
        // SAFETY: loading runs the library's initialisers. The path comes from where the driver's own library lies.
        let library = unsafe { Library::new(path) }.ok()?;
        let library: &'static Library = Box::leak(Box::new(library));
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the name is one of hipRTC's, and the field's type is that of its documentation.
                *unsafe { library.get($name) }.ok()?
            };
        }
        let version: c::Version = function!("hiprtcVersion");
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both are live ints.
        let status = unsafe { version(&raw mut major, &raw mut minor) };
        (status == 0).then_some(Rtc {
            create: function!("hiprtcCreateProgram"),
            destroy: function!("hiprtcDestroyProgram"),
            compile: function!("hiprtcCompileProgram"),
            code_size: function!("hiprtcGetCodeSize"),
            code: function!("hiprtcGetCode"),
            log_size: function!("hiprtcGetProgramLogSize"),
            log: function!("hiprtcGetProgramLog"),
            error_string: function!("hiprtcGetErrorString"),
            identity: format!("{} {major}.{minor}", path.display()),
        })
    }

    /// Compiles `source`, called `name` in messages, which may include `headers`.
    ///
    /// # Errors
    /// [`Error::Compile`] with the compiler's own words.
    pub(crate) fn compile(
        &self,
        name: &str,
        source: &str,
        headers: &[(&str, &str)],
        options: &[String],
    ) -> Result<Vec<u8>> {
        let [name, source] = [name, source].map(text);
        let (name, source) = (name?, source?);
        let texts = headers
            .iter()
            .map(|(_, text_of)| text(text_of))
            .collect::<Result<Vec<_>>>()?;
        let names = headers
            .iter()
            .map(|(name, _)| text(name))
            .collect::<Result<Vec<_>>>()?;
        let options = options
            .iter()
            .map(|option| text(option))
            .collect::<Result<Vec<_>>>()?;
        let pointers = |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).collect::<Vec<_>>();
        let (texts, names, options) = (pointers(&texts), pointers(&names), pointers(&options));
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` is a live handle to be written; the texts live to the end of this function, and there are as many
        // headers as names.
        self.check("hiprtcCreateProgram", unsafe {
            (self.create)(
                &raw mut raw,
                source.as_ptr(),
                name.as_ptr(),
                count(&texts),
                texts.as_ptr(),
                names.as_ptr(),
            )
        })?;
        let program = RtcProgram { rtc: self, raw };
        // SAFETY: the program and the options live.
        let status = unsafe { (self.compile)(program.raw, count(&options), options.as_ptr()) };
        if status != 0 {
            let log = program.read(self.log_size, self.log).unwrap_or_default();
            let log = String::from_utf8_lossy(&log);
            let status = self.words(status);
            return Err(Error::Compile(format!(
                "hipRTC: {status}\n{}",
                log.trim_end_matches('\0')
            )));
        }
        program.read(self.code_size, self.code)
    }

    fn check(&self, call: &str, status: c_int) -> Result<()> {
        match status {
            0 => Ok(()),
            status => Err(Error::Compile(format!("{call}: {}", self.words(status)))),
        }
    }

    fn words(&self, status: c_int) -> String {
        // SAFETY: takes any number and returns a static C string.
        let words = unsafe { (self.error_string)(status) };
        match words.is_null() {
            true => format!("status {status}"),
            // SAFETY: not null, and documented as a string.
            false => unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned(),
        }
    }
}

impl RtcProgram<'_> {
    /// What `get` has, as long as `size` says.
    fn read(&self, size: c::Size, get: c::Text) -> Result<Vec<u8>> {
        let mut len = 0;
        // SAFETY: the program lives, and `len` is a live size.
        let status = unsafe { size(self.raw, &raw mut len) };
        self.rtc.check("hipRTC's result", status)?;
        let mut bytes = vec![0_u8; len];
        // SAFETY: the program lives, and there is room for as many bytes as it says.
        let status = unsafe { get(self.raw, bytes.as_mut_ptr().cast::<c_char>()) };
        self.rtc.check("hipRTC's result", status)?;
        Ok(bytes)
    }
}

impl Drop for RtcProgram<'_> {
    fn drop(&mut self) {
        // SAFETY: made by hiprtcCreateProgram and destroyed only here. A failure leaves nothing to do.
        let _ = unsafe { (self.rtc.destroy)(&raw mut self.raw) };
    }
}

fn count<T>(list: &[T]) -> c_int {
    c_int::try_from(list.len()).unwrap_or(c_int::MAX)
}

fn text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::Compile("the source contains a NUL".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A library with hipRTC's functions: its "code" is the source, the first header and the first option, one after the
    /// other; a source that begins with `!` does not compile.
    const STAND_IN: &str = r#"
        #include <stdlib.h>
        #include <string.h>
        struct program { char text[256]; };
        int hiprtcVersion(int *major, int *minor) { *major = 7; *minor = 1; return 0; }
        int hiprtcCreateProgram(struct program **p, const char *source, const char *name, int n, const char **headers,
                                const char **names) {
            *p = calloc(1, sizeof **p);
            strcpy((*p)->text, source);
            if (n == 1) { strcat((*p)->text, names[0]); strcat((*p)->text, headers[0]); }
            return 0;
        }
        int hiprtcDestroyProgram(struct program **p) { free(*p); *p = 0; return 0; }
        int hiprtcCompileProgram(struct program *p, int n, const char **options) {
            if (p->text[0] == '!') return 6;
            if (n > 0) strcat(p->text, options[0]);
            return 0;
        }
        int hiprtcGetCodeSize(struct program *p, size_t *size) { *size = strlen(p->text); return 0; }
        int hiprtcGetCode(struct program *p, char *code) { memcpy(code, p->text, strlen(p->text)); return 0; }
        int hiprtcGetProgramLogSize(struct program *p, size_t *size) { *size = 9; return 0; }
        int hiprtcGetProgramLog(struct program *p, char *log) { strcpy(log, "line one"); return 0; }
        const char *hiprtcGetErrorString(int e) { return "HIPRTC_ERROR_COMPILATION"; }
    "#;

    fn stand_in() -> Rtc {
        let folder = tempfile::tempdir().unwrap();
        let (c, library) = (folder.path().join("rtc.c"), folder.path().join("libhiprtc.so.7"));
        std::fs::write(&c, STAND_IN).unwrap();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-w", "-o"])
            .arg(&library)
            .arg(&c)
            .status();
        assert!(built.unwrap().success());
        Rtc::open(&library).unwrap()
    }

    #[test]
    fn source_headers_and_options_reach_the_compiler_and_the_code_comes_back() {
        let rtc = stand_in();
        assert!(rtc.identity.ends_with("libhiprtc.so.7 7.1"), "{}", rtc.identity);
        let code = rtc
            .compile("k.hip", "code ", &[("a.h", " header ")], &["-O3".to_owned()])
            .unwrap();
        assert_eq!(code, b"code a.h header -O3");
    }

    #[test]
    fn a_refusal_has_the_compilers_log() {
        let error = stand_in()
            .compile("k.hip", "! no", &[], &[])
            .unwrap_err()
            .to_string();
        assert_eq!(error, "hipRTC: HIPRTC_ERROR_COMPILATION\nline one");
        assert!(Rtc::open(Path::new("/nowhere/libhiprtc.so")).is_none());
    }
}
