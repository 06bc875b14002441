//! Text that takes the place of derived functions, and further arms for upstream's macros; see candle-overlay.
//!
//! This file is not compiled itself: each function goes where upstream has the Metal one.

mod utils {
    /// Whether `Device::rocm_if_available` gives a ROCm device: there is an AMD GPU, or `ROCM_DRIVER=soft` asks for the
    /// software one. Without that wish a program that can do without a GPU is better off on the CPU.
    pub fn rocm_is_available() -> bool {
        crate::rocm::is_available()
    }
}

trait CustomOp1 {
    /// The forward pass, as run on a ROCm device. An op that has none runs on the CPU; see [`crate::rocm::fallbacks`].
    fn rocm_fwd(&self, storage: &RocmStorage, layout: &Layout) -> Result<(RocmStorage, Shape)> {
        if let Some(out) = crate::rocm::custom::op1(self, storage, layout)? {
            return Ok(out);
        }
        let (out, shape) = crate::rocm::on_cpu(self.name(), || self.cpu_fwd(&storage.download()?, layout))?;
        Ok((storage.upload_beside(&out)?, shape))
    }
}

trait CustomOp2 {
    /// The forward pass, as run on a ROCm device. An op that has none runs on the CPU; see [`crate::rocm::fallbacks`].
    fn rocm_fwd(
        &self,
        s1: &RocmStorage,
        l1: &Layout,
        s2: &RocmStorage,
        l2: &Layout,
    ) -> Result<(RocmStorage, Shape)> {
        if let Some(out) = crate::rocm::custom::op2(self, (s1, l1), (s2, l2))? {
            return Ok(out);
        }
        let (out, shape) = crate::rocm::on_cpu(self.name(), || {
            self.cpu_fwd(&s1.download()?, l1, &s2.download()?, l2)
        })?;
        Ok((s1.upload_beside(&out)?, shape))
    }
}

trait CustomOp3 {
    /// The forward pass, as run on a ROCm device. An op that has none runs on the CPU; see [`crate::rocm::fallbacks`].
    fn rocm_fwd(
        &self,
        s1: &RocmStorage,
        l1: &Layout,
        s2: &RocmStorage,
        l2: &Layout,
        s3: &RocmStorage,
        l3: &Layout,
    ) -> Result<(RocmStorage, Shape)> {
        if let Some(out) = crate::rocm::custom::op3(self, (s1, l1), (s2, l2), (s3, l3))? {
            return Ok(out);
        }
        let (out, shape) = crate::rocm::on_cpu(self.name(), || {
            self.cpu_fwd(&s1.download()?, l1, &s2.download()?, l2, &s3.download()?, l3)
        })?;
        Ok((s1.upload_beside(&out)?, shape))
    }
}

trait InplaceOp1 {
    /// The forward pass, as run on a ROCm device. An op that has none runs on the CPU; see [`crate::rocm::fallbacks`].
    fn rocm_fwd(&self, storage: &mut RocmStorage, layout: &Layout) -> Result<()> {
        crate::rocm::on_cpu(self.name(), || {
            let mut host = storage.download()?;
            self.cpu_fwd(&mut host, layout)?;
            *storage = storage.upload_beside(&host)?;
            Ok(())
        })
    }
}

trait InplaceOp2 {
    /// The forward pass, as run on a ROCm device. An op that has none runs on the CPU; see [`crate::rocm::fallbacks`].
    fn rocm_fwd(&self, s1: &mut RocmStorage, l1: &Layout, s2: &RocmStorage, l2: &Layout) -> Result<()> {
        crate::rocm::on_cpu(self.name(), || {
            let mut host = s1.download()?;
            self.cpu_fwd(&mut host, l1, &s2.download()?, l2)?;
            *s1 = s1.upload_beside(&host)?;
            Ok(())
        })
    }
}

trait InplaceOp3 {
    /// The forward pass, as run on a ROCm device. An op that has none runs on the CPU; see [`crate::rocm::fallbacks`].
    fn rocm_fwd(
        &self,
        s1: &mut RocmStorage,
        l1: &Layout,
        s2: &RocmStorage,
        l2: &Layout,
        s3: &RocmStorage,
        l3: &Layout,
    ) -> Result<()> {
        crate::rocm::on_cpu(self.name(), || {
            let mut host = s1.download()?;
            self.cpu_fwd(&mut host, l1, &s2.download()?, l2, &s3.download()?, l3)?;
            *s1 = s1.upload_beside(&host)?;
            Ok(())
        })
    }
}

trait InplaceOpN {
    /// The forward pass, as run on a ROCm device. An op that has none runs on the CPU; see [`crate::rocm::fallbacks`].
    fn rocm_fwd(
        &self,
        dst: &mut RocmStorage,
        dst_l: &Layout,
        srcs: [(&RocmStorage, &Layout); N],
    ) -> Result<()> {
        crate::rocm::on_cpu(self.name(), || {
            let mut host = dst.download()?;
            let hosts = srcs
                .iter()
                .map(|(src, _)| src.download())
                .collect::<Result<Vec<_>>>()?;
            self.cpu_fwd(&mut host, dst_l, std::array::from_fn(|i| (&hosts[i], srcs[i].1)))?;
            *dst = dst.upload_beside(&host)?;
            Ok(())
        })
    }

    /// As `rocm_fwd`, with sources that are views of the destination.
    fn rocm_fwd_aliased(
        &self,
        dst: &mut RocmStorage,
        dst_l: &Layout,
        srcs: [(Src<'_, RocmStorage>, &Layout); N],
    ) -> Result<()> {
        crate::rocm::on_cpu(self.name(), || {
            let mut host = dst.download()?;
            let hosts = srcs
                .iter()
                .map(|(src, _)| match src {
                    Src::Distinct(src) => src.download(),
                    // Read through the destination; this one is never looked at.
                    Src::Aliased(_) => Ok(CpuStorage::U8(Vec::new())),
                })
                .collect::<Result<Vec<_>>>()?;
            let sources = std::array::from_fn(|i| match srcs[i] {
                (Src::Distinct(_), layout) => (Src::Distinct(&hosts[i]), layout),
                (Src::Aliased(relation), layout) => (Src::Aliased(relation), layout),
            });
            self.cpu_fwd_aliased(&mut host, dst_l, sources)?;
            *dst = dst.upload_beside(&host)?;
            Ok(())
        })
    }
}

macro_rules! test_device {
    // With a fifth name the test also runs on the ROCm device. Calls with four names mean what they meant.
    ($fn_name: ident, $test_cpu: ident, $test_cuda: ident, $test_metal: ident, $test_rocm: ident) => {
        $crate::test_device!($fn_name, $test_cpu, $test_cuda, $test_metal);

        #[test]
        fn $test_rocm() -> Result<()> {
            $fn_name(&Device::new_rocm(0)?)
        }
    };
}
