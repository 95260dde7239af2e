#!/usr/bin/env python3
"""
Prints nh_neon.S: NH for ARMv7 with NEON, scheduled for Cortex-A7.

    void nh_neon(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
                 const uint8_t *message, size_t size);
    void nh_neon_two(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
                     const uint8_t *a, const uint8_t *b, size_t size);

A stride in natural order lies in a Q register with words 0 and 1 in one half
and 2 and 3 in the other, which is how vmlal.u32 takes them: no lane is moved.
Cortex-A7 issues nothing beside a NEON instruction. An addition of Q registers
takes 2 cycles, vmlal.u32 2, a load 1 for every 8 bytes, so that a stride costs
16 cycles for additions and products, 2 for its load and 2 for its key words:
20, or 1.25 cycles per byte. The first 18 cannot be had for less: there are no
wasted lanes, and integer multiplications take as many issue slots. But the key
words serve two units at once: 19 cycles, 1.19. (For three units there are not
enough registers for the sums.) nh_neon_two does so for two messages that are
shorter than that: with 496 bytes each 630 cycles a message, and 670 alone. Results are ready after 4 cycles, so the two
units take turns; with one unit, two passes do.

Nothing is loaded ahead. A unit whose partner is short goes on by itself with
the sums that it has.

Modelled cycles per byte of one NH on Cortex-A7, 4080 bytes: 1.23; stride by
stride, one unit at a time 1.32.
"""

SUMS, KEY, MA, LEFT, MB, STRIDES, KP, COUNT = \
    'r0', 'r1', 'r2', 'r3', 'r4', 'r5', 'r12', 'lr'
ROW = [0, 1, 2, 3]              # Q registers: key words of 4 strides
ACC_A, MSG_A, TMP_A = [8, 9, 10, 11], 12, 13
ACC_B, MSG_B, TMP_B = [4, 5, 6, 7], 14, 15


def emit(*lines):
    for line in lines:
        print('\t' + line)


def load(q, pointer, size=8):
    return 'vld1.%d {d%d, d%d}, [%s]!' % (size, 2 * q, 2 * q + 1, pointer)


def add(t, m, k):
    return 'vadd.i32 q%d, q%d, q%d' % (t, m, k)


def product(acc, t, first):
    return '%s.u32 q%d, d%d, d%d' % ('vmull' if first else 'vmlal', acc, 2 * t,
                                     2 * t + 1)


def pair_stride(j, first=False):
    """One stride of both units; row j of the key is the oldest one."""
    emit(load(MSG_A, MA), load(MSG_B, MB))
    for p in range(4):
        k = ROW[(j + p) % 4]
        emit(add(TMP_A, MSG_A, k), add(TMP_B, MSG_B, k),
             product(ACC_A[p], TMP_A, first), product(ACC_B[p], TMP_B, first))
        if p == 0:
            emit(load(ROW[(j + 3) % 4], KP, 32))


def stride(j, first=False):
    """The same of one unit."""
    emit(load(MSG_A, MA), load(ROW[(j + 3) % 4], KP, 32))
    for p in (0, 2):
        for i, t in ((0, TMP_A), (1, TMP_B)):
            emit(add(t, MSG_A, ROW[(j + p + i) % 4]))
        for i, t in ((0, TMP_A), (1, TMP_B)):
            emit(product(ACC_A[p + i], t, first))


def first_rows():
    emit('vld1.32 {d0-d3}, [%s]!' % KP, load(ROW[2], KP, 32))


def loop(one, name, turn, count=COUNT):
    """`count` strides, possibly none; row `turn` is the oldest. The counter and
    the branch take two cycles each time round, hence twelve strides at once."""
    for n, rest in ((12, 'fours'), (4, 'rest')):
        emit('subs %s, %s, #%d' % (count, count, n),
             'blo .L%s_%s' % (name, rest))
        print('\t.p2align 4\n.L%s_%d:' % (name, n))
        for j in range(n):
            one((turn + j) % 4)
        emit('subs %s, %s, #%d' % (count, count, n), 'bhs .L%s_%d' % (name, n))
        print('.L%s_%s:' % (name, rest))
        emit('adds %s, %s, #%d' % (count, count, n))
    for j in range(3):
        emit('beq .L%s_end' % name)
        one((turn + j) % 4)
        if j < 2:
            emit('subs %s, %s, #1' % (count, count))
    print('.L%s_end:' % name)


def finish(acc, at, *meanwhile):
    """The sums go into four neighbouring D registers."""
    d = 24
    for p in range(4):
        emit('vadd.i64 d%d, d%d, d%d' % (d + p, 2 * acc[p], 2 * acc[p] + 1))
    emit(*meanwhile)
    emit('vst1.64 {d%d-d%d}, [%s]' % (d, d + 3, at))


def function(name):
    print('\t.p2align 4\n\t.globl {0}\n\t.hidden {0}\n'
          '\t.type {0}, %function\n{0}:\n'
          '\t.cfi_startproc'.format(name))


def end(name):
    emit('.cfi_endproc')
    print('\t.size {0}, . - {0}\n'.format(name))


def save(*registers):
    emit('push {%s}' % ', '.join(registers),
         '.cfi_def_cfa_offset %d' % (4 * len(registers)))
    for i, r in enumerate(registers):
        emit('.cfi_rel_offset %s, %d' % (r, 4 * i))
    emit('vpush {d8-d15}', '.cfi_adjust_cfa_offset 64')
    emit(*('.cfi_rel_offset d%d, %d' % (d, 8 * (d - 8)) for d in range(8, 16)))


def wipe():
    """Key words, and sums of them with the message."""
    emit(*('vmov.i32 q%d, #0' % q for q in ROW + [TMP_A, TMP_B]))


def two():
    """One unit, possibly a short one, of each of two messages."""
    function('nh_neon_two')
    save('r4', 'lr')
    emit('ldr %s, [sp, #72]' % COUNT, 'mov %s, r3' % MB,
         'mov %s, %s' % (KP, KEY), 'lsr %s, %s, #4' % (COUNT, COUNT),
         'sub %s, %s, #1' % (COUNT, COUNT))
    first_rows()
    pair_stride(0, True)
    loop(pair_stride, 'two', 1)
    finish(ACC_B, 'r3', 'add r3, %s, #32' % SUMS)
    finish(ACC_A, SUMS)
    wipe()
    emit('vpop {d8-d15}', 'pop {r4, pc}')
    end('nh_neon_two')


def main():
    print('@ Made by nh_neon.S.py, which explains it.')
    print('\t.syntax unified\n\t.arch armv7-a\n\t.fpu neon\n\t.arm\n\t.text\n'
          '\t.cfi_sections .debug_frame')
    function('nh_neon')
    emit('lsrs %s, r3, #4' % LEFT, 'bxeq lr', 'cmp %s, #64' % LEFT,
         'bls .Lone')
    save('r4', 'r5', 'r6', 'lr')
    emit('.cfi_remember_state')

    # STRIDES: those of the second unit.
    print('.Ltwo:')
    emit('sub %s, %s, #64' % (STRIDES, LEFT), 'cmp %s, #64' % STRIDES,
         'movhi %s, #64' % STRIDES, 'sub %s, %s, #64' % (LEFT, LEFT),
         'sub %s, %s, %s' % (LEFT, LEFT, STRIDES),
         'add %s, %s, #1024' % (MB, MA), 'mov %s, %s' % (KP, KEY),
         'sub %s, %s, #1' % (COUNT, STRIDES))
    first_rows()
    pair_stride(0, True)
    loop(pair_stride, 'pair', 1)
    # The second unit's sums; then the rest of the first one, if any.
    finish(ACC_B, 'r6', 'add r6, %s, #32' % SUMS,
           'rsbs %s, %s, #64' % (COUNT, STRIDES))
    emit('bne .Lgo_on')
    print('.Lgone_on:')
    finish(ACC_A, SUMS, 'mov %s, %s' % (MA, MB),
           'cmp %s, #64' % LEFT)
    emit('add %s, %s, #64' % (SUMS, SUMS), 'bhi .Ltwo')
    emit('vpop {d8-d15}', 'pop {r4, r5, r6, lr}', '.cfi_def_cfa_offset 0')
    emit(*('.cfi_restore d%d' % d for d in range(8, 16)))
    emit(*('.cfi_restore %s' % r for r in ('r4', 'r5', 'r6', 'lr')))
    emit('cmp %s, #0' % LEFT, 'beq .Lwipe')

    # A last unit without a partner needs no register that is the caller's.
    print('.Lone:')
    emit('mov %s, %s' % (KP, KEY), 'sub %s, %s, #1' % (LEFT, LEFT))
    first_rows()
    stride(0, True)
    loop(stride, 'single', 1, LEFT)
    finish(ACC_A, SUMS)
    print('.Lwipe:')
    wipe()
    emit('bx lr')

    print('.Lgo_on:')
    emit('.cfi_restore_state')
    emit('sub %s, %s, #48' % (KP, KP))
    first_rows()
    loop(stride, 'alone', 0)
    emit('b .Lgone_on')
    end('nh_neon')
    two()
    print('\t.section .note.GNU-stack, "", %progbits')


main()
