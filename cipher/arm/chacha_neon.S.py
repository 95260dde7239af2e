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
of four blocks; where the blocks of the last one lie is told in the frame.
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
  quarter-rounds of the second: stream_neon.c computes them once.
- The end of a group and the beginning of the next are one block of code, so that
  the first column, a lone chain, stands between the last words of the text.
  Pairs of words are turned by vtrn, so that 64 bits hold two words of one block,
  and the state is added in this form: it needs half of the loads, and no second
  step of turning. Text goes by 64 bits, with one pointer for each block.
- The loop ends 3 operations before its second chain does. So HChaCha enters it
  with the word that these change turned back.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from neon_code import Code, best_schedule, cycles, q  # noqa: E402

# The frame, as in stream_neon.c.
COUNTER, SLOTS, TABLE, LOOPS, STATE, WORDS, LAST = 0, 16, 80, 88, 96, 160, 224
SLOT = {w: SLOTS + 16 * n for n, w in enumerate((1, 3, 8, 10))}

FRAME, GROUPS, WORD, COUNT = 'r0', 'r1', 'r2', 'r3'
SRC = ['r4', 'r5', 'r6', 'r7']
DST = ['r8', 'r9', 'r10', 'r11']
BACK, ON = 'r12', 'r14'
SHARED_T = q(10)
LAG = 3         # operations that the second chain is behind the first
UNROLL = 2      # double rounds in one turn of the loop
PAIR_ORDER = (4, 5, 6, 7, 0, 1, 2, 3)
COLUMNS = (((0, 4, 8, 12), (1, 5, 9, 13)), ((2, 6, 10, 14), (3, 7, 11, 15)))
DIAGONALS = (((3, 4, 9, 14), (0, 5, 10, 15)), ((1, 6, 11, 12), (2, 7, 8, 13)))


class Engine:
    def __init__(self, sri):
        self.sri = sri
        self.home = {0: q(0), 1: q(1), 3: q(1), 2: q(2), 4: q(4), 5: q(5),
                     6: q(6), 7: q(7), 9: q(9), 11: q(11), 12: q(12),
                     13: q(13), 14: q(3), 15: q(8), 10: q(14),
                     8: q(14) if sri else (30, 29)}
        self.table = 31
        self.rotate_t = q(15)
        self.steps = 15 if sri else 14

    # -- the rounds --------------------------------------------------------
    def quarter(self, code, words=None, regs=None):
        """The operations of a quarter-round, one function each."""
        a, b, c, d, t = regs or [self.home[w] for w in words] + [SHARED_T]

        def rotate_b(n):
            return [lambda: code.alu('veor', t, b, c),
                    lambda: code.alu('vshl.i32', b, t, imm=n),
                    lambda: code.alu('vsri.32', b, t, imm=32 - n, merge=True)]
        if self.sri:
            t2 = self.rotate_t
            rotate8 = [lambda: code.alu('veor', t2, d, a),
                       lambda: code.alu('vshl.i32', d, t2, imm=8),
                       lambda: code.alu('vsri.32', d, t2, imm=24, merge=True),
                       lambda: code.alu('vadd.i32', c, c, d)]
        else:
            rotate8 = [lambda: code.alu('veor', d, d, a),
                       lambda: code.lookup(d, d, self.table),
                       lambda: code.alu('vadd.i32', c, c, d, split=True)]
        return [lambda: code.alu('vadd.i32', a, a, b),
                lambda: code.alu('veor', d, d, a),
                lambda: code.alu('vrev32.16', d, d),
                lambda: code.alu('vadd.i32', c, c, d),
                *rotate_b(12),
                lambda: code.alu('vadd.i32', a, a, b),
                *rotate8,
                *rotate_b(7)]

    def put(self, code, word, halves=(0, 1)):
        for h in halves:
            code.store(self.home[word][h], FRAME, SLOT[word] + 8 * h,
                       'x%d.%d' % (word, h))

    def get(self, code, word, halves=(0, 1)):
        for h in halves:
            code.load(self.home[word][h], FRAME, SLOT[word] + 8 * h,
                      'x%d.%d' % (word, h))

    def swap_half(self):
        return (0, 1) if self.sri else (1,)

    def double_round(self, code, first=True, last=False, second_only=False,
                     skip=(), hooks=None):
        """Columns and diagonals as two chains of quarter-rounds. Without
        `last` the second chain's end is left to the next call."""
        n, halves = self.steps, self.swap_half()
        pairs = DIAGONALS if second_only else COLUMNS + DIAGONALS
        a, b = [], []
        for x, y in pairs:
            a += self.quarter(code, x)
            b += self.quarter(code, y)
        for i in skip:
            (a if i[0] == 'a' else b)[i[1]] = lambda: None
        start = 0 if second_only else 2 * n
        at = {}
        if not second_only:
            at[n - 2] = lambda: self.put(code, 1)
            at[n - 1] = lambda: (self.get(code, 3), self.put(code, 8, halves),
                                 self.get(code, 10, halves))
        if hooks is None:
            hooks = {n - 4: lambda: self.put(code, 3),
                     n - 3: lambda: self.get(code, 1)}
        for k, f in hooks.items():
            at[start + k] = f
        at[start + n + 1] = lambda: (self.put(code, 10, halves),
                                     self.get(code, 8, halves))
        before = self.quarter(code, DIAGONALS[1][1])[-LAG:] if first else \
            [lambda: None] * LAG
        end = len(a)
        for s in range(end + (LAG if last else 0)):
            if s < end:
                a[s]()
            (before[s] if s < LAG else b[s - LAG])()
            if s in at:
                at[s]()

    # -- the beginning of four blocks --------------------------------------
    def head(self, code, counter):
        """The first two rounds, from words in the order of stream_neon.c."""
        h = self.home
        chain = q(9), q(13), q(14), q(11), q(12)
        a, b, c, d, t = chain
        if counter:
            for i in (0, 1):
                code.load(d[i], FRAME, COUNTER + 8 * i, 'counter%d' % i)
        code.spread(a, WORD)
        code.spread(c, WORD)
        code.spread(b, WORD)
        if not self.sri:
            code.load(self.table, FRAME, TABLE, 'table')
        code.alu('veor', d, d, a)
        code.alu('vrev32.16', d, d)
        code.alu('vadd.i32', c, c, d)
        code.alu('veor', t, b, c)
        code.alu('vshl.i32', b, t, imm=12)
        code.alu('vsri.32', b, t, imm=20, merge=True)
        code.alu('vadd.i32', h[0], a, b)
        if self.sri:
            code.alu('veor', self.rotate_t, d, h[0])
            code.alu('vshl.i32', h[12], self.rotate_t, imm=8)
            code.alu('vsri.32', h[12], self.rotate_t, imm=24, merge=True)
        else:
            code.alu('veor', d, d, h[0])
            code.lookup(h[12], d, self.table)
        code.alu('vadd.i32', h[8], c, h[12], split=not self.sri)
        code.alu('veor', q(9), b, h[8])
        code.alu('vshl.i32', h[4], q(9), imm=7)
        code.alu('vsri.32', h[4], q(9), imm=25, merge=True)
        self.put(code, 8, self.swap_half())
        for w in (3, 9, 14, 5, 10, 15):
            code.spread(h[w], WORD)
        n = self.steps

        def second_pair():
            self.put(code, 3)
            for w in (1, 6, 11, 2, 7, 13):
                code.spread(h[w], WORD)
        self.double_round(
            code, first=False, second_only=True, hooks={n - 4: second_pair},
            skip=[('a', n), ('b', n), ('b', n + 1), ('b', n + 2)])
        code.core('sub r2, r2, #64', ['r2'], ['r2'])
        code.core('ldr r3, [r0, #%d]' % LOOPS, ['r0'], ['r3'])

    # -- the end of four blocks --------------------------------------------
    def tail(self, code, more):
        """The last double round, then the text. Pairs of words are turned so
        that a register holds both of one block."""
        h = self.home
        halves = self.swap_half()
        temps = {4: (31, q(10), q(10)), 5: (30, q(10), q(9)),
                 6: (None, q(10), q(9)), 7: (30, q(10), q(13)),
                 0: (31, q(3), q(8)), 1: (30, q(10), q(3)),
                 2: (16, q(1), q(2)), 3: (17, q(10), q(3))}
        self.double_round(code, last=True)
        for n, p in enumerate(PAIR_ORDER):
            x, y = h[2 * p], h[2 * p + 1]
            constant, t1, t2 = temps[p]
            if p == 5:
                self.get(code, 10, halves)
            if p == 1:
                self.get(code, 3)
            if p == 6:
                counter, nonce = q(11), q(14)
                for i in (0, 1):
                    code.load(counter[i], FRAME, COUNTER + 8 * i,
                              'counter%d' % i)
                code.spread(nonce, WORD)
                code.alu('vadd.i32', x, x, counter)
                code.alu('vadd.i32', y, y, nonce)
                if more:
                    code.alu('vmov.i32', nonce, imm=4)
                    code.alu('vadd.i32', counter, counter, nonce)
                    for i in (0, 1):
                        code.store(counter[i], FRAME, COUNTER + 8 * i,
                                   'counter%d' % i)
            code.transpose(x, y)
            if constant is not None:
                code.load(constant, FRAME, STATE + 8 * p, 'state')
                for d in x + y:
                    code.half('vadd.i32', d, d, constant)
            if n == 7:
                step = ', %s' % ON
            elif p == 7:
                step = ', %s' % BACK
            else:
                step = '!'
            for word, t, blocks in ((x, t1, (0, 2)), (y, t2, (1, 3))):
                for i, block in enumerate(blocks):
                    code.get(t[i], SRC[block], step)
                code.alu('veor', word, word, t)
                for i, block in enumerate(blocks):
                    code.put(word[i], DST[block], step)


def lines(ops):
    return ['\t' + op.text for op in ops]


def report(name, ops):
    print('@ %s: %d instructions, %d cycles, %d of them idle' %
          ((name, len(ops)) + cycles(ops)))


def emit(text):
    for line in text.strip('\n').split('\n'):
        print(line)


SAVE = '''
	push {r4-r11, lr}
	.cfi_adjust_cfa_offset 36
	.cfi_rel_offset r4, 0
	.cfi_rel_offset r5, 4
	.cfi_rel_offset r6, 8
	.cfi_rel_offset r7, 12
	.cfi_rel_offset r8, 16
	.cfi_rel_offset r9, 20
	.cfi_rel_offset r10, 24
	.cfi_rel_offset r11, 28
	.cfi_rel_offset lr, 32
	sub sp, sp, #4
	.cfi_adjust_cfa_offset 4
	vpush {d8-d15}
	.cfi_adjust_cfa_offset 64
'''
RESTORE = '''
	vpop {d8-d15}
	add sp, sp, #4
	pop {r4-r11, pc}
'''


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
    emit(SAVE)
    # r1 = groups, r2 = dst, r3 = src
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
	add r2, r0, #%d''' % (WORDS + 4))
    block('beginning', lambda c: engine.head(c, True))
    emit('\tb .Lloop%s\n.Lmore%s:' % (suffix, suffix))
    block('end and beginning', lambda c: engine.tail(c, True),
          lambda c: engine.head(c, False))
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
	add r3, r0, #%(last)d
	ldm r3, {r4-r11}''' % {'s': suffix, 'last': LAST})
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
	vst1.32 {q8}, [r4]!''' % (SLOT[3], SLOT[3] + 8))
    emit(RESTORE)
    finish(chacha)

    begin(hchacha)
    emit(SAVE)
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
	add r2, r0, #%d''' % WORDS)
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
        code.load(engine.table, FRAME, TABLE, 'table')
    for w in (0, 1, 2, 4, 5, 6, 7, 9, 11):
        code.spread(h[w], WORD)
    print('\n'.join(lines(code.ops)))
    emit('''
	ldr r3, [r0, #%d]
	b .Lloop%s''' % (LOOPS, suffix))
    finish(hchacha)


emit('''
	.syntax unified
	.arch armv7-a
	.fpu neon
	.arm
	.text
''')
functions('', Engine(False))
functions('_sri', Engine(True))
emit('\t.section .note.GNU-stack, "", %progbits')
