//! How far memory goes on that can be read, as the system lists it.

/// Bytes from an address to the end of the memory that can be read there; `None` where none can, or where nobody says.
pub(crate) fn readable(address: u64) -> Option<u64> {
    // Names of files in it are in any encoding.
    let list = std::fs::read("/proc/self/maps").ok()?;
    in_list(&String::from_utf8_lossy(&list), address)
}

/// In a list with lines such as `7f00-7f80 r--p 00000000 fe:00 1234 /lib/libc.so`, ascending. What follows without a gap belongs together:
/// a segment or a heap may be several mappings.
fn in_list(list: &str, address: u64) -> Option<u64> {
    let mut end = address;
    for line in list.lines() {
        let (range, rest) = line.split_once(' ')?;
        let (first, last) = range.split_once('-')?;
        let [first, last] = [first, last].map(|number| u64::from_str_radix(number, 16));
        let (Ok(first), Ok(last)) = (first, last) else {
            return None;
        };
        if first <= end && end < last && rest.starts_with('r') {
            end = last;
        }
    }
    (end > address).then(|| end - address)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "1000-2000 r--p 00000000 fe:00 7 /a file\n\
                        2000-3000 rw-p 00000000 00:00 0 [heap]\n\
                        3000-4000 ---p 00000000 00:00 0\n\
                        5000-6000 r-xp 00001000 fe:00 7 /a file\n\
                        6000-7000 -w-p 00001000 fe:00 7\n";

    #[test]
    fn memory_ends_where_nothing_follows_that_can_be_read() {
        for (address, bytes) in [
            (0x1000, Some(0x2000)),
            (0x1fff, Some(0x1001)),
            (0x2800, Some(0x800)),
            (0x5001, Some(0xfff)),
            (0, None),
            (0x3000, None),
            (0x4800, None),
            (0x6800, None),
            (0x7000, None),
        ] {
            assert_eq!(in_list(LIST, address), bytes, "{address:#x}");
        }
        assert_eq!(in_list("nonsense", 0), None);
    }

    #[test]
    fn the_systems_list_has_this_very_text() {
        let text = "somewhere in this program";
        assert!(readable(text.as_ptr().addr() as u64) >= Some(text.len() as u64));
        assert_eq!(readable(8), None);
    }
}
