"""ChaCha of one block in integer registers, for the generators:
chacha_scalar.S.py tells about it."""

COLUMNS = (((0, 4, 8, 12), (1, 5, 9, 13)), ((2, 6, 10, 14), (3, 7, 11, 15)))
DIAGONALS = (((3, 4, 9, 14), (0, 5, 10, 15)), ((1, 6, 11, 12), (2, 7, 8, 13)))
REG = {**{n: 'r%d' % n for n in range(10)}, 10: 'r12', 11: 'lr',
       12: 'r10', 13: 'r11', 14: 'r10', 15: 'r11'}
# How far rows b and d are behind, to the right, when a round begins.
B, DD = 25, 24


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


class Words:
    """`say` takes an instruction. In the frame: `ks`, the words of a block that
    are in no register, at their places in the block; `begin`, words 0 to 11, 14,
    15 and 13 that a block begins with; `turns` and `turn`, the length of the
    loop and what is left of it."""

    def __init__(self, say, ks, begin, turns, turn, counter):
        self.say, self.ks, self.begin = say, ks, begin
        self.turns, self.turn, self.counter = turns, turn, counter
        self.d = ks + 48

    def side_by_side(self, x, y, extra=()):
        """Two lists in turns, aligned at their ends; extra: [(n, text)] before
        the last n steps."""
        n = max(len(x), len(y))
        x, y = [None] * (n - len(x)) + x, [None] * (n - len(y)) + y
        for i in range(n):
            for text in [t for at, t in extra if at == n - i]:
                self.say(text)
            for op in (x[i], y[i]):
                if op:
                    self.say(op)

    def double_round(self, count=False):
        d = self.d
        (c0, c1), (c2, c3) = COLUMNS
        swap = ['strd r10, r11, [sp, #%d]' % d]
        if count:
            swap += ['ldr r10, [sp, #%d]' % self.turn]
        back = ['ldrd r10, r11, [sp, #%d]' % (d + 8)]
        if count:
            self.side_by_side(quarter(*c0), quarter(*c1),
                              [(1, t) for t in swap])
            self.say('subs r10, r10, #1')
            self.say('str r10, [sp, #%d]' % self.turn)
            self.say(back[0])
        else:
            self.side_by_side(quarter(*c0), quarter(*c1),
                              [(1, t) for t in swap + back])
        self.side_by_side(quarter(*c2), quarter(*c3))
        (d3, d0), (d1, d2) = DIAGONALS
        self.side_by_side(quarter(*d3), quarter(*d0),
                          [(1, 'strd r10, r11, [sp, #%d]' % (d + 8)),
                           (1, 'ldrd r10, r11, [sp, #%d]' % d)])
        self.side_by_side(quarter(*d1), quarter(*d2))

    def first_rounds(self):
        """The first two rounds of a block. Column 0 alone is a chain whose
        results come after two cycles: the loads stand in its gaps. Word 0 comes
        with the first addition done."""
        say, begin = self.say, self.begin
        loads = iter(['ldrd r2, r3, [sp, #%d]' % (begin + 8),
                      'ldrd r6, r7, [sp, #%d]' % (begin + 24),
                      'ldr r12, [sp, #%d]' % (begin + 40),
                      'ldr lr, [sp, #%d]' % (begin + 44),
                      'ldr r11, [sp, #%d]' % self.turns,
                      'str r11, [sp, #%d]' % self.turn])
        say('ldr r10, [sp, #%d]' % self.counter)
        say('ldrd r0, r1, [sp, #%d]' % begin)
        say('ldrd r4, r5, [sp, #%d]' % (begin + 16))
        say('ldrd r8, r9, [sp, #%d]' % (begin + 32))
        for n, op in enumerate(quarter(0, 4, 8, 12, 0, 0, skip=1)):
            say(op)
            if n < 6:
                say(next(loads))
        say('str r10, [sp, #%d]' % self.d)
        say('ldrd r10, r11, [sp, #%d]' % (begin + 48))
        (d3, d0), (d1, d2) = DIAGONALS
        self.side_by_side(quarter(*d3), quarter(*d0),
                          [(1, 'strd r10, r11, [sp, #%d]' % (self.d + 8)),
                           (1, 'ldr r10, [sp, #%d]' % self.d),
                           (1, 'ldr r11, [sp, #%d]' % (begin + 56))])
        self.side_by_side(quarter(*d1, skip=1), quarter(*d2, skip=2))

    def text(self, state, state6, aligned):
        """Add the state, XOR the text from r12 to lr. Words 0 to 7 are in
        r0-r7, the others in the frame; r8-r11 are free. What is loaded is needed
        four cycles later. `state6`: words 12 and 13 of the state."""
        say = self.say

        def load_state(j):
            say('ldrd r8, r9, [sp, #%d]' % (state6 if j == 6 else state + 8 * j))

        def load_text():
            if aligned:
                say('ldrd r10, r11, [r12], #8')
            else:
                say('ldr r10, [r12], #4')
                say('ldr r11, [r12], #4')

        load_state(0)
        load_text()
        for j in range(8):
            k = 2 * (j % 4)
            rotation = {1: ', ror #%d' % B, 3: ', ror #%d' % DD}.get(j // 2, '')
            for n in (0, 1):
                say('add r%d, r%d, r%d%s' % (k + n, 8 + n, k + n, rotation))
            if j < 7:
                load_state(j + 1)
            for n in (0, 1):
                say('eor r%d, r%d, r%d' % (k + n, k + n, 10 + n))
            if j < 7:
                load_text()
            if 4 <= j + 2 < 8:
                say('ldrd r%d, r%d, [sp, #%d]' %
                    (2 * (j - 2), 2 * (j - 2) + 1, self.ks + 8 * (j + 2)))
            if aligned:
                say('strd r%d, r%d, [lr], #8' % (k, k + 1))
            else:
                say('str r%d, [lr], #4' % k)
                say('str r%d, [lr], #4' % (k + 1))
