//! What kernels are compiled for: AMD's gfx targets, and what the device libraries have to be told about each; NVIDIA's, by
//! compute capability. clang knows which instructions a target has.

/// One target, for example gfx1100 or sm_80.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// As clang's `--offload-arch` spells it.
    pub name: String,
    maker: Maker,
}

/// Whose GPU a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    /// AMD's, with `__oclc_ISA_version`: major * 1000 + minor * 100 + stepping.
    Amd { isa_version: u32 },
    /// NVIDIA's: kernels become PTX, which serves this compute capability and all later ones.
    Nvidia,
}

/// Of NVIDIA's targets, the least whose PTX has all that the kernels use.
const OLDEST_CAPABILITY: u32 = 80;

impl Target {
    /// The targets of [`rocm_env::TARGETS`]; none where it says `none`.
    ///
    /// # Errors
    /// As [`parse_list`](Target::parse_list).
    pub fn wanted() -> Result<Vec<Target>, String> {
        let list = rocm_env::TARGETS.get().map_err(|error| error.to_string())?;
        if list.0 == "none" {
            return Ok(Vec::new());
        }
        let named = |error| format!("{}: {error}", rocm_env::names::TARGETS);
        Target::parse_list(&list.0).map_err(named)
    }

    /// Parses a list of targets, separated by commas or spaces.
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
            return Err("no target is named; try gfx1100".into());
        }
        Ok(targets)
    }

    /// Whether it is one of NVIDIA's.
    pub fn is_nvidia(&self) -> bool {
        self.maker == Maker::Nvidia
    }

    /// What the files are called that kernels become.
    pub fn extension(&self) -> &'static str {
        match self.maker {
            Maker::Amd { .. } => "hsaco",
            Maker::Nvidia => "ptx",
        }
    }

    /// Flags for clang 20 and later, and for hipRTC, that forbid instructions on halves of registers, which gfx11 and gfx12 have. In them
    /// LLVM 21.1 takes a register's lower half where the upper one is meant, for half floats: `examples/hip-ctest/halves.hip`
    /// shows it. It makes them unasked for gfx1100; where it is told to, gfx1151 and gfx1200 are wrong as well. clang 19 makes none
    /// unasked.
    pub fn whole_registers(&self) -> &'static [&'static str] {
        match self.maker {
            Maker::Amd {
                isa_version: 11_000..,
            } => &["-Xclang", "-target-feature", "-Xclang", "-real-true16"],
            Maker::Amd { .. } | Maker::Nvidia => &[],
        }
    }

    /// `gfx`, then the major version in decimal, the minor in one decimal digit, the stepping in one hexadecimal digit; or
    /// `sm_` and a compute capability.
    fn parse(name: &str) -> Result<Target, String> {
        if let Some(capability) = name.strip_prefix("sm_") {
            return match capability.parse::<u32>() {
                Ok(OLDEST_CAPABILITY..=999) if !capability.starts_with('+') => Ok(Target {
                    name: name.to_owned(),
                    maker: Maker::Nvidia,
                }),
                _ => Err(format!(
                    "`{name}` is not a target of NVIDIA's that kernels are compiled for; expected sm_{OLDEST_CAPABILITY} or later"
                )),
            };
        }
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
            format!("`{name}` is not a target; expected gfx1100, gfx1151, gfx1200, gfx1201, gfx1030, gfx942, gfx950, gfx90a, gfx1250 or the like, or sm_80 for NVIDIA's")
        })?;
        Ok(Target {
            name: name.to_owned(),
            maker: Maker::Amd { isa_version },
        })
    }

    /// RDNA (gfx10 and later) runs our kernels in waves of 32 lanes, GCN and CDNA (gfx9 and before) in waves of 64.
    fn wave_size_log2(isa_version: u32) -> u32 {
        if isa_version >= 10_000 { 5 } else { 6 }
    }

    /// The constants by which the device libraries are configured, as LLVM IR. Distributions ship them as a dozen
    /// `oclc_*.bc` files, but not for targets younger than the package; writing them out works everywhere.
    /// IEEE arithmetic throughout: denormals kept, NaN and infinity honoured, square roots correctly rounded. `None` for
    /// NVIDIA's targets, whose library knows no such constants.
    pub(crate) fn device_lib_controls(&self) -> Option<String> {
        let Maker::Amd { isa_version } = self.maker else {
            return None;
        };
        let log2 = Target::wave_size_log2(isa_version);
        let rows = [
            ("__oclc_ISA_version", "i32", isa_version),
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
        Some(ir)
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
        let refusal = |list| names(list).unwrap_err();
        assert!(refusal("gfx1100,vega").contains("`vega` is not a target"));
        for list in ["sm_75", "sm_", "sm_90a", "sm_+90"] {
            assert!(
                refusal(list).contains(&format!("`{list}` is not a target of NVIDIA's")),
                "{list}"
            );
        }
        assert!(refusal(" ,").contains("no target is named"));
    }

    #[test]
    fn nvidias_targets_are_told_from_amds_and_become_ptx() {
        let targets = Target::parse_list("gfx1100 sm_80").unwrap();
        let told: Vec<_> = targets.iter().map(|t| (t.is_nvidia(), t.extension())).collect();
        assert_eq!(told, [(false, "hsaco"), (true, "ptx")]);
        assert!(targets[0].device_lib_controls().is_some() && targets[1].device_lib_controls().is_none());
    }

    #[test]
    fn the_wave_size_follows_the_generation() {
        let wide = |name| {
            Target::parse_list(name).unwrap()[0]
                .device_lib_controls()
                .unwrap()
                .contains(
                    "wavefrontsize64 = linkonce_odr protected local_unnamed_addr addrspace(4) constant i8 1",
                )
        };
        assert!(wide("gfx90a") && wide("gfx942") && !wide("gfx1030") && !wide("gfx1100"));
    }
}
