"""What chacha_neon.S.py builds its functions of: one block of ChaCha in integer
registers, four in NEON, one as rows in NEON; and where they keep what.
"""
from schedule import CORTEX_A53, Block, Value
from chacha_rounds import (SHARED, Vectors, Words, permute, permute_rows,
                           permute_shared_begin)

# The stack frame.
F_SHARED = 0      # 5, and the shared words
F_CONSTANTS = 64  # words 0 to 3 of the state
F_REST = 80       # blocks after the fives; where the last one is if it is short
F_TAIL = 96       # where the bytes of a short block go, and their number
F_STATE = 112
F_LAST = 128      # a short block
F_X = 192         # saved registers: x19 to x30, d8 to d15
F_D = F_X + 96
FRAME = F_D + 64

# The constants at the file's end.
C_ROTATE8, C_COUNT, C_CHACHA = 0, 16, 32

# Registers with a fixed use in the ChaCha functions; x18 is the platform's.
DST, SRC, COUNT = Value('x', 1), Value('x', 2), Value('x', 3)
SRC_LAST, DST_LAST = Value('x', 4), Value('x', 5)  # the integer unit's block
SRC_HIGH, DST_HIGH = Value('x', 6), Value('x', 7)  # the vectors' upper halves
STATE = {i: Value('x', 6 + i // 2) for i in range(4, 16, 2)}  # word pairs
ROTATE8 = Value('v', 0)
PAIR = {i: Value('v', 1 + n) for n, i in enumerate((0, 2, 4, 6, 8, 10, 14))}
WORD13, COUNTER = Value('v', 8), Value('v', 9)
X_POOL = [0, 14, 15, 16, 17] + list(range(19, 31))
X = [Value('v', 10 + i) for i in range(16)]
V_POOL = list(range(26, 32))

BOOST = 1000  # for loads and stores for which NEON waits


def block(x=X_POOL, v=V_POOL):
    return Block(CORTEX_A53, {'x': x, 'v': v})


# ---------------------------------------------------------------- one block in
# integer registers

def words_begin(b, x):
    """Load the shared words."""
    for n in range(-1, 15, 2):
        j = SHARED[n + 1]
        x[j] = Value('x')
        at = F_SHARED + 4 * (n + 1)
        if n < 0:
            b.op('load', 'ldr w{}, [sp, #%d]' % (at + 4), 'w', x[j])
            continue
        i = SHARED[n]
        x[i] = Value('x')
        b.op('load', 'ldp w{}, w{}, [sp, #%d]' % at, 'ww', x[i], x[j])


def words_end(b, x, step=0):
    """Add the state to pairs of words, and XOR them over the block at SRC_LAST.
    The pairs are joined before their text is loaded, so that there is always a
    register for it. `step` is added to the pointers."""
    text = {}
    for i in list(range(4, 16, 2)) + [2, 0]:
        state = STATE.get(i)
        if state is None:
            state = Value('x')
            b.op('load', 'ldr x{}, [sp, #%d]' % (F_CONSTANTS + 4 * i), 'w', state)
        b.op('alu', 'add w{}, w{}, w{}', 'mrr', x[i], x[i], state)
        b.op('alu_shift', 'add x{}, x{}, x{}, lsr #32', 'mrr', x[i + 1], x[i + 1],
             state)
        b.op('alu_shift', 'add x{}, x{}, x{}, lsl #32', 'mrr', x[i], x[i],
             x[i + 1])
        text[i] = Value('x')
        b.op('load', 'ldr x{}, [x{}, #%d]' % (4 * i), 'wa', text[i], SRC_LAST)
        b.op('alu', 'eor x{}, x{}, x{}', 'mrr', x[i], x[i], text[i])
    if step:
        b.op('alu', 'add x{}, x{}, #%d' % step, 'mr', SRC_LAST, SRC_LAST)
        b.op('alu', 'add x{}, x{}, #5', 'mr', STATE[12], STATE[12])
    for i in (12, 8, 4):
        b.op('store16', 'stp x{}, x{}, [x{}, #%d]' % (4 * i), 'ssa', x[i], x[i + 2],
             DST_LAST)
    if step:
        b.op('store16', 'stp x{}, x{}, [x{}], #%d' % step, 'ssu', x[0], x[2],
             DST_LAST)
    else:
        b.op('store16', 'stp x{}, x{}, [x{}]', 'ssa', x[0], x[2], DST_LAST)


def words_block(b, rounds, step=0):
    x = [None] * 16
    words_begin(b, x)
    x[12] = Value('x')
    words = Words(b)
    b.op('alu', 'eor w{}, w{}, w{}', 'wrr', x[12], STATE[12], x[0])
    permute_shared_begin(words, x)
    permute(words, x, rounds - 2)
    words_end(b, x, step)


# ---------------------------------------------------------------- four blocks
# in NEON

def vectors_begin(b, words=None):
    """The first two rounds: from `words` in integer registers, or from the
    stack for the next five blocks."""
    x = list(X)
    if words:
        for i in SHARED:
            b.op('to_neon', 'dup v{}.4s, w{}', 'wr', x[i], words[i])
    else:
        table, five = Value('x'), Value('v')
        b.op('alu', 'add x{}, sp, #%d' % F_SHARED, 'w', table)
        b.op('load', 'ld1r {{v{}.4s}}, [x{}], #4', 'wu', five, table, boost=BOOST)
        b.op('neon', 'add v{}.4s, v{}.4s, v{}.4s', 'mrr', COUNTER, COUNTER, five)
        for i in SHARED[:-1]:
            b.op('load', 'ld1r {{v{}.4s}}, [x{}], #4', 'wu', x[i], table,
                 boost=BOOST)
        b.op('load', 'ld1r {{v{}.4s}}, [x{}]', 'wa', x[SHARED[-1]], table,
             boost=BOOST)
    b.op('neon', 'eor v{}.16b, v{}.16b, v{}.16b', 'wrr', x[12], COUNTER, x[0])
    permute_shared_begin(Vectors(b, ROTATE8), x)


def vectors_end(b, src_high, dst_high):
    """Add the state, half transpose, XOR. Blocks 0 and 1 are in the lower
    halves, 2 and 3 in the upper ones; their addresses walk, as a single lane
    has no offset."""
    x = X
    b.op('neon', 'add v{}.4s, v{}.4s, v{}.4s', 'mrr', x[12], x[12], COUNTER)
    b.op('neon', 'add v{}.4s, v{}.4s, v{}.4s', 'mrr', x[13], x[13], WORD13)
    half = [[], []]
    done = b.ops[-1]  # no text is loaded before, as registers are scarce
    for i in range(0, 16, 2):
        t = Value('v')
        b.op('neon', 'trn1 v{}.4s, v{}.4s, v{}.4s', 'wrr', t, x[i], x[i + 1])
        b.op('neon', 'trn2 v{}.4s, v{}.4s, v{}.4s', 'mrr', x[i + 1], x[i],
             x[i + 1])
        # The text of blocks 0 and 2 goes where word i was.
        half[0].append((i, t, x[i]))
        half[1].append((i, x[i + 1], Value('v')))
    for n in (0, 1):
        for i, h, text in half[n]:
            if i in PAIR:
                b.op('neon', 'add v{}.4s, v{}.4s, v{}.4s', 'mrr', h, h, PAIR[i])
            b.op('load', 'ldr d{}, [x{}, #%d]' % (64 * n + 4 * i), 'wa', text, SRC,
                 reserve=2, boost=BOOST, after=[done])
            b.op('load', 'ld1 {{v{}.d}}[1], [x{}], #8', 'mu', text, src_high[n],
                 boost=BOOST)
            b.op('neon', 'eor v{}.16b, v{}.16b, v{}.16b', 'mrr', h, h, text)
            b.op('store', 'st1 {{v{}.d}}[1], [x{}], #8', 'su', h, dst_high[n],
                 boost=BOOST)
            if i % 4:
                b.op('store16', 'stp d{}, d{}, [x{}, #%d]' % (64 * n + 4 * i - 8),
                     'ssa', before, h, DST, boost=BOOST)
            before = h


# ---------------------------------------------------------------- one block as
# four rows in NEON

def rows_blocks(b, rounds, count):
    """Blocks 0 to count - 1, at SRC."""
    state = [Value('v') for i in range(4)]
    address = Value('x')
    b.op('load', 'ldr x{}, [sp, #%d]' % F_STATE, 'w', address)
    for i in range(4):
        b.op('load16', 'ldr q{}, [x{}, #%d]' % (16 * i), 'wa', state[i], address)
    for n in range(count):
        first = list(state)
        counter = Value('x')
        first[3] = Value('v')
        b.op('neon', 'mov v{}.16b, v{}.16b', 'wr', first[3], state[3])
        b.op('alu', 'sub w{}, w{}, #%d' % (count - n), 'wr', counter, STATE[12])
        b.op('to_neon', 'mov v{}.s[0], w{}', 'mr', first[3], counter)
        vectors = Vectors(b, ROTATE8, keep=first)
        x = list(first)
        permute_rows(vectors, x, rounds)
        for i in range(4):
            text = Value('v')
            b.op('neon', 'add v{}.4s, v{}.4s, v{}.4s', 'mrr', x[i], x[i], first[i])
            b.op('load16', 'ldr q{}, [x{}, #%d]' % (64 * n + 16 * i), 'wa', text,
                 SRC, reserve=4)
            b.op('neon', 'eor v{}.16b, v{}.16b, v{}.16b', 'mrr', x[i], x[i], text)
            b.op('store16', 'str q{}, [x{}, #%d]' % (64 * n + 16 * i), 'sa', x[i],
                 DST)
    for i in (1, 2):
        b.op('neon', 'movi v{}.16b, #0', 'w', state[i])  # the key
