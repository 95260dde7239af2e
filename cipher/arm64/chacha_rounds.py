"""ChaCha's rounds on the three kinds of registers that chacha_neon.S.py uses.

Each class below has the same operations on x, a list of the state's words (or
rows) as Values: word i becomes the sum, and so on. A Value in `keep` is needed
later: what would change it goes to a new one.
"""
from schedule import Value

COLUMNS = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
DIAGONALS = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]


class Arithmetic:
    def __init__(self, block, keep=()):
        self.block, self.keep = block, set(keep)

    def target(self, x, i):
        """Where to put the new word i, and the letter of its role."""
        if x[i] not in self.keep:
            return x[i], 'm'
        return Value(self.bank), 'w'

    def add(self, x, i, j):
        self.binary('add', x, i, j)

    def eor(self, x, i, j):
        self.binary('eor', x, i, j)

    def binary(self, name, x, i, j):
        d, role = self.target(x, i)
        self.block.op(self.kind, name + ' ' + self.three[name], role + 'rr',
                      d, x[i], x[j])
        x[i] = d


class Words(Arithmetic):
    """One block, a word in each 32-bit register. The second operand of EOR
    could be rotated for nothing, but that of ADD cannot."""
    bank, kind = 'x', 'alu'
    three = dict.fromkeys(['add', 'eor'], 'w{}, w{}, w{}')

    def rotate(self, x, i, n):
        self.block.op('shift', 'ror w{}, w{}, #%d' % (32 - n), 'mr', x[i], x[i])

    def eor_rotate(self, x, i, j, n):
        self.eor(x, i, j)
        self.rotate(x, i, n)


class Vectors(Arithmetic):
    """Four words in each vector.

    Rotations: by 16 in one instruction (REV32), by 8 in one (TBL), by 12 and 7
    in two, SHL and SRI, as there is no rotation in NEON. SHL and USHR with ORR
    are three; TBL for 16 is as cheap as REV32, but needs one more register."""
    bank, kind = 'v', 'neon'
    three = {'add': 'v{}.4s, v{}.4s, v{}.4s', 'eor': 'v{}.16b, v{}.16b, v{}.16b'}

    def __init__(self, block, rotate8, keep=()):
        super().__init__(block, keep)
        self.rotate8 = rotate8

    def rotate(self, x, i, n):
        if n == 16:
            self.block.op('neon', 'rev32 v{}.8h, v{}.8h', 'mr', x[i], x[i])
        else:
            self.block.op('neon', 'tbl v{}.16b, {{v{}.16b}}, v{}.16b', 'mrr',
                          x[i], x[i], self.rotate8)

    def eor_rotate(self, x, i, j, n):
        t = Value('v')
        d, role = self.target(x, i)
        self.block.op('neon', 'eor v{}.16b, v{}.16b, v{}.16b', 'wrr', t, x[i], x[j])
        self.block.op('neon', 'shl v{}.4s, v{}.4s, #%d' % n, 'wr', d, t)
        self.block.op('neon', 'sri v{}.4s, v{}.4s, #%d' % (32 - n), 'mr', d, t)
        x[i] = d


def quarter_rounds(arithmetic, x, quads, skip=(0, 0, 0, 0)):
    """Quarter rounds side by side. skip: leading steps of each that were done
    before."""
    steps = [
        lambda a, b, c, d: arithmetic.add(x, a, b),
        lambda a, b, c, d: arithmetic.eor(x, d, a),
        lambda a, b, c, d: arithmetic.rotate(x, d, 16),
        lambda a, b, c, d: arithmetic.add(x, c, d),
        lambda a, b, c, d: arithmetic.eor_rotate(x, b, c, 12),
        lambda a, b, c, d: arithmetic.add(x, a, b),
        lambda a, b, c, d: arithmetic.eor(x, d, a),
        lambda a, b, c, d: arithmetic.rotate(x, d, 8),
        lambda a, b, c, d: arithmetic.add(x, c, d),
        lambda a, b, c, d: arithmetic.eor_rotate(x, b, c, 7),
    ]
    for n, step in enumerate(steps):
        for quad, skipped in zip(quads, skip):
            if n >= skipped:
                step(*quad)


def permute(arithmetic, x, rounds):
    for _ in range(rounds // 2):
        quarter_rounds(arithmetic, x, COLUMNS)
        quarter_rounds(arithmetic, x, DIAGONALS)


# In one call only word 12, the counter, differs from block to block, so three
# column quarter rounds of the first round, and the beginnings of the first
# diagonal ones, are the same for all. They are done once; SHARED lists the
# words that are left of them in the order in which the blocks take them up.
SHARED = [0, 4, 8, 1, 11, 6, 13, 2, 7, 5, 15, 10, 3, 14, 9]
SHARED_SKIP = (0, 1, 3, 0)


def share(words, x):
    """Turn a state's words into the shared ones."""
    quarter_rounds(words, x, COLUMNS[1:], (0, 0, 0))
    words.add(x, 0, 4)
    words.add(x, 1, 6)
    words.add(x, 2, 7)
    words.eor(x, 13, 2)
    words.rotate(x, 13, 16)


def permute_shared_begin(arithmetic, x):
    """The first two rounds, from the shared words and the counter, to which word
    0 was XORed."""
    quarter_rounds(arithmetic, x, COLUMNS[:1], (2,))
    quarter_rounds(arithmetic, x, DIAGONALS, SHARED_SKIP)


def permute_rows(vectors, x, rounds):
    """The rounds of one block in four vectors, a row of the state in each: a
    step does all columns at once, and rows are turned to bring the diagonals
    under each other."""
    def turn(*by):
        for i, n in zip((1, 2, 3), by):
            vectors.block.op('neon', 'ext v{}.16b, v{}.16b, v{}.16b, #%d' % n,
                             'mrr', x[i], x[i], x[i])
    for _ in range(rounds // 2):
        quarter_rounds(vectors, x, [(0, 1, 2, 3)])
        turn(4, 8, 12)
        quarter_rounds(vectors, x, [(0, 1, 2, 3)])
        turn(12, 8, 4)
