#!/usr/bin/env python3
"""
Prints chacha_scalar.S: ChaCha and HChaCha in integer registers, scheduled for
Cortex-A7.

    void chacha_scalar(const uint32_t state[16], uint32_t turns, uint8_t *dst,
                       const uint8_t *src, size_t blocks);
    void hchacha_scalar(uint32_t subkey[8], const uint32_t key[8],
                        const uint8_t *nonce, uint32_t turns);

chacha_scalar takes whole blocks, at least one, whose counters do not carry into
word 13. turns is (rounds - 4) / 8.

- Rotations are free: a word that has to be rotated stays as it is, and whoever
  reads it next does so through the shifter. Rows b and d are kept rotated in
  this way, also from round to round, so a quarter-round is 8 instructions. The
  core starts one such instruction a cycle and gives its result after two, so
  two quarter-rounds run side by side and nothing waits: 32 cycles a round. (An
  instruction for each rotation could start beside another one, but gains
  nothing, as the additions and XORs alone already fill the 32 cycles.)
- 14 registers hold rows a, b and c, and two words of d, since a pair of
  quarter-rounds needs no more. One strd and one ldrd a round, a cycle each,
  change the words of d: those of a round's second pair are those of the next
  round's first, as diagonals are taken in the order 3, 0, 1, 2.
- Of the first round only column 0 differs from block to block: the rest is
  done once for a call.
- No instruction in the rounds changes the flags, so the count of turns is taken
  down in the gap between strd and ldrd, where a register is free.
- Text is read and written by ldrd and strd where both pointers are aligned to
  words, 16 cycles a block less than word by word.

Modelled cycles per byte of a sector of 4096 bytes on a Cortex-A7: 7.5 for 12
rounds, 11.8 for 20.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chacha_words import B, DD, REG, Words  # noqa: E402

# The frame: words of the last round, with row d between its uses; the state;
# the words that each block begins with; MODE: 0 for text that is aligned to
# words, 1 for other text, 2 for HChaCha.
KS, STATE, BEGIN = 0, 64, 128
D = KS + 48
COUNTER = STATE + 48
BEGIN_D = BEGIN + 48            # words 14, 15 and 13
POINTERS = BEGIN + 64           # src, dst
BLOCKS, TURNS, TURN, MODE = (POINTERS + n for n in (8, 12, 16, 20))
FRAME = POINTERS + 28           # with nine registers: 8-byte aligned


def say(text):
    print('\t' + text)


words = Words(say, KS, BEGIN, TURNS, TURN, COUNTER)


def first_round():
    """Once for a call: r0-r7 hold rows a and b, then columns 1 to 3."""
    say('ldm r0, {r0-r9, r12, lr}')
    say('add r10, sp, #%d' % STATE)
    say('stm r10, {r0-r9, r12, lr}')
    # Row d was put into the frame by the caller of this.
    for w, rd in ((13, 52), (14, 56), (15, 60)):
        a, b, c, d = REG[w - 12], REG[w - 8], REG[w - 4], 'r10'
        say('ldr r10, [sp, #%d]' % (STATE + rd))
        say('add %s, %s, %s' % (a, a, b))
        say('eor %s, %s, %s' % (d, a, d))
        say('add %s, %s, %s, ror #16' % (c, c, d))
        say('eor %s, %s, %s' % (b, c, b))
        say('add %s, %s, %s, ror #20' % (a, a, b))
        say('eor %s, %s, %s, ror #16' % (d, a, d))
        say('add %s, %s, %s, ror #24' % (c, c, d))
        say('eor %s, %s, %s, ror #20' % (b, c, b))
        say('str r10, [sp, #%d]' % (BEGIN_D + {13: 8, 14: 0, 15: 4}[w]))
    # Into the first two quarter-rounds of the second diagonals.
    say('add r1, r1, r6, ror #%d' % B)
    say('add r2, r2, r7, ror #%d' % B)
    say('ldr r10, [sp, #%d]' % (BEGIN_D + 8))
    say('add r0, r0, r4')
    say('eor r10, r2, r10, ror #%d' % DD)
    say('str r10, [sp, #%d]' % (BEGIN_D + 8))
    say('add r10, sp, #%d' % BEGIN)
    say('stm r10, {r0-r9, r12, lr}')


def text(aligned):
    """The end of a block."""
    say('ldr r12, [sp, #%d]' % POINTERS)
    say('ldr lr, [sp, #%d]' % (POINTERS + 4))
    words.text(STATE, STATE + 48, aligned)
    say('ldr r8, [sp, #%d]' % COUNTER)
    say('ldr r9, [sp, #%d]' % BLOCKS)
    say('str r12, [sp, #%d]' % POINTERS)
    say('str lr, [sp, #%d]' % (POINTERS + 4))
    say('add r8, r8, #1')
    say('subs r9, r9, #1')
    say('str r8, [sp, #%d]' % COUNTER)
    say('str r9, [sp, #%d]' % BLOCKS)
    say('bne .Lblock')


def begin(name):
    print('''
	.globl {0}
	.hidden {0}
	.type {0}, %function
	.balign 16
{0}:
	.cfi_startproc
	save_registers'''.format(name))
    say('sub sp, sp, #%d' % FRAME)
    say('.cfi_adjust_cfa_offset %d' % FRAME)


def wipe_and_return(start, end):
    """The state, and what was made of it, lay in the frame."""
    for r in range(0, 8):
        say('mov r%d, #0' % r)
    say('add r12, sp, #%d' % start)
    for _ in range((end - start + 31) // 32):
        say('stm r12!, {r0-r7}')
    say('add sp, sp, #%d' % FRAME)
    say('pop {r4-r11, pc}')


def finish(name):
    say('.cfi_endproc')
    say('.size %s, . - %s' % (name, name))


print('''#include "cipher/arm/save.h"

	.syntax unified
	.arch armv7-a
	.arm
	.text''')

begin('chacha_scalar')
say('ldr r4, [sp, #%d]' % (FRAME + 36))
say('str r4, [sp, #%d]' % BLOCKS)
say('str r1, [sp, #%d]' % TURNS)
say('str r3, [sp, #%d]' % POINTERS)
say('str r2, [sp, #%d]' % (POINTERS + 4))
say('orr r2, r2, r3')
say('ands r2, r2, #3')
say('movne r2, #1')
say('str r2, [sp, #%d]' % MODE)
say('add r10, r0, #48')
say('ldm r10, {r4-r7}')
say('add r10, sp, #%d' % COUNTER)
say('stm r10, {r4-r7}')
first_round()
print('.Lblock:')
words.first_rounds()
print('.Lturn:')
for n in range(4):
    words.double_round(count=n == 0)
say('bne .Lturn')
words.double_round()
say('strd r10, r11, [sp, #%d]' % D)
say('ldr r10, [sp, #%d]' % MODE)
say('strd r8, r9, [sp, #%d]' % (KS + 32))
say('str r12, [sp, #%d]' % (KS + 40))
say('str lr, [sp, #%d]' % (KS + 44))
say('cmp r10, #1')
say('bhi .Lsubkey')
say('beq .Lbytes')
text(True)
wipe_and_return(KS, POINTERS)
print('.Lbytes:')
text(False)
wipe_and_return(KS, POINTERS)

# HChaCha goes through the same rounds, and leaves here: rows a and d.
print('.Lsubkey:')
say('ldr r4, [sp, #%d]' % POINTERS)
say('add r8, sp, #%d' % D)
say('ldm r8, {r8-r11}')
for n in range(8, 12):
    say('ror r%d, r%d, #%d' % (n, n, DD))
say('stm r4, {r0-r3, r8-r11}')
wipe_and_return(KS + 32, KS + 64)
finish('chacha_scalar')

begin('hchacha_scalar')
say('mov r4, #2')
say('str r4, [sp, #%d]' % MODE)
say('str r3, [sp, #%d]' % TURN)
say('str r0, [sp, #%d]' % POINTERS)
for n in range(4):
    say('ldr r%d, [r2, #%d]' % (4 + n, 4 * n))
for n in range(4, 8):
    say('ror r%d, r%d, #%d' % (n, n, 32 - DD))
say('strd r6, r7, [sp, #%d]' % (D + 8))
say('mov r10, r4')
say('mov r11, r5')
say('ldm r1, {r4-r9, r12, lr}')
for n, word in enumerate((0x61707865, 0x3320646e, 0x79622d32, 0x6b206574)):
    say('movw r%d, #%#x' % (n, word & 0xffff))
    say('movt r%d, #%#x' % (n, word >> 16))
for n in range(4, 8):
    say('ror r%d, r%d, #%d' % (n, n, 32 - B))
words.double_round()
say('b .Lturn')
finish('hchacha_scalar')
print('\t.section .note.GNU-stack, "", %progbits')
