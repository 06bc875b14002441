"""What ci/gfx950 and ci/gfx1250 share: what a newer LLVM calls the machine code of a card that LLVM 19, which the tests have, does not know.

A line of a listing is the bytes, and the text or `-` where the card has no instruction. Words are kept as far as LLVM's assembler makes the
same words of their text, so that reserved bits are zero.
"""
import re
import subprocess
from pathlib import Path

from debian import Roots
from systems import TARGET

REPOSITORY = Path(__file__).resolve().parent.parent
TRIPLE = "-triple=amdgcn-amd-amdhsa"
# A nop has 16 bits for the number of a line.
MOST = 10000


def runner(cache, release):
    """The command of llvm-mc of a release in Debian's sid, over the packages' own C library."""
    name = f"llvm-{release}"
    roots = {name: (["sid"], [], [name, f"clang-{release}", f"lld-{release}"])}
    root = Roots(cache or TARGET / name, roots).get(name)
    libraries = f"{root}/usr/lib/x86_64-linux-gnu:{root}/usr/lib/{name}/lib"
    return [root / "usr/lib64/ld-linux-x86-64.so.2", "--library-path", libraries, root / f"usr/lib/{name}/bin/llvm-mc"]


def answers(mc, *flags, lines):
    """What llvm-mc says of each line: text and bytes, none where it has none, and false where it crashes. Nops with its number end a line's answer: two,
    as the first may be taken for a literal."""
    number = (lambda i: f"0x{i & 255:02x} 0x{i >> 8:02x} 0x80 0xbf") if "-disassemble" in flags else (lambda i: f"s_nop {i}")
    command = [str(part) for part in [*mc, TRIPLE, "-show-encoding", *flags]]
    found = []
    while len(found) < len(lines):
        rest = lines[len(found) : len(found) + MOST]
        given = "".join(f"{line}\n{number(i)}\n{number(i)}\n" for i, line in enumerate(rest))
        said = subprocess.run(command, input=given, capture_output=True, text=True)
        before, one = len(found), None
        for line in said.stdout.splitlines():
            encoded = re.match(r"\s*(.*?)\s*; encoding: \[(.*)\]$", line)
            if encoded is None:
                continue
            text, code = encoded.groups()
            if text.startswith("s_nop"):
                if int(text.split()[1], 0) == len(found) - before:
                    found.append(one)
                one = None
            elif one is None:
                one = (text, bytes(int(byte, 16) for byte in code.split(",")))
        if len(found) - before < len(rest):
            # Here it crashed.
            found.append(False)
    return found


def hexed(words):
    return " ".join(f"0x{byte:02x}" for word in words for byte in word.to_bytes(4, "little"))


def listing(mc, cards, flags, candidates, most):
    """The lines of a listing, of words that `cards` (an older one, the card) read differently. `candidates` are lists of words, the usual ones of an
    opcode first; `most` says how many lines of such a list are kept."""
    disassembled = lambda card, all: answers(mc, f"-mcpu={card}", *flags, "-disassemble", lines=[hexed(words) for words in all])
    flat = [words for own in candidates for words in own]
    old, new = [disassembled(card, flat) for card in cards]
    again = answers(mc, f"-mcpu={cards[1]}", *flags, lines=[text[0] if text else "" for text in new])
    said = iter(zip(flat, old, new, again))
    lines = []
    for own in candidates:
        kept, gone = [], []
        for words in own:
            _, before, now, back = next(said)
            code = b"".join(word.to_bytes(4, "little") for word in words)
            exact = now and back and back[1] == now[1] == code[: len(now[1])] and "Invalid" not in now[0]
            if exact and len(now[1]) == len(code) and (not before or before != now):
                kept.append(f"{code.hex()} {now[0]}")
            elif words == own[0] and before and before[1] == code and (now is None or now and len(now[1]) < len(code)):
                gone.append(f"{code.hex()} -")
        lines += list(dict.fromkeys(kept))[: most(own)] + gone[:1]
    return lines


def write(card, head, lines):
    """Writes a card's listing."""
    path = REPOSITORY / f"crates/gfx-emu/tests/isa/{card}.txt"
    path.write_text(head + "".join(f"{line}\n" for line in lines))
    print(f"{path.relative_to(REPOSITORY)}: {len(lines)} lines")
