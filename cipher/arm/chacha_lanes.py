"""ChaCha of four blocks side by side in NEON registers, for the generators:
chacha_neon.S.py tells about it."""
from neon_code import q

WORD = 'r2'     # to the words that a group begins with
SRC = ['r4', 'r5', 'r6', 'r7']
DST = ['r8', 'r9', 'r10', 'r11']
BACK, ON = 'r12', 'r14'
SHARED_T = q(10)
LAG = 3         # operations that the second chain is behind the first
PAIR_ORDER = (4, 5, 6, 7, 0, 1, 2, 3)
FIRST_PAIR = 32     # its place in a block, in bytes
STEP_BACK, STEP_ON = -56, 264   # after pair 7, and to the next group
COLUMNS = (((0, 4, 8, 12), (1, 5, 9, 13)), ((2, 6, 10, 14), (3, 7, 11, 15)))
DIAGONALS = (((3, 4, 9, 14), (0, 5, 10, 15)), ((1, 6, 11, 12), (2, 7, 8, 13)))


class Frame:
    """Where things are, from the register `base`: the counters of the four
    blocks, room for words x1, x3, x8 and x10, the table of vtbl, the state, and
    the words that a group begins with."""

    def __init__(self, base, counter, slots, table, state, words):
        self.base, self.counter, self.table = base, counter, table
        self.slot = {w: slots + 16 * n for n, w in enumerate((1, 3, 8, 10))}
        self.state, self.words = state, words


class Engine:
    def __init__(self, frame, sri):
        self.frame, self.sri = frame, sri
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
        at = self.frame
        for h in halves:
            code.store(self.home[word][h], at.base, at.slot[word] + 8 * h,
                       'x%d.%d' % (word, h))

    def get(self, code, word, halves=(0, 1)):
        at = self.frame
        for h in halves:
            code.load(self.home[word][h], at.base, at.slot[word] + 8 * h,
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
        h, at = self.home, self.frame
        chain = q(9), q(13), q(14), q(11), q(12)
        a, b, c, d, t = chain
        if counter:
            for i in (0, 1):
                code.load(d[i], at.base, at.counter + 8 * i, 'counter%d' % i)
        code.spread(a, WORD)
        code.spread(c, WORD)
        code.spread(b, WORD)
        if not self.sri:
            code.load(self.table, at.base, at.table, 'table')
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

    # -- the end of four blocks --------------------------------------------
    def tail(self, code, more, between=None):
        """The last double round, what `between` adds, then the text. Pairs of
        words are turned so that a register holds both of one block."""
        h, at = self.home, self.frame
        halves = self.swap_half()
        temps = {4: (31, q(10), q(10)), 5: (30, q(10), q(9)),
                 6: (None, q(10), q(9)), 7: (30, q(10), q(13)),
                 0: (31, q(3), q(8)), 1: (30, q(10), q(3)),
                 2: (16, q(1), q(2)), 3: (17, q(10), q(3))}
        self.double_round(code, last=True)
        if between:
            between()
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
                    code.load(counter[i], at.base, at.counter + 8 * i,
                              'counter%d' % i)
                code.spread(nonce, WORD)
                code.alu('vadd.i32', x, x, counter)
                code.alu('vadd.i32', y, y, nonce)
                if more:
                    code.alu('vmov.i32', nonce, imm=4)
                    code.alu('vadd.i32', counter, counter, nonce)
                    for i in (0, 1):
                        code.store(counter[i], at.base, at.counter + 8 * i,
                                   'counter%d' % i)
            code.transpose(x, y)
            if constant is not None:
                code.load(constant, at.base, at.state + 8 * p, 'state')
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
