//! What the device libraries have to be told about a gfx target. clang knows which instructions it has.

/// One gfx target, for example gfx1100.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// As clang's `--offload-arch` spells it.
    pub name: String,
    /// `__oclc_ISA_version`: major * 1000 + minor * 100 + stepping.
    isa_version: u32,
}

impl Target {
    /// The targets of [`rocm_env::TARGETS`].
    ///
    /// # Errors
    /// As [`parse_list`](Target::parse_list).
    pub fn wanted() -> Result<Vec<Target>, String> {
        let list = rocm_env::TARGETS.get().map_err(|error| error.to_string())?;
        let named = |error| format!("{}: {error}", rocm_env::names::TARGETS);
        Target::parse_list(&list.0).map_err(named)
    }

    /// Parses a list of gfx targets, separated by commas or spaces.
    ///
    /// # Errors
    /// Which name is not a target, and what a target looks like.
    pub fn parse_list(list: &str) -> Result<Vec<Target>, String> {
        let mut targets = Vec::<Target>::new();
        for name in list.split([',', ' ']).filter(|name| !name.is_empty()) {
            if targets.iter().all(|target| target.name != name) {
                targets.push(Target::parse(name)?);
            }
        }
        if targets.is_empty() {
            return Err("no gfx target is named; try gfx1100".into());
        }
        Ok(targets)
    }

    /// `gfx`, then the major version in decimal, the minor in one decimal digit, the stepping in one hexadecimal digit.
    fn parse(name: &str) -> Result<Target, String> {
        let version = || {
            let digits = name.strip_prefix("gfx")?;
            let split = digits
                .len()
                .checked_sub(2)
                .filter(|split| digits.is_ascii() && (1..=2).contains(split))?;
            let (major, rest) = digits.split_at(split);
            let mut rest = rest.chars();
            let (minor, stepping) = (rest.next()?.to_digit(10)?, rest.next()?.to_digit(16)?);
            Some(major.parse::<u32>().ok()? * 1000 + minor * 100 + stepping)
        };
        let isa_version = version().ok_or_else(|| {
            format!("`{name}` is not a gfx target; expected gfx1100, gfx942, gfx90a or the like")
        })?;
        Ok(Target {
            name: name.to_owned(),
            isa_version,
        })
    }

    /// RDNA (gfx10 and later) runs our kernels in waves of 32 lanes, GCN and CDNA (gfx9 and before) in waves of 64.
    fn wave_size_log2(&self) -> u32 {
        if self.isa_version >= 10_000 { 5 } else { 6 }
    }

    /// The constants by which the device libraries are configured, as LLVM IR. Distributions ship them as a dozen
    /// `oclc_*.bc` files, but not for targets younger than the package; writing them out works everywhere.
    /// IEEE arithmetic throughout: denormals kept, NaN and infinity honoured, square roots correctly rounded.
    pub(crate) fn device_lib_controls(&self) -> String {
        let log2 = self.wave_size_log2();
        let rows = [
            ("__oclc_ISA_version", "i32", self.isa_version),
            (
                "__oclc_ABI_version",
                "i32",
                crate::compile::CODE_OBJECT_VERSION * 100,
            ),
            ("__oclc_wavefrontsize64", "i8", u32::from(log2 == 6)),
            ("__oclc_wavefrontsize_log2", "i32", log2),
            ("__oclc_daz_opt", "i8", 0),
            ("__oclc_unsafe_math_opt", "i8", 0),
            ("__oclc_finite_only_opt", "i8", 0),
            ("__oclc_correctly_rounded_sqrt32", "i8", 1),
        ];
        let mut ir = String::from("target triple = \"amdgcn-amd-amdhsa\"\n");
        for (name, ty, value) in rows {
            ir += &format!(
                "@{name} = linkonce_odr protected local_unnamed_addr addrspace(4) constant {ty} {value}\n"
            );
        }
        ir
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> Result<Vec<String>, String> {
        Ok(Target::parse_list(list)?.into_iter().map(|t| t.name).collect())
    }

    #[test]
    fn a_list_takes_commas_and_spaces_and_names_each_target_once() {
        assert_eq!(names("gfx1100, gfx90a gfx1100").unwrap(), ["gfx1100", "gfx90a"]);
    }

    #[test]
    fn what_is_no_target_is_refused_by_name() {
        assert!(
            names("gfx1100,sm_90")
                .unwrap_err()
                .contains("`sm_90` is not a gfx target")
        );
        assert!(names(" ,").unwrap_err().contains("no gfx target is named"));
    }

    #[test]
    fn the_wave_size_follows_the_generation() {
        let wide = |name| {
            Target::parse_list(name).unwrap()[0]
                .device_lib_controls()
                .contains(
                    "wavefrontsize64 = linkonce_odr protected local_unnamed_addr addrspace(4) constant i8 1",
                )
        };
        assert!(wide("gfx90a") && wide("gfx942") && !wide("gfx1030") && !wide("gfx1100"));
    }
}
