//! What random functions compute: expressions of every type, none of which is undefined for any value of its variables.

pub(crate) use crate::numbers::Numbers;

/// Work of one work-item, in operations of the source.
pub(crate) type Cost = u64;

impl Numbers {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// A type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ty {
    U8,
    U16,
    U32,
    U64,
    I32,
    I64,
    F16,
    F32,
    F64,
}

impl Ty {
    /// Every type; those that registers hold whole more than once, so that they are drawn more often.
    pub(crate) const ALL: [Ty; 14] = [
        Ty::U8,
        Ty::U16,
        Ty::U32,
        Ty::U32,
        Ty::U32,
        Ty::U64,
        Ty::U64,
        Ty::I32,
        Ty::I32,
        Ty::I64,
        Ty::F16,
        Ty::F32,
        Ty::F32,
        Ty::F64,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Ty::U8 => "u8",
            Ty::U16 => "u16",
            Ty::U32 => "u32",
            Ty::U64 => "u64",
            Ty::I32 => "i32",
            Ty::I64 => "i64",
            Ty::F16 => "f16",
            Ty::F32 => "f32",
            Ty::F64 => "f64",
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Ty::F16 | Ty::F32 | Ty::F64)
    }

    /// A value of another type as this one: whole numbers lose their upper bits, floats that are out of range are 7.
    pub(crate) fn of(self, from: Ty, value: &str) -> String {
        let to = self.name();
        match (from, self) {
            _ if from == self => value.to_owned(),
            (Ty::F16, _) if !self.is_float() => format!("{to}_of_f32((f32){value})"),
            (Ty::F32 | Ty::F64, _) if !self.is_float() => format!("{to}_of_{}({value})", from.name()),
            _ => format!("({to})({value})"),
        }
    }

    /// A float's bits at random, for a word of them.
    fn of_bits(self, numbers: &mut Numbers, scope: &Scope, depth: u32) -> String {
        let word = match self {
            Ty::F16 => Ty::U16,
            Ty::F64 => Ty::U64,
            _ => Ty::U32,
        };
        let value = scope.value(numbers, word, depth);
        format!("__builtin_bit_cast({}, ({}){value})", self.name(), word.name())
    }
}

/// A name that has a value.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) ty: Ty,
    pub(crate) name: String,
    /// Whether statements may assign to it.
    pub(crate) writable: bool,
    /// The length of an array, a power of two; 0 for a variable that is not an array.
    pub(crate) length: u64,
}

impl Variable {
    pub(crate) fn new(ty: Ty, name: &str, writable: bool) -> Variable {
        Variable {
            ty,
            name: name.to_owned(),
            writable,
            length: 0,
        }
    }
}

/// What can be named where an expression stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) variables: Vec<Variable>,
    /// Structures by number, and the locals that are some.
    pub(crate) structures: Vec<(usize, String)>,
}

impl Scope {
    /// A variable of a type, or an element of an array, at an index that is inside.
    fn named(&self, numbers: &mut Numbers, ty: Ty, depth: u32) -> Option<String> {
        let those: Vec<&Variable> = self.variables.iter().filter(|v| v.ty == ty).collect();
        if those.is_empty() {
            return None;
        }
        let variable = those[numbers.below(those.len() as u64) as usize];
        Some(self.place(numbers, variable, depth))
    }

    /// The variable, or an element of it.
    pub(crate) fn place(&self, numbers: &mut Numbers, variable: &Variable, depth: u32) -> String {
        if variable.length == 0 {
            return variable.name.clone();
        }
        let last = variable.length - 1;
        if numbers.one_in(2) {
            return format!("{}[{}]", variable.name, numbers.below(variable.length));
        }
        let index = self.value(numbers, Ty::U32, depth.min(1));
        format!("{}[({index}) & {last}]", variable.name)
    }

    fn leaf(&self, numbers: &mut Numbers, ty: Ty) -> String {
        match numbers.below(8) {
            0 => constant(numbers, ty),
            1 if ty == Ty::U32 => {
                let index = self.named(numbers, Ty::U32, 0).unwrap_or_else(|| "5".to_owned());
                format!("words[({index}) & 15]")
            }
            2 => {
                let from = numbers.of(&Ty::ALL);
                match self.named(numbers, from, 0) {
                    Some(name) => ty.of(from, &name),
                    None => constant(numbers, ty),
                }
            }
            _ => match self.named(numbers, ty, 0) {
                Some(name) => name,
                None => constant(numbers, ty),
            },
        }
    }

    /// A condition.
    pub(crate) fn condition(&self, numbers: &mut Numbers, depth: u32) -> String {
        if depth > 0 && numbers.one_in(5) {
            let [a, b] = [0; 2].map(|_| self.condition(numbers, depth - 1));
            return match numbers.below(3) {
                0 => format!("({a} && {b})"),
                1 => format!("({a} || {b})"),
                _ => format!("(!{a})"),
            };
        }
        let ty = numbers.of(&Ty::ALL);
        let [a, b] = [0; 2].map(|_| self.value(numbers, ty, depth.saturating_sub(1)));
        let sign = numbers.of(&["<", "<=", ">", ">=", "==", "!="]);
        format!("({a} {sign} {b})")
    }

    /// A value of a type, of operations nested at most `depth` deep.
    pub(crate) fn value(&self, numbers: &mut Numbers, ty: Ty, depth: u32) -> String {
        if depth == 0 || numbers.one_in(7) {
            return self.leaf(numbers, ty);
        }
        if numbers.one_in(12) {
            let condition = self.condition(numbers, depth - 1);
            let [a, b] = [0; 2].map(|_| self.value(numbers, ty, depth - 1));
            return format!("({condition} ? {a} : {b})");
        }
        if numbers.one_in(8) {
            let from = numbers.of(&Ty::ALL);
            return ty.of(from, &format!("({})", self.value(numbers, from, depth - 1)));
        }
        match ty {
            Ty::U8 | Ty::U16 => self.narrow(numbers, ty, depth - 1),
            Ty::U32 | Ty::U64 => self.unsigned(numbers, ty, depth - 1),
            Ty::I32 | Ty::I64 => self.signed(numbers, ty, depth - 1),
            Ty::F16 => self.half(numbers, depth - 1),
            Ty::F32 | Ty::F64 => self.float(numbers, ty, depth - 1),
        }
    }

    /// Of 8 or 16 bits: computed in 32, since `int`, which they would become, overflows.
    fn narrow(&self, numbers: &mut Numbers, ty: Ty, depth: u32) -> String {
        let [a, b] = [0; 2].map(|_| self.value(numbers, ty, depth));
        let (a, b, name) = (format!("(u32){a}"), format!("(u32){b}"), ty.name());
        let value = match numbers.below(11) {
            0 | 1 => format!("{a} + {b}"),
            2 => format!("{a} - {b}"),
            3 | 4 => format!("{a} * {b}"),
            5 => format!("{a} & {b}"),
            6 => format!("{a} ^ {b}"),
            7 => format!("{a} << ({b} & 15)"),
            8 => format!("{a} >> ({b} & 15)"),
            9 if numbers.one_in(3) => format!("{a} / ({b} | 1)"),
            9 => format!("{a} < {b} ? {a} : {b}"),
            _ => format!("{a} > {b} ? {a} : {b}"),
        };
        format!("({name})({value})")
    }

    fn unsigned(&self, numbers: &mut Numbers, ty: Ty, depth: u32) -> String {
        let [a, b] = [0; 2].map(|_| self.value(numbers, ty, depth));
        let wide = ty == Ty::U64;
        let last = if wide { 63 } else { 31 };
        let suffix = if wide { "ll" } else { "" };
        let name = ty.name();
        match numbers.below(24) {
            0..=2 => format!("({a} + {b})"),
            3 | 4 => format!("({a} - {b})"),
            5 | 6 => format!("({a} * {b})"),
            7 => format!("({a} & {b})"),
            8 => format!("({a} | {b})"),
            9 => format!("({a} ^ {b})"),
            10 => format!("(~{a})"),
            11 => format!("({a} << ({b} & {last}))"),
            12 => format!("({a} >> ({b} & {last}))"),
            // A rotation, and a pair of words shifted.
            13 => format!("({a} << ({b} & {last}) | {a} >> (-{b} & {last}))"),
            14 if numbers.one_in(3) => format!("({a} / ({b} | 1))"),
            14 if numbers.one_in(2) => format!("({a} % ({b} | 1))"),
            14 => format!("({a} % {})", numbers.below(1000) + 1),
            15 => format!("({name})__builtin_popcount{suffix}({a})"),
            16 => format!("({name})__builtin_clz{suffix}({a} | 1)"),
            17 => format!("({name})__builtin_ctz{suffix}({a} | 1)"),
            18 => format!("({a} < {b} ? {a} : {b})"),
            19 => format!("({a} > {b} ? {a} : {b})"),
            20 => format!("__builtin_bswap{}({a})", last + 1),
            21 if wide => format!("(u64)((u128){a} * {b} >> ({b} & 127))"),
            21 => format!("(u32)((u64){a} * {b} >> 32)"),
            22 if wide => format!("((u64)(u32){a} * (u32){b})"),
            22 => format!("(u32)(((u64){a} << 32 | {b}) >> ({a} & 31))"),
            _ => {
                let c = self.value(numbers, ty, depth.min(1));
                format!("({a} * {b} + {c})")
            }
        }
    }

    fn signed(&self, numbers: &mut Numbers, ty: Ty, depth: u32) -> String {
        let [a, b] = [0; 2].map(|_| self.value(numbers, ty, depth));
        let (name, last) = if ty == Ty::I64 { ("i64", 63) } else { ("i32", 31) };
        let (half, unsigned) = if ty == Ty::I64 {
            ("i32", "u64")
        } else {
            ("short", "u32")
        };
        match numbers.below(15) {
            0 | 1 => format!("(({a} >> 1) + ({b} >> 1))"),
            2 | 3 => format!("(({a} >> 1) - ({b} >> 2))"),
            4 | 5 => format!("(({name})(({half}){a}) * ({half}){b})"),
            6 => format!("({a} & {b})"),
            7 => format!("({a} ^ {b})"),
            8 => format!("({a} >> ({b} & {last}))"),
            9 if numbers.one_in(2) => format!("({a} / (({b} & 0xffff) + 1))"),
            9 => format!("({a} % (-({b} & 0xff) - 2))"),
            10 => format!("({a} < {b} ? {a} : {b})"),
            11 => format!("({a} > {b} ? {a} : {b})"),
            12 => format!("({name})(({unsigned}){a} + ({unsigned}){b})"),
            13 => format!("({name})(({unsigned}){a} << ({b} & {last}))"),
            _ => format!("({a} < 0 ? -({a} | 1) : {a})"),
        }
    }

    /// A half. No quotient: compilers need not round it right.
    fn half(&self, numbers: &mut Numbers, depth: u32) -> String {
        let [a, b] = [0; 2].map(|_| self.value(numbers, Ty::F16, depth));
        match numbers.below(9) {
            0 | 1 => format!("(f16)({a} + {b})"),
            2 => format!("(f16)({a} - {b})"),
            3 | 4 => format!("(f16)({a} * {b})"),
            5 => format!("({a} < {b} ? {a} : {b})"),
            6 => format!("({a} > {b} ? {a} : {b})"),
            7 => format!("(-{a})"),
            _ => Ty::F16.of_bits(numbers, self, depth),
        }
    }

    fn float(&self, numbers: &mut Numbers, ty: Ty, depth: u32) -> String {
        let [a, b] = [0; 2].map(|_| self.value(numbers, ty, depth));
        let suffix = if ty == Ty::F64 { "" } else { "f" };
        match numbers.below(20) {
            0..=2 => format!("({a} + {b})"),
            3 | 4 => format!("({a} - {b})"),
            5..=7 => format!("({a} * {b})"),
            8 if numbers.one_in(2) => format!("({a} / {b})"),
            8 => format!("({a} / {})", constant(numbers, ty)),
            9 if numbers.one_in(2) => format!("__builtin_sqrt{suffix}({a})"),
            9 => format!("__builtin_sqrt{suffix}(__builtin_fabs{suffix}({a}))"),
            10 => format!("__builtin_floor{suffix}({a})"),
            11 => format!("__builtin_ceil{suffix}({a})"),
            12 => format!("__builtin_trunc{suffix}({a})"),
            13 => format!("__builtin_rint{suffix}({a})"),
            14 => format!("__builtin_fabs{suffix}({a})"),
            15 => {
                let c = self.value(numbers, ty, depth.min(1));
                format!("__builtin_fma{suffix}({a}, {b}, {c})")
            }
            16 => format!("({a} < {b} ? {a} : {b})"),
            17 => format!("({a} > {b} ? {a} : {b})"),
            // Nobody says which sign a NaN has.
            18 => format!(
                "__builtin_copysign{suffix}({a}, {b} != {b} ? ({})1 : {b})",
                ty.name()
            ),
            _ => Ty::of_bits(ty, numbers, self, depth),
        }
    }
}

/// A constant: values at which things change, and others.
fn constant(numbers: &mut Numbers, ty: Ty) -> String {
    let any = numbers.next();
    match ty {
        Ty::U8 => format!("(u8){}", any as u8),
        Ty::U16 => format!("(u16){}", any as u16),
        Ty::U32 => format!("{:#x}u", any as u32 >> numbers.of(&[0, 8, 20, 28])),
        Ty::U64 => format!("{:#x}ull", any >> numbers.of(&[0, 16, 40, 60])),
        Ty::I32 => format!("(i32){:#x}u", any as u32),
        Ty::I64 => format!("(i64){any:#x}ull"),
        Ty::F16 => format!(
            "(f16){}f",
            numbers.of(&["0.5", "-1.25", "3.0", "0.0001", "1000.0", "-0.0"])
        ),
        Ty::F32 => format!(
            "{}f",
            numbers.of(&[
                "0.5", "-1.25", "3.0", "1e-40", "1e30", "-0.0", "1.1", "65536.0", "-7e-10"
            ])
        ),
        Ty::F64 => numbers
            .of(&[
                "0.5",
                "-1.25",
                "3.0",
                "1e-310",
                "1e300",
                "-0.0",
                "1.1",
                "4294967296.0",
                "-7e-20",
            ])
            .to_owned(),
    }
}
