"""NEON instructions of 32-bit ARM for the generators, and a scheduler that puts
them in the order in which a Cortex-A7 waits least.

Registers are given by the generator: the scheduler moves an instruction only
where the order of uses of each register stays right. A vector is a pair of
64-bit registers; where they are not the two halves of one 128-bit register, an
operation becomes two of 64 bits. That is free on a Cortex-A7, whose unit has 64
bits (2 cycles a 128-bit operation, 1 cycle a 64-bit one, results after 4, one
instruction at a time, integer ones not beside it), and nearly so on a
Cortex-A53, which pairs operations of 64 bits.
"""


import re


class Op:
    """`kind` is what a Cortex-A53 wants to know: a 'vector' operation fills its
    NEON unit, two of kind 'half' issue together, and 'memory' or 'core' beside
    any of them."""

    def __init__(self, text, kind, reads, writes, cost, latency, late, moved):
        self.text, self.kind, self.moved = text, kind, moved
        self.cost, self.latency = cost, latency
        self.reads, self.writes, self.late = set(reads), set(writes), set(late)


def q(n):
    return (2 * n, 2 * n + 1)


def whole(v):
    return v[0] % 2 == 0 and v[1] == v[0] + 1


def name(v):
    return 'q%d' % (v[0] // 2)


class Code:
    """Instructions in an order that is right. Resources are 'd0'... and names
    of core registers, places in memory and whatever else orders them."""

    def __init__(self):
        self.ops = []

    def add(self, text, kind, reads, writes, cost=1, latency=1, late=(),
            moved=()):
        """late: data of a store, needed a cycle later; moved: pointers that
        a load or store changes at once."""
        self.ops.append(Op(text, kind, reads, writes, cost, latency, late,
                           moved))

    def alu(self, op, dst, *srcs, imm='', merge=False, split=False):
        """An operation on whole vectors, or half by half."""
        tail = ', #%d' % imm if imm != '' else ''
        if all(whole(v) for v in (dst,) + srcs) and not split:
            parts = [[name(v) for v in (dst,) + srcs]]
        else:
            parts = [['d%d' % v[h] for v in (dst,) + srcs] for h in (0, 1)]
        for h, names in enumerate(parts):
            halves = (0, 1) if len(parts) == 1 else (h,)
            writes = ['d%d' % dst[x] for x in halves]
            reads = ['d%d' % v[x] for v in srcs for x in halves]
            self.add('%s %s%s' % (op, ', '.join(names), tail),
                     'vector' if len(parts) == 1 else 'half',
                     reads + (writes if merge else []), writes,
                     cost=len(halves), latency=4)

    def half(self, op, dst, *srcs, merge=False):
        """An operation on registers of 64 bits."""
        self.add('%s %s' % (op, ', '.join('d%d' % r for r in (dst,) + srcs)),
                 'half', ['d%d' % r for r in srcs + ((dst,) if merge else ())],
                 ['d%d' % dst], cost=1, latency=4)

    def lookup(self, dst, src, table):
        for h in (0, 1):
            self.add('vtbl.8 d%d, {d%d}, d%d' % (dst[h], src[h], table),
                     'vector', ['d%d' % src[h], 'd%d' % table], ['d%d' % dst[h]],
                     cost=1, latency=4)

    def transpose(self, a, b):
        both = ['d%d' % r for r in a + b]
        if whole(a) and whole(b):
            self.add('vtrn.32 %s, %s' % (name(a), name(b)), 'vector',
                     both, both, cost=4, latency=4)
            return
        for h in (0, 1):
            both = ['d%d' % a[h], 'd%d' % b[h]]
            self.add('vtrn.32 %s, %s' % tuple(both), 'vector', both, both,
                     cost=2, latency=4)

    def load(self, d, base, offset, place):
        """64 bits of the frame."""
        self.add('vldr d%d, [%s, #%s]' % (d, base, offset), 'memory',
                 [base, 'm:' + place], ['d%d' % d], cost=1, latency=3)

    def store(self, d, base, offset, place):
        self.add('vstr d%d, [%s, #%s]' % (d, base, offset), 'memory', [base],
                 ['m:' + place], cost=1, latency=1, late=['d%d' % d])

    def spread(self, v, base):
        """The next word at `base` into all lanes."""
        assert whole(v)
        regs = ['d%d' % r for r in v]
        self.add('vld1.32 {%s[], %s[]}, [%s]!' % (regs[0], regs[1], base),
                 'memory', [base], regs + [base], cost=2, latency=4,
                 moved=[base])

    def get(self, d, base, step):
        """64 bits at any alignment, then move the pointer."""
        self.add('vld1.8 {d%d}, [%s]%s' % (d, base, step), 'memory',
                 [base] + re.findall(r'r\d+', step),
                 ['d%d' % d, base], cost=1, latency=3, moved=[base])

    def put(self, d, base, step):
        self.add('vst1.8 {d%d}, [%s]%s' % (d, base, step), 'memory',
                 [base] + re.findall(r'r\d+', step),
                 [base], cost=1, latency=1, late=['d%d' % d], moved=[base])

    def core(self, text, reads, writes):
        self.add(text, 'core', reads, writes)

    def integer(self, text):
        """An instruction of the integer unit; what it reads and writes is in
        its text. Addresses are of the stack, or a pointer that moves on."""
        op, rest = text.split(None, 1)
        regs = ['r14' if r == 'lr' else r
                for r in re.findall(r'\b(?:r\d+|lr)\b', rest)]
        stack = re.search(r'\[sp, #(\d+)\]', rest)
        equal = op.endswith('eq')
        if op.startswith(('ldr', 'str')):
            data = regs[:2] if op.endswith('d') else regs[:1]
            base = regs[len(data):]
            places = ['m:%d' % (int(stack[1]) + 4 * n)
                      for n in range(len(data))] if stack else []
            if op.startswith('ldr'):
                self.add(text, 'memory', base + places + (
                    data + ['nzcv'] if equal else []), data + base, latency=3,
                         moved=base)
            else:
                self.add(text, 'memory', base, places + base, late=data,
                         moved=base)
            return
        flags = ['nzcv'] if op == 'subs' else []
        self.add(text, 'core', regs[1:] + (
            regs[:1] + ['nzcv'] if equal else []), regs[:1] + flags,
            latency=2 if 'ror' in rest else 1)


def latency_a7(op):
    return op.latency


def latency_a53(op):
    if op.kind in ('vector', 'half'):
        return 3 if op.text.startswith('vtrn') else 2
    return min(op.latency, 3)


def _edges(ops, latency_of=latency_a7):
    """[(earlier, latency)] of each instruction."""
    writer, readers, edges = {}, {}, []
    for n, op in enumerate(ops):
        before = {}

        def after(m, latency):
            before[m] = max(before.get(m, 0), latency)

        for r in op.reads | op.late:
            if r in writer:
                w = ops[writer[r]]
                latency = 1 if r in w.moved else latency_of(w)
                if op.kind == 'memory' and w.kind == 'core' and r[0] == 'r':
                    latency += 1    # an address, on either core
                after(writer[r], latency - (r in op.late and r not in op.reads))
        for r in op.writes:
            for m in readers.get(r, ()):
                after(m, 0)
            if r in writer:
                after(writer[r], 0)
        for r in op.writes:
            writer[r], readers[r] = n, []
        for r in op.reads | op.late:
            readers.setdefault(r, []).append(n)
        before.pop(n, None)
        edges.append(list(before.items()))
    return edges


def cycles(ops):
    """What a Cortex-A7 takes for them in this order: (cycles, of these idle)."""
    edges, start, now, idle = _edges(ops), [], 0, 0
    for op, before in zip(ops, edges):
        ready = max([start[m] + n for m, n in before] + [now])
        idle += ready - now
        start.append(ready)
        now = ready + op.cost
    return now, idle


def paired(first, second):
    """Do these two issue in one cycle on a Cortex-A53?"""
    kinds = first.kind, second.kind
    if kinds == ('half', 'half'):
        return True
    return kinds[1] in ('memory', 'core') and kinds[0] != kinds[1]


def pairs(ops):
    """How many do, in this order."""
    n = i = 0
    while i + 1 < len(ops):
        both = paired(ops[i], ops[i + 1])
        n += both
        i += 1 + both
    return n


def _graph(ops, edges, costs):
    """For each operation: what waits for it, and how long; for how many it waits;
    and the cycles of the longest chain that begins with it."""
    after = [[] for _ in ops]
    for n, before in enumerate(edges):
        for m, latency in before:
            after[m].append((n, latency))
    rank = [0] * len(ops)
    for n in reversed(range(len(ops))):
        rank[n] = max([costs[n]] + [rank[a] + max(latency, costs[n])
                                    for a, latency in after[n]])
    return after, [len(before) for before in edges], rank


def schedule(ops, slack=0, bonus=0):
    """List scheduling: of what is ready, that from which the longest chain
    hangs; `slack` takes the given order into account as well, so that an
    instruction rarely goes far ahead, and `bonus` favours pairs."""
    after, need, rank = _graph(ops, _edges(ops), [op.cost for op in ops])
    waiting = {n for n in range(len(ops)) if not need[n]}
    ready = [0] * len(ops)
    now, out, alone = 0, [], None
    while waiting:
        now = max(now, min(ready[n] for n in waiting))

        def key(n):
            more = bonus if alone and paired(alone, ops[n]) else 0
            return rank[n] - slack * n + more, -n
        n = max((n for n in waiting if ready[n] <= now), key=key)
        waiting.remove(n)
        both = alone and paired(alone, ops[n])
        alone = None if both else ops[n]
        out.append(ops[n])
        for a, latency in after[n]:
            ready[a] = max(ready[a], now + latency)
            need[a] -= 1
            if not need[a]:
                waiting.add(a)
        now += ops[n].cost
    return out


def best_schedule(ops, turns=1):
    """The best of some tries, for a block that runs `turns` times: the fewest
    cycles on a Cortex-A7, then the most pairs for a Cortex-A53."""
    tries = [ops] + [schedule(ops, slack, bonus)
                     for slack in (0, 0.5, 1, 1.5, 2, 3, 6)
                     for bonus in (0, 4, 12, 30, 60)]
    return min(tries, key=lambda t: (cycles(t * turns)[0], -pairs(t)))


def schedule_a53(ops, slack=0):
    """List scheduling for a Cortex-A53: two instructions a cycle, of which one
    loads or stores; a vector operation is the first of its pair, and fills the
    NEON unit. Gives the order and the cycles."""
    after, need, rank = _graph(ops, _edges(ops, latency_a53), [0] * len(ops))
    waiting = {n for n in range(len(ops)) if not need[n]}
    ready = [0] * len(ops)
    cycle, out, busy = 0, [], 0
    while waiting:
        used = []
        while len(used) < 2:
            best = None
            for n in waiting:
                kind = ops[n].kind
                if ready[n] > cycle:
                    continue
                if kind == 'vector' and (used or busy > cycle):
                    continue
                if kind == 'half' and (busy > cycle or 'vector' in used):
                    continue
                if kind == 'memory' and kind in used:
                    continue
                key = (kind in ('vector', 'half')), rank[n] - slack * n, -n
                if best is None or key > best[0]:
                    best = key, n
            if best is None:
                break
            n = best[1]
            waiting.remove(n)
            used.append(ops[n].kind)
            out.append(ops[n])
            if ops[n].text.startswith('vtrn'):
                busy = cycle + 2
            for a, latency in after[n]:
                ready[a] = max(ready[a], cycle + latency)
                need[a] -= 1
                if not need[a]:
                    waiting.add(a)
        cycle += 1
    return out, cycle


def best_schedule_a53(ops):
    tries = [schedule_a53(ops, slack)
             for slack in (0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2)]
    return min(tries, key=lambda t: t[1])
