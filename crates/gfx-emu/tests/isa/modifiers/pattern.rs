//! Which lane each lane reads by a DPP pattern, written out from LLVM's page of AMDGPU modifiers.

/// The lane that `lane` reads in a wave of `lanes`; none where it is out of its row, or of the wave.
pub(super) fn from(pattern: &str, lane: usize, lanes: usize) -> Option<usize> {
    let (name, rest) = pattern.split_once(':').unwrap_or((pattern, ""));
    let list = || -> Vec<usize> {
        let inner = rest.trim_matches(['[', ']']);
        inner.split(',').map(|n| n.parse().unwrap()).collect()
    };
    let number = || rest.parse::<usize>().unwrap();
    let (row, place) = (lane / 16 * 16, lane % 16);
    let within = |place: Option<usize>| place.filter(|place| *place < 16).map(|place| row + place);
    match name {
        "quad_perm" => Some(lane / 4 * 4 + list()[lane % 4]),
        "dpp8" => Some(lane / 8 * 8 + list()[lane % 8]),
        // "Shift left" is towards lane 0.
        "row_shl" => within(Some(place + number())),
        "row_shr" => within(place.checked_sub(number())),
        "row_ror" => Some(row + (place + 16 - number()) % 16),
        "row_share" | "row_newbcast" => Some(row + number()),
        "row_xmask" => Some(row + (place ^ number())),
        "row_mirror" => Some(row + 15 - place),
        "row_half_mirror" => Some(lane / 8 * 8 + 7 - lane % 8),
        "wave_shl" => Some(lane + 1).filter(|from| *from < lanes),
        "wave_rol" => Some((lane + 1) % lanes),
        "wave_shr" => lane.checked_sub(1),
        "wave_ror" => Some((lane + lanes - 1) % lanes),
        // The last lane of a row for the next one; of each second row for the two after it.
        "row_bcast" if rest == "15" => row.checked_sub(1),
        "row_bcast" => (lane / 32 * 32).checked_sub(1),
        _ => panic!("`{pattern}`"),
    }
}
