//! The types of values, and how each is read from text. Which variable has which type is said in the table.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// What a variable can be. The default is what holds when it is not set.
pub trait Value: Default + 'static {
    /// The words it takes, or what a value looks like.
    fn form() -> String;

    /// The value of a text; `None` if the text is not a value. The text is not empty.
    fn parse(text: &OsStr) -> Option<Self>;

    /// What an empty text means.
    fn nothing() -> Self {
        Self::default()
    }
}

fn words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

/// Types that are one of some words; the first is the default.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $(#[$first_doc:meta])* $first:ident $first_word:literal, $($(#[$variant_doc:meta])* $variant:ident $word:literal,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            pub enum $name {
                $(#[$first_doc])*
                #[default]
                $first,
                $($(#[$variant_doc])* $variant,)*
            }

            impl $name {
                /// Every value, the default first.
                pub const ALL: &'static [$name] = &[$name::$first, $($name::$variant,)*];

                /// The word.
                pub const fn word(self) -> &'static str {
                    match self {
                        $name::$first => $first_word,
                        $($name::$variant => $word,)*
                    }
                }
            }

            impl Value for $name {
                fn form() -> String {
                    format!("one of {}", words($name::ALL.iter().map(|value| value.word())))
                }

                fn parse(text: &OsStr) -> Option<$name> {
                    $name::ALL.iter().copied().find(|value| text == value.word())
                }
            }
        )*
    };
}

words! {
    /// Who answers the HIP calls.
    Driver {
        /// The system's driver where it has a device, else the software device.
        Auto "auto",
        /// The system's driver.
        System "system",
        /// The system's libamdhip64, which is AMD's, over the software device.
        Hsa "hsa",
        /// The software device.
        Soft "soft",
        /// NVIDIA's driver.
        Nvidia "nvidia",
    }
    /// Which of AMD's libraries may serve operations.
    Libraries {
        /// The system's, with the system's driver.
        Auto "auto",
        /// None: kernels only.
        Native "native",
        /// Models on the host, with the software device.
        Model "model",
    }
    /// What becomes of device memory that a buffer gives back.
    Allocation {
        /// It is kept on a GPU, and given back on the software device.
        Auto "auto",
        /// It is kept for the next buffer.
        Caching "caching",
        /// It is given back.
        Exact "exact",
    }
    /// A card that the software device can be.
    Card {
        /// An RDNA 3 card, with waves of 32 lanes.
        Gfx1100 "gfx1100",
        /// An RDNA 3.5 APU, with waves of 32 lanes.
        Gfx1151 "gfx1151",
        /// A small RDNA 4 card, with waves of 32 lanes.
        Gfx1200 "gfx1200",
        /// An RDNA 4 card, with waves of 32 lanes.
        Gfx1201 "gfx1201",
        /// An RDNA 2 card, with waves of 32 lanes.
        Gfx1030 "gfx1030",
        /// An MI300, with waves of 64 lanes.
        Gfx942 "gfx942",
        /// An MI350, with waves of 64 lanes.
        Gfx950 "gfx950",
        /// An MI200, with waves of 64 lanes.
        Gfx90a "gfx90a",
        /// An MI455X, with waves of 32 lanes.
        Gfx1250 "gfx1250",
    }
    /// Something that is done or not.
    Switch {
        /// Not done.
        Off "0",
        /// Done.
        On "1",
    }
    /// What a library says of the calls that a program makes.
    Log {
        /// Nothing.
        None "none",
        /// The first call of each function that has no body.
        Missing "missing",
        /// Every call.
        Calls "calls",
    }
    /// What becomes of a custom op that has no ROCm implementation.
    Fallback {
        /// It runs on the CPU, and is counted.
        Allow "allow",
        /// It is an error.
        Refuse "refuse",
    }
    /// Whether the software device compiles kernels to the host's machine code.
    Jit {
        /// Those that are executed often, where the host has AVX-512.
        Auto "auto",
        /// None.
        Off "off",
        /// All, before their first instruction, where the host has AVX-512: for who doubts compiled kernels.
        Always "always",
    }
    /// Whose rounding the activations of quantized products have.
    Activations {
        /// That of candle's CUDA backend.
        Cuda "cuda",
        /// That of candle's CPU backend.
        Cpu "cpu",
    }
}

/// A list of software devices; empty where no list is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cards(pub Vec<Card>);

impl Cards {
    /// Handles of the software device have eight values for their device.
    pub const MOST: usize = 8;
}

impl Value for Cards {
    fn form() -> String {
        format!(
            "a list of {}, {} at most",
            words(Card::ALL.iter().map(|card| card.word())),
            Cards::MOST
        )
    }

    fn parse(text: &OsStr) -> Option<Cards> {
        let names = text.to_str()?.split(',');
        let cards: Option<Vec<_>> = names.map(|name| Card::parse(name.trim().as_ref())).collect();
        cards.filter(|cards| cards.len() <= Cards::MOST).map(Cards)
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

/// 16 GiB.
impl Default for Bytes {
    fn default() -> Bytes {
        Bytes(16 << 30)
    }
}

impl Value for Bytes {
    fn form() -> String {
        "a number of bytes, such as 4096, 64KiB, 64MiB or 16GiB".to_owned()
    }

    fn parse(text: &OsStr) -> Option<Bytes> {
        let text = text.to_str()?.trim();
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit: u64 = match text[digits.len()..].trim() {
            "" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return None,
        };
        digits.parse::<u64>().ok()?.checked_mul(unit).map(Bytes)
    }
}

/// A number of instructions: a billion where none is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructions(pub u64);

impl Default for Instructions {
    fn default() -> Instructions {
        Instructions(1_000_000_000)
    }
}

impl Value for Instructions {
    fn form() -> String {
        "a whole number from 1".to_owned()
    }

    fn parse(text: &OsStr) -> Option<Instructions> {
        let count: u64 = text.to_str()?.trim().parse().ok()?;
        (count > 0).then_some(Instructions(count))
    }
}

/// Which of some places allocations have: the first where none is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place(pub u32);

impl Place {
    /// How many there are.
    pub const COUNT: u32 = 7;
}

impl Value for Place {
    fn form() -> String {
        format!("a whole number from 0 to {}", Place::COUNT - 1)
    }

    fn parse(text: &OsStr) -> Option<Place> {
        let place: u32 = text.to_str()?.trim().parse().ok()?;
        (place < Place::COUNT).then_some(Place(place))
    }
}

/// What an instruction is called. Which there are is known to who executes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mnemonic(pub Option<String>);

impl Value for Mnemonic {
    fn form() -> String {
        "the mnemonic of an instruction, such as v_add_f32".to_owned()
    }

    fn parse(text: &OsStr) -> Option<Mnemonic> {
        let text = text.to_str()?.trim();
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let is_word = text.contains('_') && text.chars().all(allowed);
        is_word.then(|| Mnemonic(Some(text.to_owned())))
    }
}

/// A time; none where none is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seconds(pub Option<Duration>);

impl Seconds {
    /// The time in milliseconds, by which [`clock`] counts; one at least.
    pub fn milliseconds(self) -> Option<u64> {
        self.0
            .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1))
    }
}

/// Milliseconds since the first call of this process.
pub fn clock() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let since = START.get_or_init(Instant::now).elapsed();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Value for Seconds {
    fn form() -> String {
        "a number of seconds above 0, such as 30 or 0.5".to_owned()
    }

    fn parse(text: &OsStr) -> Option<Seconds> {
        let seconds: f64 = text.to_str()?.trim().parse().ok()?;
        let time = Duration::try_from_secs_f64(seconds).ok()?;
        (time > Duration::ZERO).then_some(Seconds(Some(time)))
    }
}

/// Paths, which can be any text.
macro_rules! paths {
    ($($(#[$doc:meta])* $name:ident $form:literal)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, PartialEq, Eq)]
            pub struct $name(pub Option<PathBuf>);

            impl $name {
                /// The path, where one is named.
                pub fn path(&self) -> Option<&Path> {
                    self.0.as_deref()
                }
            }

            impl Value for $name {
                fn form() -> String {
                    $form.to_owned()
                }

                fn parse(text: &OsStr) -> Option<$name> {
                    Some($name(Some(text.into())))
                }
            }
        )*
    };
}

paths! {
    /// A file.
    File "a file"
    /// A folder.
    Folder "a folder"
    /// A program.
    Program "a program"
}

/// The folder in which compiled kernels are kept; `None` where none are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCache(pub Option<PathBuf>);

/// The user's cache. Never a folder that others may write to, as /tmp: what lies there is executed.
impl Default for KernelCache {
    fn default() -> KernelCache {
        let absolute = |name| {
            env::var_os(name)
                .map(PathBuf::from)
                .filter(|dir| dir.is_absolute())
        };
        let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        KernelCache(base.map(|dir| dir.join("rocm-backend")))
    }
}

impl Value for KernelCache {
    fn form() -> String {
        "a folder; set to nothing, no kernels are kept".to_owned()
    }

    fn parse(text: &OsStr) -> Option<KernelCache> {
        Some(KernelCache(Some(text.into())))
    }

    fn nothing() -> KernelCache {
        KernelCache(None)
    }
}

/// GPUs that kernels are compiled for, as their reader takes them apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Targets(pub String);

impl Default for Targets {
    fn default() -> Targets {
        Targets("gfx1100".to_owned())
    }
}

impl Value for Targets {
    fn form() -> String {
        "a list of GPUs, such as gfx1100,gfx90a,sm_80, or none".to_owned()
    }

    fn parse(text: &OsStr) -> Option<Targets> {
        text.to_str().map(|text| Targets(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_itself_and_nothing_else() {
        assert_eq!(Driver::parse("soft".as_ref()), Some(Driver::Soft));
        assert_eq!(Driver::parse("Soft".as_ref()), None);
        assert_eq!(Switch::parse("true".as_ref()), None);
        assert_eq!(Driver::form(), "one of auto, system, hsa, soft, nvidia");
        assert_eq!(Driver::default(), Driver::Auto);
    }

    #[test]
    fn a_list_names_one_card_a_device() {
        let cards = |list: &str| Cards::parse(list.as_ref()).map(|cards| cards.0);
        assert_eq!(cards("gfx942"), Some(vec![Card::Gfx942]));
        let three = [Card::Gfx1100, Card::Gfx942, Card::Gfx1100];
        assert_eq!(cards("gfx1100, gfx942,gfx1100"), Some(three.to_vec()));
        for refused in ["gfx1100,gfx7", "gfx1100,", &["gfx942"; 9].join(",")] {
            assert_eq!(cards(refused), None, "{refused}");
        }
    }

    #[test]
    fn memory_is_a_number_with_a_unit_or_without() {
        let bytes = |text: &str| Bytes::parse(text.as_ref()).map(|bytes| bytes.0);
        assert_eq!(bytes("4096"), Some(4096));
        assert_eq!(bytes(" 64MiB"), Some(64 << 20));
        assert_eq!(bytes("1 GiB"), Some(1 << 30));
        for refused in ["64MB", "MiB", "-1", "1.5GiB", "99999999999GiB"] {
            assert_eq!(bytes(refused), None, "{refused}");
        }
    }

    #[test]
    fn limits_are_above_zero_and_places_are_those_that_there_are() {
        let count = |text: &str| Instructions::parse(text.as_ref()).map(|count| count.0);
        assert_eq!(count(" 5000 "), Some(5000));
        for refused in ["0", "-1", "1e6", "many"] {
            assert_eq!(count(refused), None, "{refused}");
        }
        let place = |text: &str| Place::parse(text.as_ref()).map(|place| place.0);
        assert_eq!(
            (place("0"), place(" 6 "), place("7"), place("-1")),
            (Some(0), Some(6), None, None)
        );
        let seconds = |text: &str| Seconds::parse(text.as_ref()).and_then(|time| time.0);
        assert_eq!(seconds("0.5"), Some(Duration::from_millis(500)));
        for refused in ["0", "-1", "nan", "inf", "1e300", "1s"] {
            assert_eq!(seconds(refused), None, "{refused}");
        }
    }

    #[test]
    fn a_mnemonic_is_one_word() {
        let name = |text: &str| Mnemonic::parse(text.as_ref()).and_then(|name| name.0);
        assert_eq!(name(" v_add_f32 ").as_deref(), Some("v_add_f32"));
        for refused in ["v_add_f32,v_mul_f32", "v_add_f32 v0", "V_ADD_F32", "1", "all"] {
            assert_eq!(name(refused), None, "{refused}");
        }
    }

    #[test]
    fn no_kernels_are_kept_where_the_cache_is_nowhere() {
        assert_eq!(KernelCache::nothing().0, None);
        assert_eq!(Folder::nothing().path(), None);
    }
}
