#!/usr/bin/env python3
"""
Prints chacha_mixed.S: ChaCha for 32-bit ARM, four blocks in NEON registers and
a fifth in the integer ones, scheduled for Cortex-A53.

    void chacha_mixed(struct job *job);

It calls mixed_prepare(frame, job), which fills the frame and says how many
groups of five blocks there are, and at the end mixed_finish(frame, job).

A Cortex-A53 issues one NEON operation of 128 bits a cycle, and beside it a load,
a store or an integer operation. Two double rounds of four blocks take 240 NEON
operations and 32 loads and stores; so the integer unit has room for three
double rounds of one block, 204 instructions. It takes part in this way:

    integer unit                NEON
    2 rounds, text loaded       end of the group before, first 2 rounds
    6 rounds                    4 rounds
    4 rounds                    4 rounds        (20 rounds: three times)
    text                        2 rounds, then text

so that five blocks take as long as four would. In rounds all 14 registers hold
the fifth block: the frame is at the stack pointer, and pointers and counts wait
there too. Rotation by 8 bits is by vshl and vsri, as the additions after vtbl
are by halves, which leave no room beside them.

Modelled cycles per byte of a sector of 4096 bytes, 12 rounds (20 rounds): 2.60
(4.12) on a Cortex-A53, where chacha_neon takes 3.16 (5.04); 2.57 on a Cortex-A57,
where that takes 2.75; but 6.90 on a Cortex-A7, whose two units do not overlap,
against 6.06.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chacha_lanes import Engine, Frame, STEP_BACK, STEP_ON  # noqa: E402
from chacha_words import Words  # noqa: E402
from neon_code import Code, best_schedule_a53  # noqa: E402

# The frame, as in mixed_neon.c. What ldrd reads comes first: it reaches 255
# bytes. Of the fifth block's words only 8 to 15 have a place.
KS, BEGIN, COUNTER = -32, 32, 96
TEXT = 104              # of the fifth block: src, dst
LANES, LAST = 112, 144  # src and dst of the four blocks; in the last group
STATE = 176
FRAME = Frame('sp', counter=240, slots=256, table=None, state=STATE, words=320)
TURNS, TURN, GROUPS, WHOLE, BUFFER, JOB = range(384, 408, 4)
BUFFERS = 408
SIZE = BUFFERS + 320

engine = Engine(FRAME, sri=True)


def words(code):
    return Words(code.integer, KS, BEGIN, TURNS, TURN, COUNTER)


def beginning(code, first):
    if first:
        code.core('add r2, sp, #%d' % (FRAME.words + 4), ['sp'], ['r2'])
    engine.head(code, first)
    words(code).first_rounds()


def middle(code, integer_double_rounds, count):
    for n in range(2):
        engine.double_round(code)
    for n in range(integer_double_rounds):
        words(code).double_round(count=count and n == 0)


def end(code, more):
    def fifth_text_and_pointers():
        w = words(code)
        say = code.integer
        say('strd r8, r9, [sp, #%d]' % (KS + 32))
        say('str r12, [sp, #%d]' % (KS + 40))
        say('str lr, [sp, #%d]' % (KS + 44))
        say('ldr r12, [sp, #%d]' % TEXT)
        say('ldr lr, [sp, #%d]' % (TEXT + 4))
        w.text(STATE, COUNTER, False)
        if more:
            # The next block; one that is not there goes to a buffer.
            say('ldr r8, [sp, #%d]' % COUNTER)
            say('ldr r9, [sp, #%d]' % WHOLE)
            say('add r8, r8, #1')
            say('subs r9, r9, #1')
            say('str r8, [sp, #%d]' % COUNTER)
            say('str r9, [sp, #%d]' % WHOLE)
            say('ldreq r12, [sp, #%d]' % BUFFER)
            say('moveq lr, r12')
            say('str r12, [sp, #%d]' % TEXT)
            say('str lr, [sp, #%d]' % (TEXT + 4))
        at = LANES if more else LAST
        for n in range(4):
            say('ldrd r%d, r%d, [sp, #%d]' % (4 + 2 * n, 5 + 2 * n, at + 8 * n))
        say('mvn r12, #%d' % (-STEP_BACK - 1))
        say('mov lr, #%d' % STEP_ON)
        code.core('add r2, sp, #%d' % FRAME.words, ['sp'], ['r2'])

    engine.tail(code, more, fifth_text_and_pointers)
    if more:
        for n in range(4):
            code.integer('strd r%d, r%d, [sp, #%d]' %
                         (4 + 2 * n, 5 + 2 * n, LANES + 8 * n))


def emit(text):
    for line in text.strip('\n').split('\n'):
        print(line)


def block(label, *parts):
    code = Code()
    for f in parts:
        f(code)
    ops, cycles = best_schedule_a53(code.ops)
    print('@ %s: %d instructions, %d cycles' % (label, len(ops), cycles))
    for op in ops:
        print('\t' + op.text)


emit('''
#include "cipher/arm/save.h"

	.syntax unified
	.arch armv7-a
	.fpu neon
	.arm
	.text

	.globl chacha_mixed
	.hidden chacha_mixed
	.type chacha_mixed, %function
	.hidden mixed_prepare
	.hidden mixed_finish
	.balign 16
chacha_mixed:
	.cfi_startproc
	save_registers
	save_vectors''')
emit('''
	sub sp, sp, #%(size)d
	.cfi_adjust_cfa_offset %(size)d
	str r0, [sp, #%(job)d]
	mov r1, r0
	mov r0, sp
	bl mixed_prepare''' % {'size': SIZE, 'job': JOB})
block('beginning', lambda c: beginning(c, True))
emit('\tb .Lrounds\n.Lmore:')
block('end and beginning', lambda c: end(c, True),
      lambda c: beginning(c, False))
emit('.Lrounds:')
block('six rounds beside four', lambda c: middle(c, 3, False))
emit('.Lturn:')
block('four rounds beside four', lambda c: middle(c, 2, True))
emit('''
	bne .Lturn
	strd r10, r11, [sp, #%(d)d]
	ldr r10, [sp, #%(groups)d]
	subs r10, r10, #1
	str r10, [sp, #%(groups)d]
	bne .Lmore''' % {'d': KS + 48, 'groups': GROUPS})
block('end', lambda c: end(c, False))
emit('''
	ldr r1, [sp, #%(job)d]
	mov r0, sp
	bl mixed_finish
	add sp, sp, #%(size)d
	.cfi_adjust_cfa_offset -%(size)d
	vpop {d8-d15}
	.cfi_adjust_cfa_offset -64
	add sp, sp, #4
	.cfi_adjust_cfa_offset -4
	pop {r4-r11, pc}
	.cfi_endproc
	.size chacha_mixed, . - chacha_mixed
	.section .note.GNU-stack, "", %%progbits''' % {'job': JOB, 'size': SIZE})
