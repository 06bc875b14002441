//! What is known of a number: between which two it lies, and bits that are zero or one in any case.

/// A set of numbers of up to 64 bits, which contains at least those that can occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// No number is less.
    pub(super) lo: u64,
    /// No number is greater.
    pub(super) hi: u64,
    /// Bits that are zero.
    pub(super) zeros: u64,
    /// Bits that are one.
    pub(super) ones: u64,
}

/// The lowest `bits` bits.
pub(super) const fn low(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The bits up to the highest one of `mask`.
pub(super) const fn below(mask: u64) -> u64 {
    low(64 - mask.leading_zeros())
}

impl Value {
    /// Any number of 32 bits.
    pub(super) const WORD: Value = Value::any(32);

    /// Any number of so many bits.
    pub(super) const fn any(bits: u32) -> Value {
        Value {
            lo: 0,
            hi: low(bits),
            zeros: !low(bits),
            ones: 0,
        }
    }

    /// One number.
    pub(super) const fn exactly(number: u64) -> Value {
        Value {
            lo: number,
            hi: number,
            zeros: !number,
            ones: number,
        }
    }

    /// The numbers up to this one.
    pub(super) fn up_to(hi: u64) -> Value {
        Value::between(0, hi)
    }

    fn between(lo: u64, hi: u64) -> Value {
        Value {
            lo,
            hi,
            zeros: !below(hi),
            ones: 0,
        }
        .tightened()
    }

    /// The numbers with these bits zero and those one.
    pub(super) fn of_bits(zeros: u64, ones: u64) -> Value {
        Value {
            lo: ones,
            hi: !zeros,
            zeros,
            ones,
        }
    }

    /// Limits by bits, and bits by limits. Where nothing is left, the place is never reached, and any set is right.
    pub(super) fn tightened(mut self) -> Value {
        self.lo = self.lo.max(self.ones);
        self.hi = self.hi.min(!self.zeros);
        if self.lo > self.hi || self.zeros & self.ones != 0 {
            return Value::any(64);
        }
        // Bits above the first that differs.
        let common = !below(self.lo ^ self.hi);
        self.zeros |= common & !self.lo;
        self.ones |= common & self.lo;
        self
    }

    /// The number, where there is one.
    pub(super) fn number(self) -> Option<u64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// Whether a bit is zero in any case.
    pub(super) fn is_clear(self, bit: u32) -> bool {
        self.zeros >> bit & 1 != 0
    }

    /// Either set.
    pub(super) fn or_else(self, other: Value) -> Value {
        Value {
            lo: self.lo.min(other.lo),
            hi: self.hi.max(other.hi),
            zeros: self.zeros & other.zeros,
            ones: self.ones & other.ones,
        }
    }

    /// Either set; what grew from `self` grows at once as far as it may, so that loops end soon. Only zeros at the low end stay.
    pub(super) fn widened(self, other: Value, bits: u32) -> Value {
        let joined = self.or_else(other);
        if joined == self {
            return self;
        }
        let even = low(joined.zeros.trailing_ones());
        Value::of_bits(even | !low(bits), 0)
    }

    /// The low `bits` bits.
    pub(super) fn truncated(self, bits: u32) -> Value {
        let mask = low(bits);
        if self.hi <= mask {
            return self;
        }
        Value::of_bits(self.zeros | !mask, self.ones & mask).tightened()
    }

    /// The upper half of 64 bits.
    pub(super) fn upper(self) -> Value {
        self.shifted_right(32)
    }

    /// 64 bits of two halves.
    pub(super) fn joined(low_half: Value, high_half: Value) -> Value {
        Value {
            lo: low_half.lo | high_half.lo << 32,
            hi: low_half.hi | high_half.hi << 32,
            zeros: low_half.zeros & low(32) | high_half.zeros << 32,
            ones: low_half.ones | high_half.ones << 32,
        }
        .tightened()
    }

    pub(super) fn not(self, bits: u32) -> Value {
        let mask = low(bits);
        Value {
            lo: !self.hi & mask,
            hi: !self.lo & mask,
            zeros: self.ones | !mask,
            ones: self.zeros & mask,
        }
        .tightened()
    }

    pub(super) fn and(self, other: Value) -> Value {
        Value {
            lo: 0,
            hi: self.hi.min(other.hi),
            zeros: self.zeros | other.zeros,
            ones: self.ones & other.ones,
        }
        .tightened()
    }

    pub(super) fn or(self, other: Value) -> Value {
        Value {
            lo: self.lo.max(other.lo),
            hi: self.hi.saturating_add(other.hi),
            zeros: self.zeros & other.zeros,
            ones: self.ones | other.ones,
        }
        .tightened()
    }

    pub(super) fn xor(self, other: Value) -> Value {
        Value {
            lo: 0,
            hi: self.hi.saturating_add(other.hi),
            zeros: self.zeros & other.zeros | self.ones & other.ones,
            ones: self.zeros & other.ones | self.ones & other.zeros,
        }
        .tightened()
    }

    /// The sum modulo 2 to the power of `bits`.
    pub(super) fn plus(self, other: Value, bits: u32) -> Value {
        let bounds = match (self.hi.checked_add(other.hi), self.lo.checked_add(other.lo)) {
            (Some(hi), Some(lo)) if hi <= low(bits) => Some((lo, hi)),
            _ => None,
        };
        // The greatest and the least sum differ in a bit's carry only where a carry is not known.
        let most = (!self.zeros).wrapping_add(!other.zeros);
        let least = self.ones.wrapping_add(other.ones);
        let carries = !(most ^ self.zeros ^ other.zeros) | (least ^ self.ones ^ other.ones);
        let known = (self.zeros | self.ones) & (other.zeros | other.ones) & carries;
        Value::of_sum(!most & known, least & known, bounds, bits)
    }

    /// The difference modulo 2 to the power of `bits`.
    pub(super) fn minus(self, other: Value, bits: u32) -> Value {
        let bounds = (self.lo >= other.hi).then(|| (self.lo - other.hi, self.hi - other.lo));
        let sum = self
            .plus(other.not(bits), 64)
            .plus(Value::exactly(1), 64)
            .truncated(bits);
        Value::of_sum(sum.zeros, sum.ones, bounds, bits)
    }

    fn of_sum(zeros: u64, ones: u64, bounds: Option<(u64, u64)>, bits: u32) -> Value {
        let mask = low(bits);
        let sum = Value::of_bits(zeros | !mask, ones & mask);
        let (lo, hi) = bounds.unwrap_or((sum.lo, sum.hi));
        Value {
            lo,
            hi: hi.min(mask),
            ..sum
        }
        .tightened()
    }

    /// The product modulo 2 to the power of `bits`.
    pub(super) fn times(self, other: Value, bits: u32) -> Value {
        let even = (self.zeros.trailing_ones() + other.zeros.trailing_ones()).min(bits);
        let zeros = low(even) | !low(bits);
        match self.hi.checked_mul(other.hi) {
            Some(hi) if hi <= low(bits) => Value {
                lo: self.lo * other.lo,
                hi,
                zeros: zeros | !below(hi),
                ones: 0,
            }
            .tightened(),
            _ => Value::of_bits(zeros, 0),
        }
    }

    pub(super) fn shifted_left(self, by: u32, bits: u32) -> Value {
        let mask = low(bits);
        let shifted = Value::of_bits(
            (self.zeros << by | low(by)) & mask | !mask,
            self.ones << by & mask,
        );
        if self.hi <= mask >> by {
            let (lo, hi) = (self.lo << by, self.hi << by);
            return Value { lo, hi, ..shifted }.tightened();
        }
        shifted
    }

    pub(super) fn shifted_right(self, by: u32) -> Value {
        Value {
            lo: self.lo >> by,
            hi: self.hi >> by,
            zeros: self.zeros >> by | !(u64::MAX >> by),
            ones: self.ones >> by,
        }
        .tightened()
    }

    /// With the sign of `from` bits, as `to` bits.
    pub(super) fn extended(self, from: u32, to: u32) -> Value {
        let value = self.truncated(from);
        let above = low(to) & !low(from);
        if value.is_clear(from - 1) {
            value
        } else if value.ones >> (from - 1) & 1 != 0 {
            value.or(Value::exactly(above))
        } else {
            Value::of_bits(value.zeros & low(from) | !low(to), value.ones)
        }
    }

    /// What a function of each member of a small set makes: `None` where there are too many.
    pub(super) fn each(self, most: u64, f: impl Fn(u64) -> Value) -> Option<Value> {
        if self.hi - self.lo >= most {
            return None;
        }
        let fits = |number: &u64| number & self.zeros == 0 && !number & self.ones == 0;
        let numbers = (self.lo..=self.hi).filter(fits);
        numbers.map(f).reduce(Value::or_else)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(value: Value) -> impl Iterator<Item = u64> {
        (0..=255).filter(move |n| {
            (value.lo..=value.hi).contains(n) && n & value.zeros == 0 && !n & value.ones == 0
        })
    }

    /// Sets of numbers of 8 bits, by limits and by bits.
    fn samples() -> Vec<Value> {
        let mut all = vec![Value::any(8), Value::exactly(0), Value::exactly(255)];
        for (lo, hi) in [(0, 3), (1, 200), (127, 128), (250, 255), (16, 31)] {
            all.push(Value::between(lo, hi));
        }
        for (zeros, ones) in [(0x0f, 0), (0x80, 1), (0x70, 0x08), (0, 0x81)] {
            all.push(Value::of_bits(zeros | !0xff, ones));
        }
        all
    }

    fn holds(value: Value, number: u64) {
        assert!(
            number >= value.lo
                && number <= value.hi
                && number & value.zeros == 0
                && !number & value.ones == 0,
            "{number:#x} in {value:x?}"
        );
    }

    #[test]
    fn results_of_members_are_members_of_results() {
        for a in samples() {
            for x in numbers(a) {
                holds(a.not(8), !x & 0xff);
                holds(a.truncated(4), x & 15);
                holds(a.extended(8, 16), x as i8 as u16 as u64);
                holds(a.extended(3, 8), ((x << 5) as i8 >> 5) as u8 as u64);
                for by in 0..8 {
                    holds(a.shifted_left(by, 8), x << by & 0xff);
                    holds(a.shifted_right(by), x >> by);
                }
            }
            for b in samples() {
                for x in numbers(a) {
                    holds(a.or_else(b), x);
                    holds(a.widened(b, 8), x);
                    for y in numbers(b) {
                        holds(a.and(b), x & y);
                        holds(a.or(b), x | y);
                        holds(a.xor(b), x ^ y);
                        holds(a.plus(b, 8), (x + y) & 0xff);
                        holds(a.minus(b, 8), x.wrapping_sub(y) & 0xff);
                        holds(a.times(b, 8), (x * y) & 0xff);
                        holds(a.widened(b, 8), y);
                        holds(Value::joined(a, b), x | y << 32);
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_known_is_kept() {
        assert_eq!(Value::up_to(1023).plus(Value::up_to(1), 32), Value::up_to(1024));
        assert_eq!(Value::up_to(255).times(Value::up_to(4), 32), Value::up_to(1020));
        assert_eq!(Value::any(16).shifted_left(16, 32).zeros & low(32), 0xffff);
        assert!(Value::any(32).and(Value::exactly(0x7fff_ffff)).is_clear(31));
        assert_eq!(Value::any(32).times(Value::exactly(8), 32).zeros & 7, 7);
    }
}
