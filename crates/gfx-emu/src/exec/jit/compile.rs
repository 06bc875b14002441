//! Programs to machine code: blocks, branches, the watchdog's budget, and calls of the interpreter's functions.

use std::ops::Range;

use super::asm::{Alu, Asm, If, Label, Mem, R12, R13, R14, R15, RAX, RBP, RBX, RDI, RSI, RSP, Rm, v};
use super::native::{self, CompiledCode, FAULT, at};
use super::rows::HeldRows;
use super::{super::host::Host, Left};
use crate::exec::control::gives_registers_back;
use crate::fp::Mode;
use crate::isa::{Condition, Control, Inst, Program, Unit, WHOLE};
use crate::wave::{Group, Wave, reg};

/// A program as machine code.
#[derive(Debug)]
pub(super) struct CompiledProgram {
    code: CompiledCode,
    /// Offset into the code for each instruction where it can be entered, [`NOWHERE`] for the others.
    entries: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl CompiledProgram {
    /// Where the code for an instruction is, if it can be entered there.
    #[inline(always)]
    pub(super) fn place(&self, pc: usize) -> Option<u32> {
        self.entries.get(pc).copied().filter(|place| *place != NOWHERE)
    }

    /// Executes from such a place on.
    #[inline]
    pub(super) fn run<H: Host, const W: usize>(
        &self,
        host: H,
        wave: &mut Wave<W>,
        group: &mut Group<'_>,
        program: &Program,
        (place, mode): (u32, Mode),
        (left, touched): (&mut u64, &mut u16),
    ) -> Left {
        let entry = native::Entry {
            code: &self.code,
            place,
            mode,
            left,
            touched,
        };
        native::call(host, wave, group, program, entry)
    }
}

/// Whether the host executes what is compiled.
pub(super) fn is_possible() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx512f") && has!("avx512dq") && has!("avx512bw") && has!("bmi1")
}

/// The instructions where compiled code can be entered: where a branch goes, and where the interpreter comes back.
fn leaders(program: &Program) -> Vec<bool> {
    let insts = program.insts();
    let mut leaders = vec![false; insts.len() + 1];
    leaders[program.start()] = true;
    for (index, inst) in insts.iter().enumerate() {
        let Unit::Control(control) = inst.unit else {
            continue;
        };
        if control != Control::Wait {
            leaders[index + 1] = true;
        }
        if matches!(control, Control::Branch(_) | Control::Call)
            && let Some(leader) = leaders.get_mut(inst.target as usize)
        {
            *leader = true;
        }
    }
    leaders.pop();
    leaders
}

/// An instruction whose result the interpreter computes if it comes to that.
pub(super) struct Rarely {
    pub(super) from: Label,
    pub(super) back: Label,
    pub(super) index: u32,
    /// Its destinations, and where they are held.
    pub(super) rows: Vec<(u16, u8)>,
}

/// An instruction whose access the compiled code does not vouch for: the interpreter's function makes it.
pub(super) struct Beyond {
    pub(super) from: Label,
    pub(super) back: Label,
    pub(super) index: usize,
    /// Its destinations, and where they are held.
    pub(super) rows: Vec<(u16, u8)>,
}

/// A program on its way to machine code.
pub(super) struct Compiler<'a> {
    pub(super) asm: Asm,
    pub(super) rows: HeldRows,
    pub(super) program: &'a Program,
    insts: &'a [Inst],
    pub(super) lanes: usize,
    /// The masks 1 to 4 are EXEC's.
    pub(super) has_exec: bool,
    /// The instruction at hand.
    pub(super) index: usize,
    pub(super) rarely: Vec<Rarely>,
    /// Pieces that the budget does not cover: where from, the piece's first instruction, and what it costs.
    broke: Vec<(Label, usize, u32)>,
    /// Instructions that failed.
    failed: Vec<(Label, usize)>,
    /// The way out, with the answer in RAX.
    leave: Label,
    /// Calls the table's function for the instruction in RSI, and keeps what the host's registers hold.
    keep: Label,
    /// The same with what executes any other instruction.
    keep_other: Label,
    pub(super) beyond: Vec<Beyond>,
    /// An instruction goes to a register that the program does not count as named: nothing vouches for its row.
    pub(super) strays: bool,
}

/// A scalar register's place in memory.
pub(super) fn scalar_register(n: usize) -> Mem {
    Mem {
        base: RBX,
        disp: 4 * (n & 127) as i32,
    }
}

/// SCC's place in memory.
pub(super) const SCC: Mem = Mem { base: RBP, disp: 0 };

/// A field of the state.
pub(super) fn state(disp: i32) -> Mem {
    Mem { base: R13, disp }
}

/// Compiles a program; `None` where the host gives no pages, or where a register is out of the program's.
pub(super) fn compile(program: &Program) -> Option<CompiledProgram> {
    let (bytes, entries) = Compiler::of(program).program(program)?;
    Some(CompiledProgram {
        code: CompiledCode::new(&bytes)?,
        entries,
    })
}

/// Whether the first instruction of a program becomes code of its own, and no call.
#[cfg(test)]
pub(super) fn is_native(program: &Program) -> bool {
    let mut compiler = Compiler::of(program);
    let first = &program.insts()[program.start()];
    compiler.native(first)
}

impl<'a> Compiler<'a> {
    fn of(program: &'a Program) -> Compiler<'a> {
        let mut asm = Asm::default();
        let (leave, keep, keep_other) = (asm.label(), asm.label(), asm.label());
        Compiler {
            asm,
            rows: HeldRows::new(program.lanes()),
            program,
            insts: program.insts(),
            lanes: program.lanes(),
            has_exec: false,
            index: 0,
            rarely: Vec::new(),
            broke: Vec::new(),
            failed: Vec::new(),
            leave,
            keep,
            keep_other,
            beyond: Vec::new(),
            strays: false,
        }
    }

    /// The code, and where it can be entered.
    fn program(mut self, program: &Program) -> Option<(Vec<u8>, Vec<u32>)> {
        self.frame();
        let leaders = leaders(program);
        let labels: Vec<Label> = leaders.iter().map(|_| self.asm.label()).collect();
        for start in (0..leaders.len()).filter(|index| leaders[*index]) {
            self.asm.bind(labels[start]);
            self.block(start, &leaders, &labels);
        }
        self.aside();
        let place = |(leader, label): (&bool, &Label)| leader.then(|| self.asm.place(*label)).flatten();
        let entries = leaders.iter().zip(&labels).map(place);
        let entries = entries.map(|place| place.unwrap_or(NOWHERE)).collect();
        if self.strays {
            return None;
        }
        Some((self.asm.finish()?, entries))
    }

    /// What the code begins with: the way in, the way out, and the call that keeps what is held.
    fn frame(&mut self) {
        let saved = [RBX, RBP, R12, R13, R14, R15];
        let asm = &mut self.asm;
        saved.iter().for_each(|register| asm.push(*register));
        asm.alu_constant(true, Alu::Sub, RSP, 8);
        asm.copy(R13, RDI);
        asm.load(true, R12, state(at::VGPR));
        asm.load(true, RBX, state(at::SGPR));
        asm.load(true, RBP, state(at::SCC));
        asm.load(true, R14, state(at::LEFT));
        asm.load(true, R15, state(at::WINDOWS));
        asm.jump_register(RSI);
        asm.bind(self.leave);
        asm.store(true, state(at::LEFT), R14);
        asm.clear_upper();
        asm.alu_constant(true, Alu::Add, RSP, 8);
        saved.iter().rev().for_each(|register| asm.pop(*register));
        asm.ret();
        self.keeping(self.keep, at::TABLE);
        self.keeping(self.keep_other, at::OTHER);
        self.has_exec = false;
    }

    /// A call that keeps what is held.
    fn keeping(&mut self, label: Label, helper: i32) {
        let held = |register: u8| Rm::Full(state(at::SAVED + 64 * i32::from(register - 8)));
        let asm = &mut self.asm;
        asm.bind(label);
        asm.alu_constant(true, Alu::Sub, RSP, 8);
        for register in 8..32 {
            asm.vector(v::STORE, register, 0, held(register), 0, None);
        }
        asm.copy(RDI, R13);
        asm.clear_upper();
        asm.call_memory(state(helper));
        for register in 8..32 {
            asm.vector(v::LOAD, register, 0, held(register), 0, None);
        }
        asm.alu_constant(true, Alu::Add, RSP, 8);
        self.load_exec();
        self.asm.ret();
    }

    pub(super) fn load_exec(&mut self) {
        for chunk in 0..self.lanes / 16 {
            let mem = Mem {
                disp: scalar_register(reg::EXEC).disp + 2 * chunk as i32,
                base: RBX,
            };
            self.asm.load_mask(1 + chunk as u8, mem);
        }
        self.has_exec = true;
    }

    /// What is off the usual way, after it.
    fn aside(&mut self) {
        for Rarely {
            from,
            back,
            index,
            rows,
        } in std::mem::take(&mut self.rarely)
        {
            self.asm.bind(from);
            self.asm.constant_to(RSI, index.into());
            self.asm.call(self.keep);
            for (row, place) in rows {
                self.load_row(row, place);
            }
            self.asm.jump(back);
        }
        for beyond in std::mem::take(&mut self.beyond) {
            self.asm.bind(beyond.from);
            self.asm.constant_to(RSI, beyond.index as u64);
            self.asm.call(self.keep_other);
            self.unless_failed(beyond.index);
            for (row, place) in beyond.rows {
                self.load_row(row, place);
            }
            self.asm.jump(beyond.back);
        }
        for (label, index, cost) in std::mem::take(&mut self.broke) {
            self.asm.bind(label);
            self.asm.alu_constant(true, Alu::Add, R14, cost as i32);
            self.leave_at(index);
        }
        for (label, index) in std::mem::take(&mut self.failed) {
            self.asm.bind(label);
            self.asm.constant_to(RAX, FAULT | index as u64);
            self.asm.jump(self.leave);
        }
    }

    fn leave_at(&mut self, index: usize) {
        self.asm.constant_to(RAX, index as u64);
        self.asm.jump(self.leave);
    }

    /// Compiles from a leader to the next one, or to where the flow goes elsewhere.
    fn block(&mut self, start: usize, leaders: &[bool], labels: &[Label]) {
        self.rows.forget();
        self.has_exec = false;
        let mut index = start;
        let mut paid = start;
        loop {
            if index == paid {
                paid = self.pay(index, leaders);
            }
            let Some(inst) = self.insts.get(index).filter(|inst| is_ours(inst)) else {
                return self.leave_at(index);
            };
            self.index = index;
            let next = index
                + if inst.entangled {
                    2
                } else {
                    usize::from(inst.stride)
                };
            match inst.unit {
                Unit::Control(Control::Branch(condition)) => {
                    // `is_ours` looked at the target.
                    self.branch(condition, labels[inst.target as usize]);
                    if condition == Condition::Always {
                        return;
                    }
                }
                Unit::Control(_) => {}
                _ => self.instruction(inst),
            }
            index = next;
            if leaders.get(index) == Some(&true) {
                // The next block is often the next to be written.
                if leaders[start + 1..index].contains(&true) {
                    self.asm.jump(labels[index]);
                }
                return;
            }
        }
    }

    /// Takes what the instructions from `start` on cost, up to one that may fail or branches, or to the block's end. Gives the index
    /// after them.
    fn pay(&mut self, start: usize, leaders: &[bool]) -> usize {
        let (mut index, mut cost) = (start, 0);
        while let Some(inst) = self.insts.get(index).filter(|inst| is_ours(inst)) {
            cost += u32::from(inst.cost);
            index += if inst.entangled {
                2
            } else {
                usize::from(inst.stride)
            };
            if !inst.quick || leaders.get(index) == Some(&true) {
                break;
            }
        }
        self.touch(start..index);
        if cost > 0 {
            let broke = self.asm.label();
            self.asm.alu_constant(true, Alu::Sub, R14, cost as i32);
            self.asm.jump_if(If::Below, broke);
            self.broke.push((broke, start, cost));
        }
        index
    }

    /// Notes what these instructions may write.
    fn touch(&mut self, insts: Range<usize>) {
        let most = insts.map(|index| self.program.run_at(index).touches).max();
        let most = most.unwrap_or(0);
        if most > 0 {
            let known = self.asm.label();
            self.asm.constant_to(RAX, most.into());
            self.asm.alu_memory(false, Alu::Cmp, RAX, state(at::TOUCHED));
            self.asm.jump_if(If::BelowOrEqual, known);
            self.asm.store(false, state(at::TOUCHED), RAX);
            self.asm.bind(known);
        }
    }

    fn branch(&mut self, condition: Condition, target: Label) {
        let zero = |is: bool| if is { If::Equal } else { If::NotEqual };
        let wide = self.lanes > 32;
        let taken = match condition {
            Condition::Always => return self.asm.jump(target),
            Condition::Debugger => return,
            Condition::Scc(value) => {
                self.asm.compare_byte(SCC, 0);
                zero(!value)
            }
            Condition::VccIsZero(value) => {
                self.asm.compare_memory(wide, scalar_register(reg::VCC), 0);
                zero(value)
            }
            Condition::ExecIsZero(value) => {
                self.asm.compare_memory(wide, scalar_register(reg::EXEC), 0);
                zero(value)
            }
        };
        self.asm.jump_if(taken, target);
    }

    /// Compiles an instruction, or a call of the interpreter's function for it.
    fn instruction(&mut self, inst: &Inst) {
        self.rows.step();
        if self.native(inst) {
            if inst.may_set_exec() {
                self.has_exec = false;
            }
        } else if inst.quick {
            self.call(at::TABLE);
        } else {
            self.call(at::OTHER);
            self.unless_failed(self.index);
        }
    }

    /// Compiles an instruction, if it is one of those that are known.
    fn native(&mut self, inst: &Inst) -> bool {
        if inst.quick {
            return self.scalar(inst) || self.vector(inst);
        }
        match &inst.parts {
            // Sources may be parts of registers. Results are whole ones.
            Some(parts) => parts.sdwa.dst == WHOLE && inst.unit.is_tabled() && self.vector(inst),
            None => self.reach(inst),
        }
    }

    /// Leaves where the helper says that the instruction failed.
    fn unless_failed(&mut self, index: usize) {
        let failed = self.asm.label();
        self.asm.alu(false, Alu::Or, RAX, RAX);
        self.asm.jump_if(If::NotEqual, failed);
        self.failed.push((failed, index));
    }

    fn call(&mut self, helper: i32) {
        self.rows.forget();
        self.has_exec = false;
        self.asm.copy(RDI, R13);
        self.asm.constant_to(RSI, self.index as u64);
        self.asm.clear_upper();
        self.asm.call_memory(state(helper));
    }
}

/// Whether an instruction is compiled, or called, and not left to the interpreter's loop.
fn is_ours(inst: &Inst) -> bool {
    match inst.unit {
        Unit::Control(Control::Wait) => true,
        Unit::Control(Control::Branch(_)) => inst.target != u32::MAX,
        // A program ends with it, and nothing is left to do.
        Unit::Control(Control::Message) => gives_registers_back(inst),
        Unit::Control(_) => false,
        _ => true,
    }
}
