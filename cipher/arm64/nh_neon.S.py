#!/usr/bin/env python3
"""
Prints nh_neon.S: NH for arm64, scheduled for Cortex-A53.

    void nh_neon(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
                 const uint8_t *message, size_t size);

On this core one 128-bit NEON operation issues per cycle, and beside it one
instruction of another kind: a load of up to 64 bits, or an integer operation.
So NEON operations are counted first, and then whether the rest fits beside
them.

- NH multiplies words 0 and 2, and 1 and 3 of a stride. Two strides share a pair
  of vectors, one with the first halves of both and one with the second halves:
  an addition each, umlal and umlal2 then make four products, and no lane is
  ever moved. That is 4 operations per pass for 32 bytes, 0.5 cycles per byte
  for the four passes, where a stride for itself takes 6 for 16 bytes.
- The halves are loaded into their places, by ldr d and ld1 to lane 1. These
  issue beside NEON operations; ldr q would take both issue slots.
- The key's lanes are loaded in the same way, from the key in natural order. So
  the two strides that share a vector may be any distance apart, and a unit
  of any size is cut into two halves that run beside each other. (A key stored
  in pairs, with ldr q, costs as many slots, and fixes the distance: a unit of
  31 strides would have no pair at distance 32.)
- What is left of the second issue slot does every ninth stride in the integer
  unit, with umaddl: 34 instructions while 8 strides go through NEON. A unit of
  63 strides is 7 times 8 + 1, one of 64 leaves a single stride, which needs
  only 64-bit additions, and these issue in pairs.
- The loads of a unit's first key words run beside the last sums of the unit
  before.

A unit of n strides has I = n / 9 integer strides, its last ones; the others
are N pairs of strides s and s + offset, and if that is an odd number, stride N
alone. Each step loads for the next one as well. Behind the last pair these
loads give stride N and the first integer stride: nothing is read that is not of
this unit. A unit with I = 0 goes the plain way, stride by stride.
"""

# Registers
SUMS, KEY, MSG, LEFT = 'x0', 'x1', 'x2', 'x3'   # LEFT: strides not begun yet
MA, MB, KA, KB, MS, KS = 'x4', 'x5', 'x6', 'x7', 'x8', 'x9'
COUNT, REST = 'x10', 'x11'                      # iterations; strides behind them
INT_ACC = ['x13', 'x14', 'x15', 'x16']
INT_MSG = ['w19', 'w20', 'w21', 'w22']
INT_KEY = [['w23', 'w24', 'w25', 'w26'], ['w27', 'w28', 'w17', 'w12']]
ACC = [0, 1, 2, 3]
ROW = [(16, 17), (18, 19), (20, 21), (22, 23)]  # key words of 4 strides: halves
BUF = [(24, 25), (26, 27)]                      # message, of this step and next
TMP = [(28, 29), (30, 31)]

STEPS = 4       # of one iteration; the key's rows turn round once
SPLIT = STEPS * 2 + 1


def emit(*lines):
    for line in lines:
        print('\t' + line)


def comment(text):
    print('\t// ' + text)


def zipped(neon, beside):
    """Print two streams, after each NEON instruction its share of the other."""
    done = 0
    for i, line in enumerate(neon):
        emit(line)
        upto = (i + 1) * len(beside) // len(neon)
        emit(*beside[done:upto])
        done = upto
    emit(*beside[done:])


def multiply(p):
    t, u = TMP[p & 1]
    return ['umlal v%d.2d, v%d.2s, v%d.2s' % (ACC[p], t, u),
            'umlal2 v%d.2d, v%d.4s, v%d.4s' % (ACC[p], t, u)]


def step(j):
    """Additions of each pass with the products of the pass before, so that a
    result is read four instructions after it was begun. The products of pass 3
    are the next step's first."""
    out = []
    lo, hi = BUF[j & 1]
    for p in range(4):
        row = ROW[(j + p) % 4]
        t, u = TMP[p & 1]
        mul = multiply((p - 1) % 4)
        out += ['add v%d.4s, v%d.4s, v%d.4s' % (t, lo, row[0]), mul[0],
                'add v%d.4s, v%d.4s, v%d.4s' % (u, hi, row[1]), mul[1]]
    return out


def load_pair(regs, a, b):
    """Both halves of the strides at a and b: first lane 0, then lane 1."""
    return (['ldr d%d, [%s], #8' % (r, a) for r in regs],
            ['ld1 {v%d.d}[1], [%s], #8' % (r, b) for r in regs])


def step_loads(j, others):
    """The loads of step j with nine instructions of another kind: key words
    go where this step's pass 0 has just read the oldest ones."""
    k0, k1 = load_pair(ROW[j], KA, KB)
    m0, m1 = load_pair(BUF[(j + 1) & 1], MA, MB)
    o = list(others)
    out = o[:2] + [k0[0], k0[1], m0[0], m0[1]] + o[2:4] + [k1[0], k1[1]]
    out += o[4:5] + [m1[0], m1[1]] + o[5:]
    return out


def integer_stride():
    """One stride by umaddl; key words are loaded one pass ahead."""
    m, k = INT_MSG, INT_KEY

    def load(p):
        r = INT_KEY[p & 1]
        at = ['[%s, #16]!' % KS if p == 0 else '[%s, #%d]' % (KS, 16 * p),
              '[%s, #%d]' % (KS, 16 * p + 8)]
        return ['ldp %s, %s, %s' % (r[0], r[1], at[0]),
                'ldp %s, %s, %s' % (r[2], r[3], at[1])]

    out = load(0)
    out += ['ldp %s, %s, [%s], #8' % (m[0], m[1], MS),
            'ldp %s, %s, [%s], #8' % (m[2], m[3], MS)]
    for p in range(4):
        r = INT_KEY[p & 1]
        acc = INT_ACC[p]
        if p < 3:
            out += load(p + 1)
        out += ['add %s, %s, %s' % (r[i], r[i], m[i]) for i in (0, 2, 1, 3)]
        for a, b in ((r[0], r[2]), (r[1], r[3])):
            out.append('umaddl %s, %s, %s, %s' % (acc, a, b, acc))
    return out


def parameters():
    """Of the unit at MSG. Uses w12, x17 and x19, x20."""
    comment('n strides: x17; x20 = n - n / 9')
    return ['cmp %s, #64' % LEFT,
            'mov x17, #64',
            'csel x17, %s, x17, lo' % LEFT,
            'mov w12, #57',
            'mul w10, w17, w12',
            'sub %s, %s, x17' % (LEFT, LEFT),
            'mov %s, %s' % (MA, MSG),
            'mov %s, %s' % (KA, KEY),
            'lsr w10, w10, #9',             # n / 9, right up to 64
            'add %s, %s, x17, lsl #4' % (MSG, MSG),
            'sub x20, x17, x10',
            'sub %s, x20, x10, lsl #3' % REST,
            'add x19, x20, #1',
            'lsr x19, x19, #1',             # the distance of a pair
            'add %s, %s, x19, lsl #4' % (KB, KA),
            'add %s, %s, x19, lsl #4' % (MB, MA),
            'add %s, %s, x20, lsl #4' % (MS, MA),
            'add %s, %s, x20, lsl #4' % (KS, KA),
            'sub %s, %s, #16' % (KS, KS)]


def first_loads():
    out = []
    k0 = []
    k1 = []
    for r in range(4):
        a, b = load_pair(ROW[r], KA, KB)
        k0 += a
        k1 += b
    m0, m1 = load_pair(BUF[0], MA, MB)
    return m0 + k0[:2] + m1 + k1[:2] + k0[2:] + k1[2:]


def clear():
    """Sums, and the products that the first step takes for the pass before."""
    return (['movi v%d.2d, #0' % r for r in TMP[1] + tuple(ACC)],
            ['mov %s, xzr' % r for r in INT_ACC])


def alone(q):
    """Stride N, loaded as the first of a pair: 64-bit additions, two a cycle."""
    lo, hi = BUF[q & 1]
    tmp = [(28, 29), (30, 31), (4, 5), (6, 7)]
    for p in range(4):
        row = ROW[(q + p) % 4]
        emit('add v%d.2s, v%d.2s, v%d.2s' % (tmp[p][0], lo, row[0]),
             'add v%d.2s, v%d.2s, v%d.2s' % (tmp[p][1], hi, row[1]))
    for p in range(4):
        emit('umlal v%d.2d, v%d.2s, v%d.2s' % ((ACC[p],) + tmp[p]))


def finish():
    """Join the sums: those of the integer unit go over early."""
    return ['fmov d4, %s' % INT_ACC[0], 'fmov d5, %s' % INT_ACC[2],
            'mov v4.d[1], %s' % INT_ACC[1], 'mov v5.d[1], %s' % INT_ACC[3],
            'addp v0.2d, v0.2d, v1.2d', 'addp v2.2d, v2.2d, v3.2d',
            'add v0.2d, v0.2d, v4.2d', 'add v2.2d, v2.2d, v5.2d',
            'stp q0, q2, [%s], #32' % SUMS]


def main():
    print('// Made by nh_neon.S.py, which explains it.')
    print('\t.text\n\t.p2align 4\n\t.globl nh_neon\n\t.hidden nh_neon\n'
          '\t.type nh_neon, %function\nnh_neon:\n\t.cfi_startproc')
    emit('lsr %s, x3, #4' % LEFT, 'cbz %s, .Lnothing' % LEFT)
    emit('stp x19, x20, [sp, #-80]!', '.cfi_def_cfa_offset 80',
         '.cfi_rel_offset x19, 0', '.cfi_rel_offset x20, 8')
    for i, r in enumerate((21, 23, 25, 27)):
        emit('stp x%d, x%d, [sp, #%d]' % (r, r + 1, 16 * i + 16),
             '.cfi_rel_offset x%d, %d' % (r, 16 * i + 16),
             '.cfi_rel_offset x%d, %d' % (r + 1, 16 * i + 24))
    emit(*parameters())
    emit('cbz %s, .Lshort' % COUNT)
    neon, ints = clear()
    zipped(neon, first_loads() + ints)

    print('\n\t.p2align 4\n.Lloop:')
    ints = ['sub %s, %s, #1' % (COUNT, COUNT)] + integer_stride()
    share = [9, 9, 9, len(ints) - 27]
    for j in range(STEPS):
        take, ints = ints[:share[j]], ints[share[j]:]
        zipped(step(j), step_loads(j, take))
    emit('cbnz %s, .Lloop' % COUNT)

    # What is left of the unit, 0 to 8 strides: pairs, and a single one.
    emit('lsr x12, %s, #1' % REST)
    for q in range(4):
        emit('cbz x12, .Lend%d' % q)
        zipped(step(q), step_loads(q, ['sub x12, x12, #1']))
    emit(*multiply(3))
    print('.Lunit:')
    emit('cbz %s, .Llast' % LEFT)
    # The next unit: its parameters while the sums come out, then its key.
    out = finish()
    zipped(out[:4], parameters())
    emit('cbz %s, .Lshort_next' % COUNT)
    neon, ints = clear()
    zipped(out[4:] + neon, first_loads() + ints)
    emit('b .Lloop')
    for q in range(4):
        print('.Lend%d:' % q)
        emit(*multiply(3))
        emit('tbz %s, #0, .Lunit' % REST)
        alone(q)
        emit('b .Lunit')
    print('.Lshort_next:')
    emit(*finish()[4:])
    print('.Lshort:')
    # REST is the number of strides, all of them.
    emit(*clear()[0][2:])
    print('.Lstride:')
    emit('ldp d24, d25, [%s], #16' % MA)
    for p in range(4):
        emit('ldp d16, d17, [%s, #%d]' % (KA, 16 * p),
             'add v28.2s, v24.2s, v16.2s', 'add v29.2s, v25.2s, v17.2s',
             'umlal v%d.2d, v28.2s, v29.2s' % ACC[p])
    emit('add %s, %s, #16' % (KA, KA), 'subs %s, %s, #1' % (REST, REST),
         'b.ne .Lstride')
    emit('movi v4.2d, #0', 'movi v5.2d, #0')
    emit(*finish()[4:])
    emit('b .Ldone')
    print('.Llast:')
    emit(*finish())
    print('.Ldone:')
    comment('Key words, and sums of them with the message')
    emit(*('movi d%d, #0' % r for r in range(16, 32)))
    emit('mov w12, wzr', 'mov w17, wzr')
    for i, r in enumerate((21, 23, 25, 27)):
        emit('ldp x%d, x%d, [sp, #%d]' % (r, r + 1, 16 * i + 16))
    emit('ldp x19, x20, [sp], #80')
    for r in range(19, 29):
        emit('.cfi_restore x%d' % r)
    emit('.cfi_def_cfa_offset 0')
    print('.Lnothing:')
    emit('ret', '.cfi_endproc')
    print('\t.size nh_neon, . - nh_neon\n\n'
          '\t.section .note.GNU-stack, "", %progbits')


main()
