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

Modelled cycles per byte of one NH on Cortex-A53, 4080 bytes (496 bytes): a
stride for itself 1.03, in pairs 0.57, with the integer unit 0.50 (0.61).

A unit of n strides has I = n / 9 integer strides, its last ones; the others
are N pairs of strides s and s + offset, and if that is an odd number, stride N
alone. Each step loads for the next one as well. Behind the last pair these
loads give stride N and the first integer stride: nothing is read that is not of
this unit. A unit with I = 0 goes the plain way, stride by stride.
"""

# Registers. The pointers to message and key: of each pair's first and second
# stride, and of the integer strides.
SUMS, KS, MS, LEFT = 'x0', 'x1', 'x2', 'x3'     # LEFT: strides not begun yet
MA, MB, KA, KB = 'x4', 'x5', 'x6', 'x7'
COUNT, REST = 'x8', 'x9'                        # iterations; strides behind them
INT_ACC = ['x10', 'x11', 'x12', 'x13']
INT_KEY = [['w14', 'w15', 'w16', 'w17'], ['w19', 'w20', 'w21', 'w22']]
INT_MSG = ['w23', 'w24', 'w25', 'w26']
SAVED = range(19, 27)
ACC = [0, 1, 2, 3]
ROW = [(16, 17), (18, 19), (20, 21), (22, 23)]  # key words of 4 strides: halves
BUF = [(24, 25), (26, 27)]                      # message, of this step and next
TMP = [(28, 29), (30, 31)]
SINGLE = [(28, 29), (30, 31), (4, 5), (6, 7)]   # of a stride alone

STEPS = 4       # of one iteration; the key's rows turn round once
UNIT_STRIDES = 64


def emit(*lines):
    for line in lines:
        print('\t' + line)


def zipped(neon, beside):
    """Print two streams so that the second one's instructions issue beside the
    first one's. Two that are too many go together: a cycle of their own."""
    n, extra = len(neon), len(beside) - len(neon)
    if extra <= 0:
        share = [(i + 1) * len(beside) // n - i * len(beside) // n
                 for i in range(n)]
    else:
        share = [1] * n
        share[-1] += extra & 1
        for g in range(extra // 2):
            share[(2 * g + 1) * n // (extra + 1)] += 2
    beside = list(beside)
    for line, k in zip(neon, share):
        emit(line, *beside[:k])
        del beside[:k]
    assert not beside


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
    """The loads of step j with instructions of another kind: key words go
    where this step's pass 0 has just read the oldest ones."""
    k0, k1 = load_pair(ROW[j], KA, KB)
    m0, m1 = load_pair(BUF[(j + 1) & 1], MA, MB)
    o = list(others)
    return (o[:2] + k0 + m0 + o[2:4] + k1 + o[4:5] + m1 + o[5:])


def integer_stride():
    """One stride by umaddl; key words are loaded one pass ahead."""
    m = INT_MSG

    def load(p):
        r = INT_KEY[p & 1]
        at = '[%s], #16' % KS if p == 0 else '[%s, #%d]' % (KS, 16 * p - 16)
        return ['ldp %s, %s, %s' % (r[0], r[1], at),
                'ldp %s, %s, [%s, #%d]' % (r[2], r[3], KS, 16 * p - 8)]

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
    """Of the unit of n strides at MS, with the key at KS, which move on to the
    integer strides. n: x15; n - I: x16."""
    return ['mov x14, #%d' % UNIT_STRIDES,
            'cmp %s, x14' % LEFT,
            'csel x15, %s, x14, lo' % LEFT,
            'mov w16, #57',
            'mul w8, w15, w16',
            'mov %s, %s' % (MA, MS),
            'mov %s, %s' % (KA, KS),
            'sub %s, %s, x15' % (LEFT, LEFT),
            'lsr w8, w8, #9',               # n / 9, right up to 64
            'sub x16, x15, %s' % COUNT,
            'add x14, x16, #1',
            'lsr x14, x14, #1',             # the distance of a pair
            'sub %s, x16, %s, lsl #3' % (REST, COUNT),
            'add %s, %s, x14, lsl #4' % (MB, MS),
            'add %s, %s, x14, lsl #4' % (KB, KS),
            'add %s, %s, x16, lsl #4' % (MS, MS),
            'add %s, %s, x16, lsl #4' % (KS, KS)]


def first_loads():
    pairs = [load_pair(r, KA, KB) for r in ROW]
    m0, m1 = load_pair(BUF[0], MA, MB)
    return (m0 + sum((a for a, _ in pairs), []),
            m1 + sum((b for _, b in pairs), []))


def clear():
    """Sums, and a product that the first step takes for the pass before."""
    return (['movi d%d, #0' % r for r in TMP[1][:1] + tuple(ACC)],
            ['mov %s, xzr' % r for r in INT_ACC])


def single(q):
    """Stride N, loaded as the first of a pair: 64-bit additions, two a cycle."""
    lo, hi = BUF[q & 1]
    add, mul = [], []
    for p in range(4):
        t, u = SINGLE[p]
        row = ROW[(q + p) % 4]
        add += ['add v%d.2s, v%d.2s, v%d.2s' % (t, lo, row[0]),
                'add v%d.2s, v%d.2s, v%d.2s' % (u, hi, row[1])]
        mul.append('umlal v%d.2d, v%d.2s, v%d.2s' % (ACC[p], t, u))
    return add, mul


def finish(products=()):
    """Join the sums; those of the integer unit go over first."""
    return (['fmov d26, %s' % INT_ACC[0], 'fmov d27, %s' % INT_ACC[2]] +
            list(products) +
            ['mov v26.d[1], %s' % INT_ACC[1], 'mov v27.d[1], %s' % INT_ACC[3],
             'addp v0.2d, v0.2d, v1.2d', 'addp v2.2d, v2.2d, v3.2d',
             'add v0.2d, v0.2d, v26.2d', 'add v2.2d, v2.2d, v27.2d',
             'stp q0, q2, [%s], #32' % SUMS])


def plain():
    """A unit of REST strides, one after the other."""
    emit('sub %s, %s, %s, lsl #4' % (MA, MS, REST),
         'sub %s, %s, %s, lsl #4' % (KA, KS, REST))
    emit(*clear()[0][1:])
    print('.Lstride:')
    emit('ldp d24, d25, [%s], #16' % MA)
    for p in range(4):
        emit('ldp d16, d17, [%s, #%d]' % (KA, 16 * p),
             'add v28.2s, v24.2s, v16.2s', 'add v29.2s, v25.2s, v17.2s',
             'umlal v%d.2d, v28.2s, v29.2s' % ACC[p])
    emit('add %s, %s, #16' % (KA, KA), 'subs %s, %s, #1' % (REST, REST),
         'b.ne .Lstride')
    emit(*finish()[4:6])
    emit(finish()[-1])


def main():
    print('// Made by nh_neon.S.py, which explains it.')
    print('\t.text\n\t.p2align 4\n\t.globl nh_neon\n\t.hidden nh_neon\n'
          '\t.type nh_neon, %function\nnh_neon:\n\t.cfi_startproc')
    emit('lsr %s, x3, #4' % LEFT, 'cbz %s, .Lnothing' % LEFT)
    frame = 8 * len(SAVED)
    saves = ['stp x%d, x%d, [sp, #%d]' % (r, r + 1, 8 * i)
             for i, r in list(enumerate(SAVED))[2::2]]
    emit('stp x19, x20, [sp, #-%d]!' % frame, '.cfi_def_cfa_offset %d' % frame)
    loads = first_loads()
    emit(*parameters()[:7])
    zipped(saves + loads[0], parameters()[7:])
    for i, r in enumerate(SAVED):
        emit('.cfi_rel_offset x%d, %d' % (r, 8 * i))
    emit('cbz %s, .Lshort' % COUNT)
    zipped(loads[1], sum(clear(), []))

    print('\n\t.p2align 4\n.Lloop:')
    ints = ['sub %s, %s, #1' % (COUNT, COUNT)] + integer_stride()
    share = [8, 10, 8, len(ints) - 26]
    for j in range(STEPS):
        take, ints = ints[:share[j]], ints[share[j]:]
        zipped(step(j), step_loads(j, take))
    emit('cbnz %s, .Lloop' % COUNT, 'cbz %s, .Llast' % LEFT)

    # A whole unit, and another one behind it: a single stride is left. The
    # other's parameters are found during its additions; then the other's loads
    # begin, beside products and sums.
    add, mul = single(0)
    zipped(multiply(3) + add, ['sub %s, %s, #1024' % (KS, KS)] + parameters())
    emit('cbz %s, .Lshort_next' % COUNT)
    neon, ints = clear()
    zipped(finish(mul) + neon, loads[0] + loads[1] + ints)
    emit('b .Lloop')

    # What is left of the last unit, 0 to 8 strides: pairs, and a single one.
    print('\n.Llast:')
    emit('lsr x14, %s, #1' % REST)
    for q in range(4):
        emit('cbz x14, .Lend%d' % q)
        zipped(step(q), step_loads(q, ['sub x14, x14, #1']))
    emit(*multiply(3))
    print('.Lfinish:')
    print('\t// No trace of key words, nor of their sums with a known message.')
    wipe = ['movi d%d, #0' % r for r in list(range(4, 8)) + list(range(16, 24)) +
            list(range(28, 32))]
    restores = ['ldp x%d, x%d, [sp, #%d]' % (r, r + 1, 8 * i)
                for i, r in list(enumerate(SAVED))[2::2]]
    zipped(wipe, finish())
    print('.Ldone:')
    emit(*restores)
    emit(*('mov w%d, wzr' % r for r in range(14, 18)))
    emit('ldp x19, x20, [sp], #%d' % frame)
    emit(*('.cfi_restore x%d' % r for r in SAVED))
    emit('.cfi_def_cfa_offset 0')
    print('.Lnothing:')
    emit('ret')
    emit('.cfi_def_cfa_offset %d' % frame)
    for i, r in enumerate(SAVED):
        emit('.cfi_rel_offset x%d, %d' % (r, 8 * i))
    for q in range(4):
        print('.Lend%d:' % q)
        emit(*multiply(3))
        emit('tbz %s, #0, .Lfinish' % REST)
        emit(*sum(single(q), []))
        emit('b .Lfinish')
    print('.Lshort_next:')
    emit(*finish(mul))
    print('.Lshort:')
    plain()
    emit('b .Ldone', '.cfi_endproc')
    print('\t.size nh_neon, . - nh_neon\n\n'
          '\t.section .note.GNU-stack, "", %progbits')


main()
