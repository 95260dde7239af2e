"""Prints chacha_neon.S: ChaCha and HChaCha for AArch64, by NEON and the integer
unit together. chacha_neon.h tells what the functions do.

What was weighed; cycles are those of the step of five blocks with 12 rounds,
682, by schedule.py's table of a Cortex-A53, which tools/armmodel confirms
--------------------------------------------------------------------------
- Four blocks in NEON, a word of all four in each vector, and a fifth in the
  integer registers: a Cortex-A53 issues one NEON operation and one other
  instruction a cycle. The step has 674 NEON operations and 669 other
  instructions, so neither half has much left: a sixth block (590 instructions
  in the integer unit, 220 NEON operations as rows) would only lengthen one.
- Straight-line code, put in order by schedule.py: loops over the rounds would
  wait at each turn, and could not hide the loads and stores of the data.
- A step ends with the first two rounds in NEON of the next one, which cover its
  last stores. Without that: 711. They are left out at the last step of a call.
- What the blocks of a call share is computed once (chacha_rounds.py): 47 NEON
  operations of 722. It is kept on the stack as 32-bit words and broadcast by
  LD1R, which takes one slot beside a NEON operation; a load of a whole vector
  takes both slots: 714.
- The vectors are transposed by half: TRN1 and TRN2 give two words of two
  blocks. The state is added and the text XORed in that form, which is loaded
  and stored in halves of 64 bits, beside NEON operations. The second half of
  the transposition would be 16 more of them.
- Loads and stores of the text go before all else in the second slot once the
  rounds are over (690 otherwise), but no text is loaded earlier, as it would
  take the registers in which words are rotated (707).
- The last blocks have no slow code: four go through NEON alone; up to three are
  one in the integer registers and the others as rows in NEON, which is less
  than a step for four. A short last block is copied to the stack and back.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)),
                os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]

from schedule import Value  # noqa: E402
from chacha_blocks import (  # noqa: E402
    C_CHACHA, C_COUNT, C_ROTATE8, COUNT, COUNTER, DST, DST_HIGH, DST_LAST,
    F_CONSTANTS, F_D, F_LAST, F_REST, F_SHARED, F_STATE, F_TAIL, F_X, FRAME,
    PAIR, ROTATE8, SRC, SRC_HIGH, SRC_LAST, STATE, WORD13, X, X_POOL, block,
    rows_blocks, vectors_begin, vectors_end, words_block)
from chacha_rounds import SHARED, Vectors, Words, permute, share  # noqa: E402


def emit(text=''):
    print(text)


def emit_block(b, what):
    lines = b.order()
    emit('\t/* %s: %d instructions, %d cycles on a Cortex-A53 */'
         % (what, len(lines), b.cycles))
    for line in lines:
        name, _, operands = line.partition(' ')
        emit('\t%s\t%s' % (name, operands))


# ---------------------------------------------------------------- functions

def begin_function(name, frame):
    emit()
    emit('\t.globl\t%s' % name)
    emit('\t.hidden\t%s' % name)
    emit('\t.type\t%s, %%function' % name)
    emit('\t.balign\t64')
    emit('%s:' % name)
    emit('\t.cfi_startproc')
    emit('\thint\t#34\t/* bti c */')
    if frame:
        emit('\tsub\tsp, sp, #%d' % frame)
        emit('\t.cfi_def_cfa_offset %d' % frame)
    begin_function.frame = frame


def save(b, registers, at, letter='x'):
    """Pairs of registers, Values or numbers, as instructions of a block: where
    they are Values, it changes them only afterwards."""
    for pair in zip(registers[::2], registers[1::2]):
        pair = [v if isinstance(v, Value) else Value(letter, v) for v in pair]
        text = 'stp %s{}, %s{}, [sp, #%d]' % (letter, letter, at)
        for v in pair:
            text += '\n\t.cfi_offset %d, %d' % (
                v.number + (64 if letter == 'd' else 0), at - begin_function.frame)
            at += 8
        b.op('store16', text, 'ss', *pair)


def restore(registers, at, letter='x'):
    for a, b in zip(registers[::2], registers[1::2]):
        emit('\tldp\t%s%d, %s%d, [sp, #%d]' % (letter, a, letter, b, at))
        at += 16


def end_function(name):
    if begin_function.frame:
        emit('\tadd\tsp, sp, #%d' % begin_function.frame)
        emit('\t.cfi_def_cfa_offset 0')
    emit('\tret')
    emit('\t.cfi_endproc')
    emit('\t.size\t%s, . - %s' % (name, name))


def load_address(b):
    """The address of the constants at the file's end."""
    address = Value('x')
    b.op('shift', 'adrp x{}, .Lconstants', 'w', address)
    b.op('alu', 'add x{}, x{}, :lo12:.Lconstants', 'mr', address, address)
    return address


def chacha_prologue(with_vectors):
    """From the state at x0: the shared words, the state for both units, and the
    first two rounds in NEON."""
    b = block(x=[4, 5, 6, 7] + X_POOL[1:])
    state = Value('x', 0)
    save(b, [WORD13, COUNTER] + X[:6], F_D, 'd')
    x = [Value('x') for i in range(16)]
    for i in (0, 2, 4, 8, 6, 10, 12, 14):
        b.op('load', 'ldp w{}, w{}, [x{}, #%d]' % (4 * i), 'wwa', x[i], x[i + 1],
             state)
    words = Words(b)
    share(words, x)
    b.op('shift', 'mov w{}, #5', 'w', x[12])
    for n in range(0, 16, 2):
        i, j = ([12] + SHARED)[n:n + 2]
        b.op('store', 'stp w{}, w{}, [sp, #%d]' % (F_SHARED + 4 * n), 'ss', x[i],
             x[j])
    b.op('store', 'str x{}, [sp, #%d]' % F_STATE, 's', state)
    if with_vectors:
        walk, count = Value('x'), Value('v')
        b.op('alu', 'add x{}, x{}, #48', 'wr', walk, state)
        b.op('load', 'ld1r {{v{}.4s}}, [x{}], #4', 'wu', COUNTER, walk)
        b.op('load', 'ld1r {{v{}.4s}}, [x{}], #4', 'wu', WORD13, walk)
        b.op('load', 'ld1r {{v{}.2d}}, [x{}]', 'wa', PAIR[14], walk)
        b.op('alu', 'add x{}, x{}, #0', 'wr', walk, state)
        for i in range(0, 12, 2):
            b.op('load', 'ld1r {{v{}.2d}}, [x{}], #8', 'wu', PAIR[i], walk)
        address = load_address(b)
        b.op('load16', 'ldr q{}, [x{}, #%d]' % C_ROTATE8, 'wa', ROTATE8, address)
        b.op('load16', 'ldr q{}, [x{}, #%d]' % C_COUNT, 'wa', count, address)
        b.op('neon', 'add v{}.4s, v{}.4s, v{}.4s', 'mrr', COUNTER, COUNTER, count)
        vectors_begin(b, x)
    else:
        b.op('load16', 'ldr q{}, [x{}, #%d]' % C_ROTATE8, 'wa', ROTATE8,
             load_address(b))
    for i in range(4, 16, 2):
        b.op('load', 'ldr x{}, [x{}, #%d]' % (4 * i), 'wa', STATE[i], state)
    b.op('alu', 'add x{}, x{}, #4', 'mr', STATE[12], STATE[12])
    for i in (0, 2):
        word = Value('x')
        b.op('load', 'ldr x{}, [x{}, #%d]' % (4 * i), 'wa', word, state)
        b.op('store', 'str x{}, [sp, #%d]' % (F_CONSTANTS + 4 * i), 's', word)
    emit_block(b, 'begin' + (' with two rounds in NEON' if with_vectors else ''))
    if with_vectors:
        for high, last, base in ((SRC_HIGH, SRC_LAST, SRC),
                                 (DST_HIGH, DST_LAST, DST)):
            emit('\tadd\tx%d, x%d, #128' % (high.number, base.number))
            emit('\tadd\tx%d, x%d, #256' % (last.number, base.number))


def assembly(text):
    """Lines with names of the frame in them."""
    for line in text.strip('\n').splitlines():
        label, _, line = line.rpartition(':')
        name, _, operands = line.strip().partition(' ')
        for f in ('F_REST', 'F_TAIL', 'F_LAST'):
            operands = operands.replace(f, str(globals()[f]))
        if label:
            emit(label + ':')
        emit('\t%s\t%s' % (name, operands))


def count_blocks():
    """Save registers; from the size in bytes, x3, x10 the number of fives, x9
    the blocks after them: the last four to eight are done in another way, as no
    others follow them. They are max(0, (blocks - 4) / 5) fives."""
    b = block()
    size, rest, fives, t = (Value('x', n) for n in (3, 9, 10, 11))
    fifth = Value('x', 12)  # 4/5 of 2^64
    b.op('shift', 'mov x{}, #0xcccccccccccccccc', 'w', fifth)
    b.op('shift', 'movk x{}, #0xcccd', 'm', fifth)
    b.op('alu', 'add x{}, x{}, #63', 'wr', rest, size)
    b.op('shift', 'lsr x{}, x{}, #6', 'mr', rest, rest)
    b.op('alu', 'sub x{}, x{}, #4', 'wr', t, rest)
    b.op('multiply', 'umulh x{}, x{}, x{}', 'wrr', fives, t, fifth)
    b.op('shift', 'lsr x{}, x{}, #2', 'mr', fives, fives)
    flags = b.op('alu', 'cmp x{}, #4', 'r', rest)
    b.op('alu', 'csel x{}, xzr, x{}, lo', 'mr', fives, fives, after=[flags])
    b.op('alu_shift', 'add x{}, x{}, x{}, lsl #2', 'wrr', t, fives, fives)
    b.op('alu', 'sub x{}, x{}, x{}', 'mrr', rest, rest, t)
    save(b, range(19, 31), F_X)
    emit_block(b, 'save registers, count blocks')


# The bytes of a short last block are copied to the frame.
BEGIN = """
    mov x12, #0
    ands x11, x3, #63
    b.eq 3f
    sub x13, x3, x11
    add x14, x2, x13
    add x13, x1, x13
    add x12, sp, #F_LAST
    stp x13, x11, [sp, #F_TAIL]
    mov x13, x12
    COPY
3:  stp x9, x12, [sp, #F_REST]
    mov x3, x10
    cmp x9, #4
    b.hs 4f
"""

END = """
9:  ldr x14, [sp, #F_REST + 8]
    cbz x14, 3f
    ldp x13, x11, [sp, #F_TAIL]
    COPY
    stp xzr, xzr, [sp, #F_LAST]
    stp xzr, xzr, [sp, #F_LAST + 16]
    stp xzr, xzr, [sp, #F_LAST + 32]
    stp xzr, xzr, [sp, #F_LAST + 48]
3:
"""

# x11 bytes, fewer than 64, from x14 to x13.
COPY = """
    tbz x11, #5, 2f
    ldp q0, q1, [x14], #32
    stp q0, q1, [x13], #32
2:  tbz x11, #4, 2f
    ldr q0, [x14], #16
    str q0, [x13], #16
2:  tbz x11, #3, 2f
    ldr x15, [x14], #8
    str x15, [x13], #8
2:  tbz x11, #2, 2f
    ldr w15, [x14], #4
    str w15, [x13], #4
2:  tbz x11, #1, 2f
    ldrh w15, [x14], #2
    strh w15, [x13], #2
2:  tbz x11, #0, 3f
    ldrb w15, [x14]
    strb w15, [x13]
"""
BEGIN = BEGIN.replace('    COPY\n', COPY.lstrip('\n'))
END = END.replace('    COPY\n', COPY.lstrip('\n').replace('3f', '2f') + '2:')


def five_blocks(b, rounds):
    """All but the first two rounds in NEON, and a block in integer registers."""
    permute(Vectors(b, ROTATE8), list(X), rounds - 2)
    vectors_end(b, (SRC_HIGH,) * 2, (DST_HIGH,) * 2)
    for pointer, step in ((SRC, 320), (DST, 320), (SRC_HIGH, 192), (DST_HIGH, 192)):
        b.op('alu', 'add x{}, x{}, #%d' % step, 'mr', pointer, pointer)
    words_block(b, rounds, 320)


def chacha(rounds):
    name = 'neon_chacha%d_stream' % rounds
    begin_function(name, FRAME)
    count_blocks()
    assembly(BEGIN)
    emit('\t.cfi_remember_state')
    chacha_prologue(False)
    emit('\tldp\tx14, x15, [sp, #%d]' % F_REST)
    emit('\tb\t5f')
    emit('\t.cfi_restore_state')
    emit('4:')
    chacha_prologue(True)
    emit('\tcbz\tx3, 2f')

    b = block()
    b.op('alu', 'subs x{}, x{}, #1', 'mr', COUNT, COUNT)
    five_blocks(b, rounds)
    vectors_begin(b)
    emit('\t.balign\t16')
    emit('1:')
    emit_block(b, 'five blocks, %d rounds, and two rounds of the next' % rounds)
    emit('\tb.ne\t1b')

    emit('2:\t/* the rest, whose last block may be in a buffer */')
    emit('\tldp\tx14, x15, [sp, #%d]' % F_REST)
    emit('\tsubs\tx14, x14, #5')
    emit('\tb.lo\t4f')
    emit('\tb.ne\t3f')
    emit('\tcmp\tx15, #0')
    emit('\tcsel\tx4, x4, x15, eq')
    emit('\tcsel\tx5, x5, x15, eq')
    b = block()
    five_blocks(b, rounds)
    emit('3:')
    emit_block(b, 'five blocks, %d rounds' % rounds)
    emit('\tldp\tx14, x15, [sp, #%d]' % F_REST)
    emit('\tsubs\tx14, x14, #5')
    emit('\tb.eq\t9f')
    emit('\tb\t5f')

    b = block()
    b.op('alu', 'add x{}, x{}, #192', 'wr', SRC_LAST, SRC)
    b.op('alu', 'add x{}, x{}, #192', 'wr', DST_LAST, DST)
    b.op('alu', 'cmp x15, #0')
    for last in (SRC_LAST, DST_LAST):
        b.op('alu', 'csel x{}, x{}, x15, eq', 'mr', last, last, after=b.ops[-1:])
    permute(Vectors(b, ROTATE8), list(X), rounds - 2)
    vectors_end(b, (SRC_HIGH, SRC_LAST), (DST_HIGH, DST_LAST))
    emit('4:')
    emit_block(b, 'four blocks, %d rounds' % rounds)
    emit('\tb\t9f')

    emit('5:')
    emit('\tsub\tx16, x14, #1')
    emit('\tadd\tx4, x2, x16, lsl #6')
    emit('\tadd\tx5, x1, x16, lsl #6')
    emit('\tcmp\tx15, #0')
    emit('\tcsel\tx4, x4, x15, eq')
    emit('\tcsel\tx5, x5, x15, eq')
    emit('\tcmp\tx14, #2')
    emit('\tb.lo\t6f')
    emit('\tb.eq\t7f')
    for n in (3, 2, 1):
        b = block(v=list(range(1, 32)))
        b.op('alu', 'sub x{}, x{}, #%d' % (5 - n), 'mr', STATE[12], STATE[12])
        if n > 1:
            rows_blocks(b, rounds, n - 1)
        words_block(b, rounds)
        emit('%d:' % (5 + n))
        emit_block(b, '%d block%s, %d rounds' % (n, 's' if n > 1 else '', rounds))
        if n > 1:
            emit('\tb\t9f')

    assembly(END)
    emit('\t/* wipe what tells the key */')
    for n in range(4):
        emit('\tstp\txzr, xzr, [sp, #%d]' % (F_SHARED + 16 * n))
        emit('\tmovi\tv%d.16b, #0' % PAIR[4 + 2 * n].number)
    for i in (4, 6, 8, 10):
        emit('\tmov\tx%d, #0' % STATE[i].number)
    restore(range(8, 16), F_D, 'd')
    restore(range(19, 31), F_X)
    end_function(name)


# ---------------------------------------------------------------- HChaCha: x0
# where the subkeys go, x1 the key, x2 the nonces
SUBKEYS, KEY, NONCES = Value('x', 0), Value('x', 1), Value('x', 2)


def hchacha_words(b, rounds, n):
    """Nonce n in integer registers."""
    x = [Value('x') for i in range(16)]
    address = load_address(b)
    for i in (0, 2):
        b.op('load', 'ldp w{}, w{}, [x{}, #%d]' % (C_CHACHA + 4 * i), 'wwa', x[i],
             x[i + 1], address)
    for i in range(4, 12, 2):
        b.op('load', 'ldp w{}, w{}, [x{}, #%d]' % (4 * i - 16), 'wwa', x[i],
             x[i + 1], KEY)
    for i in (12, 14):
        b.op('load', 'ldp w{}, w{}, [x{}, #%d]' % (16 * n + 4 * i - 48), 'wwa',
             x[i], x[i + 1], NONCES)
    permute(Words(b), x, rounds)
    for at, i in ((0, 0), (8, 2), (16, 12), (24, 14)):
        b.op('store', 'stp w{}, w{}, [x{}, #%d]' % (32 * n + at), 'ssa', x[i],
             x[i + 1], SUBKEYS)


def hchacha_vectors(b, rounds):
    """Four nonces in NEON. LD4 of words is the transposition that is needed."""
    address = load_address(b)
    b.op('load16', 'ldr q{}, [x{}, #%d]' % C_ROTATE8, 'wa', ROTATE8, address)
    b.op('alu', 'add x{}, x{}, #%d' % C_CHACHA, 'mr', address, address)
    x = [Value('v') for i in range(12)] + [Value('v', n) for n in range(4, 8)]
    nonces = b.op('load64', 'ld4 {{v4.4s-v7.4s}}, [x{}]', 'a', NONCES)
    for i in range(12, 16):
        b.writer[x[i]] = nonces  # the text names them, not the operands
    walk = Value('x')
    b.op('alu', 'add x{}, x{}, #0', 'wr', walk, KEY)
    for i in (0, 4, 1, 5, 2, 6, 3, 7, 8, 9, 10, 11):
        b.op('load', 'ld1r {{v{}.4s}}, [x{}], #4', 'wu', x[i],
             address if i < 4 else walk)
    permute(Vectors(b, ROTATE8), x, rounds)
    for first in (0, 12):
        w = x[first:first + 4]
        for size in ('4s', '2d'):
            text = 'v{}.%s, v{}.%s, v{}.%s' % (size, size, size)
            for i, j in ((0, 1), (2, 3)) if size == '4s' else ((0, 2), (1, 3)):
                t = Value('v')
                b.op('neon', 'trn1 ' + text, 'wrr', t, w[i], w[j])
                b.op('neon', 'trn2 ' + text, 'mrr', w[j], w[i], w[j])
                w[i] = t
        for n in range(4):
            b.op('store16', 'str q{}, [x{}, #%d]' % (32 * n + first // 12 * 16),
                 'sa', w[n], SUBKEYS)


def hchacha(rounds, count):
    """Registers are saved only for the block in integer registers: v8 to v15
    are not needed."""
    name = 'neon_hchacha%d_%d' % (rounds, count)
    saved = {1: range(19, 21), 4: [], 5: range(19, 23)}[count]
    b = block(x=list(range(3, 18)) + list(saved), v=list(range(16, 32)) + [1, 2, 3])
    if count >= 4:
        hchacha_vectors(b, rounds)
    if count != 4:
        hchacha_words(b, rounds, count - 1)
    begin_function(name, 16 * ((len(saved) + 1) // 2))
    enter = block()
    save(enter, list(saved), 0)
    emit_block(enter, 'save')
    emit_block(b, '%d nonce%s, %d rounds' % (count, 's' if count > 1 else '',
                                            rounds))
    restore(saved, 0)
    end_function(name)


emit('/* Made by chacha_neon.S.py: read that instead. */')
emit('\t.text')
for r in (12, 20):
    chacha(r)
    for count in (1, 4, 5):
        hchacha(r, count)
emit('''
	.section .rodata
	.balign	16
.Lconstants:
	/* TBL's index for a rotation of words by 8 bits to the left */
	.byte	3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14
	.word	0, 1, 2, 3
	.ascii	"expand 32-byte k"

	.section .note.GNU-stack, "", %progbits

#ifdef __ARM_FEATURE_BTI_DEFAULT
	.section .note.gnu.property, "a"
	.balign	8
	.word	4, 16, 5
	.asciz	"GNU"
	.word	0xc0000000, 4, 1, 0	/* AArch64 features: BTI */
#endif''')
