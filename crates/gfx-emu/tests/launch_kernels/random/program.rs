//! Random C++ functions that have no undefined behaviour, whatever they are given: every loop ends, shifts are masked, divisors are not
//! zero, signed numbers cannot overflow, conversions of floats are guarded, and nothing looks at what is in a NaN.
//!
//! `expression.rs` has what is computed; this has statements, functions and what calls them.

use std::fmt::Write as _;

use super::expression::{Cost, Numbers, Scope, Ty, Variable};

/// In front of the functions: names of types, guarded conversions, and a number's bits, where all NaNs are one.
const PRELUDE: &str = r#"
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32; typedef unsigned long long u64;
typedef int i32; typedef long long i64; typedef _Float16 f16; typedef float f32; typedef double f64; typedef unsigned __int128 u128;
#define INSIDE FUNCTION static inline
#define APART FUNCTION static __attribute__((noinline))
#define TO(T, F, low, high) INSIDE T T##_of_##F(F x) { return x > (F)low && x < (F)high ? (T)x : (T)7; }
#define TO_EACH(F) TO(u8, F, -1, 256) TO(u16, F, -1, 65536) TO(u32, F, -1, 4294967296.0) TO(u64, F, -1, 18446744073709551616.0) \
  TO(i32, F, -2147483648.0, 2147483648.0) TO(i64, F, -9223372036854775808.0, 9223372036854775808.0)
TO_EACH(f32) TO_EACH(f64)
INSIDE u64 bits(u8 x) { return x; } INSIDE u64 bits(u16 x) { return x; } INSIDE u64 bits(u32 x) { return x; }
INSIDE u64 bits(u64 x) { return x; } INSIDE u64 bits(i32 x) { return (u32)x; } INSIDE u64 bits(i64 x) { return (u64)x; }
INSIDE u64 bits(f16 x) { return x != x ? (u16)0x7e00 : __builtin_bit_cast(u16, x); }
INSIDE u64 bits(f32 x) { return x != x ? 0x7fc00000u : __builtin_bit_cast(u32, x); }
INSIDE u64 bits(f64 x) { return x != x ? 0x7ff8000000000000ull : __builtin_bit_cast(u64, x); }
INSIDE u64 mix(u64 hash, u64 more) { return (hash ^ more ^ more >> 29) * 0x9e3779b97f4a7c15ull + 1; }
"#;

/// How many structures there are.
const STRUCTS: usize = 3;

/// What a function may cost a work-item.
const DEAREST: Cost = 4000;

/// A function that others call.
#[derive(Clone)]
struct Callee {
    name: String,
    /// The structure whose address it takes first, or which it takes and gives back.
    structure: Option<(usize, bool)>,
    parameters: Vec<Ty>,
    result: Ty,
    cost: Cost,
}

/// The text so far, and where it goes on.
struct Writer {
    numbers: Numbers,
    text: String,
    /// Fields of each structure: the type, and how many of it.
    structs: Vec<Vec<(Ty, u64)>>,
    callees: Vec<Callee>,
    scope: Scope,
    /// How deep the statement that is written is in blocks.
    depth: usize,
    /// How often it is executed.
    often: Cost,
    /// What the function costs so far.
    cost: Cost,
    /// How many names the function has given.
    names: usize,
}

/// Source of `count` functions: `whole0`, `whole1` and so on make a word of 64 bits of an item's number and its word, and of a word that all
/// items have. A function may call others before it. What `after` gives for its number comes after each.
pub(crate) fn source(seed: u64, count: usize, after: impl Fn(usize) -> String) -> String {
    let mut writer = Writer {
        numbers: Numbers(seed),
        text: PRELUDE.to_owned(),
        structs: Vec::new(),
        callees: Vec::new(),
        scope: Scope::default(),
        depth: 0,
        often: 1,
        cost: 0,
        names: 0,
    };
    writer.globals();
    for number in 0..count {
        match number % 5 {
            0 => writer.apart(number),
            1 => writer.with_structure(number),
            3 if number % 10 == 3 => writer.recursive(number),
            _ => {}
        }
        writer.function(number);
        writer.text += &after(number);
    }
    writer.text
}

impl Writer {
    fn line(&mut self, text: &str) {
        let indent = 2 * self.depth;
        writeln!(self.text, "{:indent$}{text}", "").unwrap();
    }

    fn value(&mut self, ty: Ty, depth: u32) -> String {
        self.cost += self.often * Cost::from(depth + 1);
        self.scope.value(&mut self.numbers, ty, depth)
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// Structures, a table of constants, and functions that are called through a table.
    fn globals(&mut self) {
        for number in 0..STRUCTS {
            let fields: Vec<(Ty, u64)> = (0..self.numbers.below(5) + 2)
                .map(|_| (self.numbers.of(&Ty::ALL), self.numbers.of(&[1, 1, 1, 4])))
                .collect();
            let mut text = String::new();
            for (i, (ty, count)) in fields.iter().enumerate() {
                let length = if *count > 1 {
                    format!("[{count}]")
                } else {
                    String::new()
                };
                write!(text, "{} m{i}{length}; ", ty.name()).unwrap();
            }
            self.line(&format!("struct S{number} {{ {text}}};"));
            self.structs.push(fields);
        }
        let words: Vec<String> = (0..16)
            .map(|_| format!("{:#x}u", self.numbers.next() as u32))
            .collect();
        self.line(&format!("CONSTANT u32 words[16] = {{{}}};", words.join(", ")));
        for number in 0..4 {
            self.begin(&[(Ty::U32, "a"), (Ty::U32, "b")]);
            let value = self.value(Ty::U32, 3);
            self.line(&format!(
                "APART u32 through{number}(u32 a, u32 b) {{ return {value}; }}"
            ));
        }
        self.line("typedef u32 (*Function)(u32, u32);");
        // Volatile: clang 19 may move a load of an address after its first use, into the loop that calls it for lane after lane.
        self.line("CONSTANT Function volatile through[4] = {through0, through1, through2, through3};");
    }

    /// Begins a function with parameters.
    fn begin(&mut self, parameters: &[(Ty, &str)]) {
        self.scope = Scope::default();
        for (ty, name) in parameters {
            self.scope.variables.push(Variable::new(*ty, name, true));
        }
        (self.often, self.cost, self.names) = (1, 4, 0);
    }

    /// Fields of a structure become variables of the scope.
    fn add_fields(&mut self, structure: usize, prefix: &str) {
        for (i, (ty, count)) in self.structs[structure].iter().enumerate() {
            self.scope.variables.push(Variable {
                length: if *count > 1 { *count } else { 0 },
                ..Variable::new(*ty, &format!("{prefix}m{i}"), true)
            });
        }
    }

    /// Locals with values: some numbers, an array, a structure.
    fn locals(&mut self, most: u64) {
        for _ in 0..self.numbers.below(most) + 2 {
            let ty = self.numbers.of(&Ty::ALL);
            let (name, value) = (self.name("v"), self.value(ty, 2));
            self.line(&format!("{} {name} = {value};", ty.name()));
            self.scope.variables.push(Variable::new(ty, &name, true));
        }
        if self.numbers.one_in(2) {
            let (ty, length) = (self.numbers.of(&Ty::ALL), self.numbers.of(&[4, 8, 16]));
            let (name, value) = (self.name("a"), self.value(ty, 1));
            let step = ty.of(Ty::U32, "k");
            let sum = match ty.is_float() {
                true => format!("({0})(({0}){value} + {step})", ty.name()),
                false => format!("({0})((u64){value} + k)", ty.name()),
            };
            self.line(&format!(
                "{} {name}[{length}]; for (u32 k = 0; k < {length}; ++k) {name}[k] = {sum};",
                ty.name()
            ));
            self.scope.variables.push(Variable {
                length,
                ..Variable::new(ty, &name, true)
            });
        }
        if self.numbers.one_in(2) {
            let structure = self.numbers.below(STRUCTS as u64) as usize;
            let name = self.name("s");
            self.line(&format!("S{structure} {name} = {{}};"));
            self.scope.structures.push((structure, name.clone()));
            self.add_fields(structure, &format!("{name}."));
        }
    }

    /// A block of statements.
    fn block(&mut self, count: u64) {
        self.depth += 1;
        for _ in 0..count {
            self.statement();
        }
        self.depth -= 1;
    }

    fn assignment(&mut self) {
        let writable: Vec<Variable> = self
            .scope
            .variables
            .iter()
            .filter(|v| v.writable)
            .cloned()
            .collect();
        let variable = &writable[self.numbers.below(writable.len() as u64) as usize];
        let value = self.value(variable.ty, 3);
        let place = self.scope.place(&mut self.numbers, variable, 1);
        // Conversions to the same type go without saying, but for what `int` would make of narrow numbers.
        self.line(&format!("{place} = {value};"));
    }

    fn statement(&mut self) {
        let room = self.cost < DEAREST && self.depth < 5;
        match self.numbers.below(20) {
            0 | 1 if room => {
                let condition = self.scope.condition(&mut self.numbers, 2);
                self.line(&format!("if {condition} {{"));
                let count = self.numbers.below(3) + 1;
                self.block(count);
                if self.numbers.one_in(2) {
                    self.line("} else {");
                    let count = self.numbers.below(2) + 1;
                    self.block(count);
                }
                self.line("}");
            }
            2 | 3 if room && self.often < 64 => self.a_loop(),
            4 if room => self.switch(),
            5..=7 if !self.callees.is_empty() => self.call(),
            8 => {
                let [a, b, which] = [2, 2, 1].map(|depth| self.value(Ty::U32, depth));
                let target = self.target(Ty::U32);
                self.cost += 20 * self.often;
                self.line(&format!("{target} = through[({which}) & 3]({a}, {b});"));
            }
            _ => self.assignment(),
        }
    }

    /// Where a result of a type goes: a variable, or a new one, which nothing reads but the end.
    fn target(&mut self, ty: Ty) -> String {
        let those: Vec<Variable> = self
            .scope
            .variables
            .iter()
            .filter(|v| v.writable && v.ty == ty)
            .cloned()
            .collect();
        match those.is_empty() {
            true => format!("{} {}", ty.name(), self.name("unused")),
            false => {
                let variable = &those[self.numbers.below(those.len() as u64) as usize];
                self.scope.place(&mut self.numbers, variable, 0)
            }
        }
    }

    fn a_loop(&mut self) {
        let counter = self.name("k");
        let most = self.numbers.below(7) + 1;
        let before = self.often;
        let known = self.scope.variables.len();
        let limit = match self.numbers.one_in(2) {
            true => most.to_string(),
            // Each lane goes round as often as its own value says.
            false => format!("(({}) & 7)", self.value(Ty::U32, 1)),
        };
        let most = if limit.len() == 1 { most } else { 7 };
        self.line(&format!(
            "for (u32 {counter} = 0, n{counter} = {limit}; {counter} < n{counter}; ++{counter}) {{"
        ));
        self.often *= most;
        self.scope.variables.push(Variable::new(Ty::U32, &counter, false));
        let count = self.numbers.below(3) + 1;
        self.block(count);
        if self.numbers.one_in(4) {
            let condition = self.scope.condition(&mut self.numbers, 1);
            let way = self.numbers.of(&["break", "continue"]);
            self.depth += 1;
            self.line(&format!("if {condition} {way};"));
            self.depth -= 1;
            self.block(1);
        }
        self.line("}");
        self.often = before;
        self.scope.variables.truncate(known);
    }

    fn switch(&mut self) {
        let cases = self.numbers.below(5) + 2;
        let value = self.value(Ty::U32, 2);
        self.line(&format!("switch (({value}) % {}) {{", cases + 1));
        for case in 0..cases {
            self.line(&format!("case {case}: {{"));
            self.block(1);
            // Some go on in the next.
            let end = if self.numbers.one_in(4) { "}" } else { "} break;" };
            self.line(end);
        }
        self.line("default: {");
        self.block(1);
        self.line("}");
        self.line("}");
    }

    fn call(&mut self) {
        let callee = &self.callees[self.numbers.below(self.callees.len() as u64) as usize];
        let callee = callee.clone();
        if self.cost + self.often * callee.cost > 2 * DEAREST {
            return self.assignment();
        }
        let mut arguments: Vec<String> = callee.parameters.iter().map(|ty| self.value(*ty, 1)).collect();
        self.cost += self.often * callee.cost;
        if let Some((structure, by_address)) = callee.structure {
            let mut those = self.scope.structures.iter().filter(|(s, _)| *s == structure);
            let Some((_, name)) = those.next_back().cloned() else {
                return self.assignment();
            };
            if !by_address {
                arguments.insert(0, name.clone());
                return self.line(&format!("{name} = {}({});", callee.name, arguments.join(", ")));
            }
            arguments.insert(0, format!("&{name}"));
        }
        // Not into an element of an array that the function changes: C does not say whether the element is chosen before the call.
        let (ty, result) = (callee.result, self.name("r"));
        self.line(&format!(
            "{{ {} {result} = {}({});",
            ty.name(),
            callee.name,
            arguments.join(", ")
        ));
        let target = self.target(ty);
        self.line(&format!("{target} = {result}; }}"));
    }

    /// A word of all that can be named.
    fn hash(&mut self) -> String {
        let mut hash = "1".to_owned();
        for variable in self.scope.variables.clone() {
            let names = match variable.length {
                0 => vec![variable.name],
                length => (0..length).map(|i| format!("{}[{i}]", variable.name)).collect(),
            };
            for name in names {
                hash = format!("mix({hash}, bits({name}))");
            }
        }
        hash
    }

    fn function(&mut self, number: usize) {
        self.begin(&[(Ty::U32, "i"), (Ty::U32, "x"), (Ty::U32, "u")]);
        self.line(&format!(
            "FUNCTION static u64 whole{number}(u32 i, u32 x, u32 u) {{"
        ));
        self.depth = 1;
        self.locals(4);
        let count = self.numbers.below(6) + 2;
        for _ in 0..count {
            self.statement();
        }
        let hash = self.hash();
        self.line(&format!("return {hash};"));
        self.depth = 0;
        self.line("}");
    }

    /// A function of numbers: few, or more than registers are for.
    fn apart(&mut self, number: usize) {
        let count = self.numbers.of(&[1, 2, 3, 4, 6, 24, 40]);
        let parameters: Vec<Ty> = (0..count).map(|_| self.numbers.of(&Ty::ALL)).collect();
        let names: Vec<String> = (0..count).map(|i| format!("p{i}")).collect();
        let named: Vec<(Ty, &str)> = parameters
            .iter()
            .copied()
            .zip(names.iter().map(String::as_str))
            .collect();
        self.begin(&named);
        let list: Vec<String> = named
            .iter()
            .map(|(ty, name)| format!("{} {name}", ty.name()))
            .collect();
        let result = self.numbers.of(&Ty::ALL);
        let name = format!("g{number}");
        self.body(
            &format!("APART {} {name}({})", result.name(), list.join(", ")),
            |writer| writer.value(result, 3),
        );
        self.add(name, None, parameters, result);
    }

    /// A function that takes a structure and gives it back, or that changes one where it is.
    fn with_structure(&mut self, number: usize) {
        let structure = self.numbers.below(STRUCTS as u64) as usize;
        let by_address = self.numbers.one_in(2);
        self.begin(&[(Ty::U32, "p0")]);
        self.add_fields(structure, if by_address { "s->" } else { "s." });
        let name = format!("g{number}");
        let result = self.numbers.of(&Ty::ALL);
        match by_address {
            true => self.body(
                &format!("APART {} {name}(S{structure}* s, u32 p0)", result.name()),
                |writer| writer.value(result, 3),
            ),
            false => self.body(
                &format!("APART S{structure} {name}(S{structure} s, u32 p0)"),
                |_| "s".to_owned(),
            ),
        }
        self.add(name, Some((structure, by_address)), vec![Ty::U32], result);
    }

    /// A function that calls itself, up to seven deep.
    fn recursive(&mut self, number: usize) {
        let ty = self.numbers.of(&Ty::ALL);
        let name = format!("g{number}");
        self.begin(&[(Ty::U32, "n"), (ty, "y"), (Ty::U64, "z")]);
        let (kept, next, first) = (self.value(ty, 2), self.value(ty, 2), self.value(Ty::U64, 2));
        let condition = self.scope.condition(&mut self.numbers, 1);
        self.line(&format!("APART u64 {name}_(u32 n, {} y, u64 z) {{", ty.name()));
        self.depth = 1;
        self.line("if (n == 0) return mix(z, bits(y));");
        self.line(&format!("{} kept = {kept};", ty.name()));
        self.line(&format!("u64 inner = {name}_(n - 1, {next}, {first});"));
        self.line(&format!("if {condition} inner ^= bits(kept);"));
        self.line("return mix(inner, z);");
        self.depth = 0;
        self.line("}");
        self.line(&format!(
            "APART u64 {name}(u32 n, {} y, u64 z) {{ return {name}_(n & 7, y, z); }}",
            ty.name()
        ));
        self.cost *= 8;
        self.add(name, None, vec![Ty::U32, ty, Ty::U64], Ty::U64);
    }

    /// A function's text: locals, a few statements, what it returns.
    fn body(&mut self, head: &str, result: impl FnOnce(&mut Writer) -> String) {
        self.line(&format!("{head} {{"));
        self.depth = 1;
        self.locals(2);
        let count = self.numbers.below(4) + 1;
        for _ in 0..count {
            self.statement();
        }
        let result = result(self);
        self.line(&format!("return {result};"));
        self.depth = 0;
        self.line("}");
    }

    fn add(&mut self, name: String, structure: Option<(usize, bool)>, parameters: Vec<Ty>, result: Ty) {
        // The last few, so that what calls them does not grow without end.
        if self.callees.len() == 6 {
            self.callees.remove(0);
        }
        self.callees.push(Callee {
            name,
            structure,
            parameters,
            result,
            cost: self.cost,
        });
    }
}
