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
"""

COLUMNS = (((0, 4, 8, 12), (1, 5, 9, 13)), ((2, 6, 10, 14), (3, 7, 11, 15)))
DIAGONALS = (((3, 4, 9, 14), (0, 5, 10, 15)), ((1, 6, 11, 12), (2, 7, 8, 13)))
REG = {**{n: 'r%d' % n for n in range(10)}, 10: 'r12', 11: 'lr',
       12: 'r10', 13: 'r11', 14: 'r10', 15: 'r11'}
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
# How far rows b and d are behind, to the right, when a round begins.
B, DD = 25, 24


def say(text):
    print('\t' + text)


def quarter(a, b, c, d, rb=B, rd=DD, skip=0):
    """The 8 instructions; `skip` leaves out the first ones."""
    def ror(n):
        return ', ror #%d' % n if n else ''
    ops = ['add {a}, {a}, {b}' + ror(rb), 'eor {d}, {a}, {d}' + ror(rd),
           'add {c}, {c}, {d}, ror #16', 'eor {b}, {c}, {b}' + ror(rb),
           'add {a}, {a}, {b}, ror #20', 'eor {d}, {a}, {d}, ror #16',
           'add {c}, {c}, {d}, ror #24', 'eor {b}, {c}, {b}, ror #20']
    return [o.format(a=REG[a], b=REG[b], c=REG[c], d=REG[d])
            for o in ops[skip:]]


def side_by_side(x, y, extra=()):
    """Two lists in turns, aligned at their ends; extra: [(n, text)] before the
    last n steps."""
    n = max(len(x), len(y))
    x, y = [None] * (n - len(x)) + x, [None] * (n - len(y)) + y
    for i in range(n):
        for text in [t for at, t in extra if at == n - i]:
            say(text)
        for op in (x[i], y[i]):
            if op:
                say(op)


def double_round(count=False):
    swap = [(1, 'strd r10, r11, [sp, #%d]' % D)]
    if count:
        swap += [(1, 'ldr r10, [sp, #%d]' % TURN)]
    back = 'ldrd r10, r11, [sp, #%d]'
    (c0, c1), (c2, c3) = COLUMNS
    if count:
        side_by_side(quarter(*c0), quarter(*c1), swap)
        say('subs r10, r10, #1')
        say('str r10, [sp, #%d]' % TURN)
        say(back % (D + 8))
    else:
        side_by_side(quarter(*c0), quarter(*c1),
                     swap + [(1, back % (D + 8))])
    side_by_side(quarter(*c2), quarter(*c3))
    (d3, d0), (d1, d2) = DIAGONALS
    side_by_side(quarter(*d3), quarter(*d0),
                 [(1, 'strd r10, r11, [sp, #%d]' % (D + 8)),
                  (1, back % D)])
    side_by_side(quarter(*d1), quarter(*d2))


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


def text_words(aligned):
    """The rest of a block's work: add the state, XOR the text. Words 0 to 7 are
    in r0-r7, the others in the frame; r8-r11, r12 and lr are free. What is
    loaded is needed four cycles later."""
    say('ldr r12, [sp, #%d]' % POINTERS)
    say('ldr lr, [sp, #%d]' % (POINTERS + 4))

    def state(j):
        say('ldrd r8, r9, [sp, #%d]' % (STATE + 8 * j))

    def text():
        if aligned:
            say('ldrd r10, r11, [r12], #8')
        else:
            say('ldr r10, [r12], #4')
            say('ldr r11, [r12], #4')

    state(0)
    text()
    for j in range(8):
        k = 2 * (j % 4)
        rotation = {1: ', ror #%d' % B, 3: ', ror #%d' % DD}.get(j // 2, '')
        for n in (0, 1):
            say('add r%d, r%d, r%d%s' % (k + n, 8 + n, k + n, rotation))
        if j < 7:
            state(j + 1)
        else:
            say('ldr r8, [sp, #%d]' % COUNTER)
            say('ldr r9, [sp, #%d]' % BLOCKS)
        for n in (0, 1):
            say('eor r%d, r%d, r%d' % (k + n, k + n, 10 + n))
        if j < 7:
            text()
        if 4 <= j + 2 < 8:
            say('ldrd r%d, r%d, [sp, #%d]' %
                (2 * (j - 2), 2 * (j - 2) + 1, KS + 8 * (j + 2)))
        if aligned:
            say('strd r%d, r%d, [lr], #8' % (k, k + 1))
        else:
            say('str r%d, [lr], #4' % k)
            say('str r%d, [lr], #4' % (k + 1))
    say('add r8, r8, #1')
    say('subs r9, r9, #1')
    say('str r12, [sp, #%d]' % POINTERS)
    say('str lr, [sp, #%d]' % (POINTERS + 4))
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
	push {{r4-r11, lr}}
	.cfi_adjust_cfa_offset 36'''.format(name))
    for i, r in enumerate(['r%d' % n for n in range(4, 12)] + ['lr']):
        say('.cfi_rel_offset %s, %d' % (r, 4 * i))
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


print('''	.syntax unified
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
# Column 0 alone is a chain whose results come after two cycles: the loads stand
# in its gaps. Word 0 comes with the first addition done.
loads = iter(['ldrd r2, r3, [sp, #%d]' % (BEGIN + 8),
              'ldrd r6, r7, [sp, #%d]' % (BEGIN + 24),
              'ldr r12, [sp, #%d]' % (BEGIN + 40),
              'ldr lr, [sp, #%d]' % (BEGIN + 44),
              'ldr r11, [sp, #%d]' % TURNS,
              'str r11, [sp, #%d]' % TURN])
say('ldr r10, [sp, #%d]' % COUNTER)
say('ldrd r0, r1, [sp, #%d]' % BEGIN)
say('ldrd r4, r5, [sp, #%d]' % (BEGIN + 16))
say('ldrd r8, r9, [sp, #%d]' % (BEGIN + 32))
for n, op in enumerate(quarter(0, 4, 8, 12, 0, 0, skip=1)):
    say(op)
    if n < 6:
        say(next(loads))
say('str r10, [sp, #%d]' % D)
say('ldrd r10, r11, [sp, #%d]' % BEGIN_D)
side_by_side(quarter(*DIAGONALS[0][0]), quarter(*DIAGONALS[0][1]),
             [(1, 'strd r10, r11, [sp, #%d]' % (D + 8)),
              (1, 'ldr r10, [sp, #%d]' % D),
              (1, 'ldr r11, [sp, #%d]' % (BEGIN_D + 8))])
side_by_side(quarter(*DIAGONALS[1][0], skip=1),
             quarter(*DIAGONALS[1][1], skip=2))
print('.Lturn:')
for n in range(4):
    double_round(count=n == 0)
say('bne .Lturn')
double_round()
say('strd r10, r11, [sp, #%d]' % D)
say('ldr r10, [sp, #%d]' % MODE)
say('strd r8, r9, [sp, #%d]' % (KS + 32))
say('str r12, [sp, #%d]' % (KS + 40))
say('str lr, [sp, #%d]' % (KS + 44))
say('cmp r10, #1')
say('bhi .Lsubkey')
say('beq .Lbytes')
text_words(True)
wipe_and_return(KS, POINTERS)
print('.Lbytes:')
text_words(False)
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
double_round()
say('b .Lturn')
finish('hchacha_scalar')
print('\t.section .note.GNU-stack, "", %progbits')
