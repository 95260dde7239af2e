#!/usr/bin/env python3
"""
Prints chacha_neon.S: ChaCha and HChaCha for ARMv7 with NEON, four blocks side by
side, scheduled for Cortex-A7.

    void chacha_neon(struct frame *frame, size_t groups, uint8_t *dst,
                     const uint8_t *src);
    void hchacha_neon(struct frame *frame, uint32_t (*subkeys)[8],
                      const uint8_t *nonces);

and both again with the end _sri, which rotate by 8 bits with two shifts.
stream_neon.c fills the frame and tells what is in it. chacha_neon takes groups
of four blocks; the frame tells where those of the last one lie if elsewhere.
hchacha_neon makes four subkeys.

A Cortex-A7 takes 2 cycles for an operation on 128 bits, gives its result after
4, and does nothing else meanwhile: so the number of operations is all that
counts, as long as two independent ones alternate. A quarter-round of four
blocks is 14 of them, 28 cycles. A group takes about 1516 cycles (modelled):
1250 in quarter-rounds, 70 for words that find no register, 32 to turn lanes into
blocks, 160 to add the state, to XOR and to move text.

- Rotation by 16 is vrev32.16, by 8 a vtbl for each half, by 12 and 7 vshl and
  vsri. vtbl costs half of vshl and vsri: the _sri functions take 7 % longer on
  a Cortex-A7, and 0 to 1 % less on a Cortex-A53.
- A word is XORed into a spare register, and the shifts bring it back to its
  own: no register changes its role, and one spare register is enough for two
  chains of which the second is 3 operations behind. (Shifting into the spare
  register, which then takes the other's role, needs a loop that turns the
  registers back, and gains nothing.)
- 16 words, the spare register and the table of vtbl (half a register) are 17.5
  registers of 16. 1.5 words wait in memory: x1 or x3, and half of x8 or of x10.
  Each pair changes places once a round, 6 cycles, as the diagonals are taken in
  the order 3, 0, 1, 2: a word of the first pair of columns is then in the second
  pair of diagonals, so that it waits for two pairs. x8 is in two halves that do
  not make a register of 128 bits, and is worked on by halves, at no cost here.
  (To work by halves on all words of row b would need half a spare register
  only, and gain 1.5 %, but make other cores slow.)
- With only word 12 changing, three of the four columns of the first round are
  the same for all blocks of a call, and so are the first operations in two
  quarter-rounds of the second: they are computed once.
- The end of a group and the beginning of the next are one block of code, so that
  the first column, a lone chain, stands between the last words of the text.
  Pairs of words are turned by vtrn, so that 64 bits hold two words of one block,
  and the state is added in this form: it needs half of the loads, and no second
  step of turning. Text goes by 64 bits, with one pointer for each block.
- The loop ends 3 operations before its second chain does. So HChaCha enters it
  with the word that these change turned back.

Modelled cycles per byte of a sector of 4096 bytes (4080 of them are stream), with
what stream_neon.c does:

                        Cortex-A7           Cortex-A53
                     12 rounds     20    12 rounds     20
    chacha_neon           6.06   9.77         3.16   5.04
    chacha_neon_sri       6.49  10.50         3.11   4.98
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chacha_lanes import Engine, Frame, WORD  # noqa: E402
from neon_code import Code, best_schedule, cycles, q  # noqa: E402

# The frame, as in stream_neon.c.
FRAME = Frame('r0', counter=0, slots=16, table=80, state=96, words=160)
LOOPS, BUFFERED, LAST = 88, 92, 224
UNROLL = 2      # double rounds in one turn of the loop


def lines(ops):
    return ['\t' + op.text for op in ops]


def report(name, ops):
    print('@ %s: %d instructions, %d cycles, %d of them idle' %
          ((name, len(ops)) + cycles(ops)))


def emit(text):
    for line in text.strip('\n').split('\n'):
        print(line)


RESTORE = '''
	vpop {d8-d15}
	add sp, sp, #4
	pop {r4-r11, pc}
'''


def first_rounds():
    """The words that a group begins with, as first_rounds of stream_neon.h has
    them: three quarter-rounds side by side in integer registers. Rotations wait
    for the next use of the word, which has them for nothing. 40 cycles less than
    what compilers make of it."""
    a, b = ('r2', 'r3', 'r4'), ('r5', 'r6', 'r7')
    c, d = ('r8', 'r9', 'r10'), ('r11', 'r12', 'lr')
    state, out = FRAME.state, FRAME.words

    def put(word, reg):
        emit('\tstr %s, [r0, #%d]' % (reg, out + 4 * word))

    emit('\tstr r2, [r0, #16]\n\tstr r3, [r0, #20]')
    for row, regs in enumerate((a, b, c, d)):
        for i, reg in enumerate(regs):
            emit('\tldr %s, [r0, #%d]' % (reg, state + 16 * row + 4 * (1 + i)))
    put(0, d[0])
    for op in ('add A, A, B', 'eor D, D, A', 'add C, C, D, ror #16',
               'eor B, B, C', 'add A, A, B, ror #20', 'eor D, A, D, ror #16',
               'add C, C, D, ror #24', 'eor B, C, B, ror #20',
               'ror B, B, #25', 'ror D, D, #24'):
        for i in range(3):
            text = op
            for name, regs in zip('ABCD', (a, b, c, d)):
                text = text.replace(name, regs[i])
            emit('\t' + text)
    emit('\tadd r2, r2, r6\n\tadd r3, r3, r7\n\teor r11, r11, r3')
    for word, reg in ((4, a[2]), (5, c[0]), (6, d[1]), (7, b[0]), (8, c[1]),
                      (9, d[2]), (10, a[0]), (11, b[1])):
        put(word, reg)
    emit('\tror r11, r11, #16')
    for i, reg in enumerate(('r4', 'r5', 'r8')):
        emit('\tldr %s, [r0, #%d]' % (reg, state + 16 * i))
    for word, reg in ((12, c[2]), (13, a[1]), (14, b[2]), (15, d[0])):
        put(word, reg)
    emit('\tadd r4, r4, r5')
    for word, reg in ((3, 'r5'), (2, 'r8'), (1, 'r4')):
        put(word, reg)
    emit('\tldr r3, [r0, #20]\n\tldr r2, [r0, #16]')


def functions(suffix, engine):
    chacha, hchacha = 'chacha_neon' + suffix, 'hchacha_neon' + suffix

    def begin(name):
        emit('''
	.globl %(n)s
	.hidden %(n)s
	.type %(n)s, %%function
	.balign 16
%(n)s:
	.cfi_startproc''' % {'n': name})

    def finish(name):
        emit('\t.cfi_endproc\n\t.size %s, . - %s' % (name, name))

    def block(label, *parts):
        code = Code()
        for f in parts:
            f(code)
        ops = best_schedule(code.ops)
        report(label, ops)
        print('\n'.join(lines(ops)))

    begin(chacha)
    emit('\tsave_registers\n\tsave_vectors')
    # r1 = groups, r2 = dst, r3 = src; these two wait in the room for words
    first_rounds()
    emit('''
	add r4, r3, #32
	add r5, r3, #96
	add r6, r3, #160
	add r7, r3, #224
	add r8, r2, #32
	add r9, r2, #96
	add r10, r2, #160
	add r11, r2, #224
	mvn r12, #55
	mov lr, #264
	add r2, r0, #%d''' % (FRAME.words + 4))
    def count(code):
        code.core('ldr r3, [r0, #%d]' % LOOPS, ['r0'], ['r3'])

    block('beginning', lambda c: engine.head(c, True), count)
    emit('\tb .Lloop%s\n.Lmore%s:' % (suffix, suffix))
    block('end and beginning', lambda c: engine.tail(c, True),
          lambda c: engine.head(c, False), count)
    emit('.Lloop%s:' % suffix)
    code = Code()
    code.core('subs r3, r3, #1', ['r3'], ['r3', 'nzcv'])
    for _ in range(UNROLL):
        engine.double_round(code)
    ops = best_schedule(code.ops, turns=2)
    report('two turns of the loop', ops * 2)
    print('\n'.join(lines(ops)))
    emit('''
	bne .Lloop%(s)s
	subs r1, r1, #1
	bgt .Lmore%(s)s
	bmi .Lsubkeys%(s)s
	ldr r1, [r0, #%(buffered)d]
	add r3, r0, #%(last)d
	cmp r1, #0
	ldmne r3, {r4-r11}''' % {'s': suffix, 'buffered': BUFFERED, 'last': LAST})
    block('end', lambda c: engine.tail(c, False))
    emit(RESTORE)

    # HChaCha goes through the same loop, and leaves here.
    emit('.Lsubkeys%s:' % suffix)
    code = Code()
    h = engine.home
    engine.get(code, 3)
    x3 = h[3]
    emit('''
	vmov q11, q1
	vldr d2, [r0, #%d]
	vldr d3, [r0, #%d]
	vtrn.32 q0, q11
	vtrn.32 q2, q1
	vtrn.32 q12, q13
	vtrn.32 q3, q8
	vswp d1, d4
	vswp d23, d2
	vswp d25, d6
	vswp d27, d16
	vst1.32 {q0}, [r4]!
	vst1.32 {q12}, [r4]!
	vst1.32 {q11}, [r4]!
	vst1.32 {q13}, [r4]!
	vst1.32 {q2}, [r4]!
	vst1.32 {q3}, [r4]!
	vst1.32 {q1}, [r4]!
	vst1.32 {q8}, [r4]!''' % (FRAME.slot[3], FRAME.slot[3] + 8))
    emit(RESTORE)
    finish(chacha)

    begin(hchacha)
    emit('\tsave_registers\n\tsave_vectors')
    # r0 = frame, r1 = subkeys, r2 = nonces
    emit('''
	mov r4, r1
	mov r1, #0
	vld1.8 {q12}, [r2]!
	vld1.8 {q13}, [r2]!
	vld1.8 {q3}, [r2]!
	vld1.8 {q8}, [r2]
	vtrn.32 q12, q13
	vtrn.32 q3, q8
	vswp d25, d6
	vswp d27, d16
	add r2, r0, #%d''' % FRAME.words)
    code = Code()
    code.spread(h[3], WORD)
    engine.put(code, 3)
    code.spread(h[10], WORD)
    engine.put(code, 10, engine.swap_half())
    if engine.sri:
        code.spread(h[8], WORD)
    else:
        code.spread(q(11), WORD)
        code.half('vmov', h[8][0], 22)
        code.half('vmov', h[8][1], 22)
        code.load(engine.table, FRAME.base, FRAME.table, 'table')
    for w in (0, 1, 2, 4, 5, 6, 7, 9, 11):
        code.spread(h[w], WORD)
    print('\n'.join(lines(code.ops)))
    emit('''
	ldr r3, [r0, #%d]
	b .Lloop%s''' % (LOOPS, suffix))
    finish(hchacha)


emit('''
#include "cipher/arm/save.h"

	.syntax unified
	.arch armv7-a
	.fpu neon
	.arm
	.text
''')
functions('', Engine(FRAME, sri=False))
functions('_sri', Engine(FRAME, sri=True))
emit('\t.section .note.GNU-stack, "", %progbits')
