"""A list scheduler with register allocation, for the generators of assembly.

A Block is a straight line of instructions that is given in any order which is
right. order() puts them so that an in-order core waits as little as possible:
cycle by cycle it takes the ready instruction from which the longest chain of
results hangs, as far as the issue slots, the units and the registers allow.
Registers get their numbers then too, so that the given order costs nothing.

What a core can do is a table of kinds of instructions (see CORTEX_A53).
"""
import sys


class Kind:
    """How one kind of instruction goes through a core: cycles until its result
    can be used, issue slots, whether only the first slot of a cycle takes it,
    {unit: cycles that it is busy}, and cycles more until an address may use
    the result."""

    def __init__(self, latency, slots=1, first=False, units=None, address=0):
        self.latency, self.slots, self.first = latency, slots, first
        self.units, self.address = units or {}, address


class Core:
    def __init__(self, width, kinds):
        self.width, self.kinds = width, kinds
        # What needs the unit of a kind that only fits the first slot of a cycle
        # goes before all that can have the other slots.
        scarce = {u for k in kinds.values() if k.first for u in k.units}
        for k in kinds.values():
            k.early = not scarce.isdisjoint(k.units)


# Two instructions a cycle. A NEON operation on 128 bits fills the NEON unit and
# must be the first of its pair; a load of 128 bits is issued alone, one of 64
# bits and every store pair with anything. Values are those of published
# pipeline descriptions.
CORTEX_A53 = Core(2, {
    'neon': Kind(2, first=True, units={'neon': 1}),
    'neon_multiply': Kind(4, first=True, units={'neon': 1}),
    'to_neon': Kind(4, units={'neon': 1}),
    'alu': Kind(1, address=2),
    'shift': Kind(1, address=1),
    'alu_shift': Kind(2, address=2),
    'multiply': Kind(6, units={'multiply': 4}),
    'load': Kind(3, units={'memory': 1}),
    'load16': Kind(4, slots=2, units={'memory': 2}),
    'load64': Kind(10, slots=2, units={'memory': 8}),
    'store': Kind(1, units={'memory': 1}),
    'store16': Kind(1, units={'memory': 2}),
    'branch': Kind(1),
})


class Value:
    """What a register holds. A fixed one has its number from the start and is
    live before and after the block; the others get one while they live."""

    def __init__(self, bank, number=None):
        self.bank, self.number = bank, number
        self.fixed = number is not None


class Op:
    def __init__(self, index, kind, text, roles, values, reserve, boost):
        self.index, self.kind, self.text = index, kind, text
        self.roles, self.values = roles, values
        self.reserve, self.boost = reserve, boost
        self.before = []  # (op, latency): those that must come earlier
        self.after = []   # the other way round
        self.need = self.rank = 0


class Block:
    """pools: the free registers of each bank, {bank: [numbers]}."""

    def __init__(self, core, pools):
        self.core = core
        self.pools = {bank: list(numbers) for bank, numbers in pools.items()}
        self.ops = []
        self.writer, self.readers, self.left = {}, {}, {}
        self.wrote_back = {}
        self.cycles = 0

    def op(self, kind, text, roles='', *values, reserve=0, boost=0, after=()):
        """Add an instruction. `text` has one {} for each of `values`, and
        `roles` one letter: w written, r read, m both, s data of a store (read
        one cycle later), a address, u address that is updated. At least
        `reserve` registers must be free after it: for loads that can wait.
        `boost` is added to its rank, as the rank of a store, from which no
        result comes, is low though it makes registers free. It stays behind
        the instructions in `after`."""
        assert len(roles) == len(values), (text, roles)
        op = Op(len(self.ops), kind, text, roles, values, reserve, boost)
        op.before = [(b, 1) for b in after]
        table = self.core.kinds
        for role, value in zip(roles, values):
            self.left[value] = self.left.get(value, 0) + 1
            writer = self.writer.get(value)
            if role in 'rmsau' and writer:
                k = table[writer.kind]
                latency = k.latency
                if self.wrote_back.get(value) is writer:
                    latency = 1
                elif role in 'au':
                    latency += k.address
                elif role == 's':
                    latency = max(latency - 1, 0)
                op.before.append((writer, latency))
        for role, value in zip(roles, values):
            if role in 'wmu':
                for reader in self.readers.get(value, []):
                    op.before.append((reader, 0))
                if self.writer.get(value):
                    op.before.append((self.writer[value], 0))
                self.writer[value], self.readers[value] = op, []
                if role == 'u':
                    self.wrote_back[value] = op
                else:
                    self.wrote_back.pop(value, None)
        for role, value in zip(roles, values):
            if role in 'rsa':
                self.readers.setdefault(value, []).append(op)
        op.before = [(b, n) for b, n in op.before if b is not op]
        self.ops.append(op)
        return op

    def _ranks(self):
        """The longest chain from each instruction to the end."""
        for op in self.ops:
            op.need = 0
            op.after = []
        for op in self.ops:
            for b, latency in op.before:
                b.after.append((op, latency))
                op.need += 1
        for op in reversed(self.ops):
            op.rank = max([self.core.kinds[op.kind].latency] +
                          [n + latency for n, latency in
                           ((a.rank, latency) for a, latency in op.after)])

    def _fits(self, op, free, left):
        """Are there registers for what it writes, after those it is the last
        to read are free?"""
        wanted, gone = {}, {}
        for value in set(op.values):
            if value.fixed:
                continue
            if value.number is None:
                wanted[value.bank] = wanted.get(value.bank, 0) + 1
            elif left[value] == op.values.count(value):
                gone[value.bank] = gone.get(value.bank, 0) + 1
        return all(n + op.reserve <= len(free[bank]) + gone.get(bank, 0)
                   for bank, n in wanted.items())

    def _allocate(self, op, free, left):
        new = [v for v in dict.fromkeys(op.values) if v.number is None]
        for value in dict.fromkeys(op.values):
            left[value] -= op.values.count(value)
        for value in dict.fromkeys(op.values):
            if not left[value] and not value.fixed and value not in new:
                free[value.bank].append(value.number)
        for value in new:
            value.number = free[value.bank].pop(0)
        line = op.text.format(*(v.number for v in op.values))
        for value in new:
            if not left[value]:
                free[value.bank].append(value.number)
        return line

    def order(self):
        """The lines of the block in their new order."""
        self._ranks()
        kinds, width = self.core.kinds, self.core.width
        free = {bank: list(n) for bank, n in self.pools.items()}
        left = dict(self.left)
        ready_at = {}
        busy = {}
        waiting = [op for op in self.ops if not op.need]
        lines, cycle, idle = [], 0, 0
        for op in waiting:
            ready_at[op] = 0
        while waiting:
            used = 0
            while used < width:
                best = None
                for op in waiting:
                    k = kinds[op.kind]
                    if (ready_at[op] > cycle or used + k.slots > width or
                            k.first and used or
                            any(busy.get(u, 0) > cycle for u in k.units)):
                        continue
                    key = (k.early, op.rank + op.boost, -op.index)
                    if best is not None and key <= best[0]:
                        continue
                    if self._fits(op, free, left):
                        best = key, op
                if best is None:
                    break
                op = best[1]
                k = kinds[op.kind]
                waiting.remove(op)
                op.cycle = cycle
                lines.append(self._allocate(op, free, left))
                used += k.slots
                for unit, n in k.units.items():
                    busy[unit] = cycle + n
                for a, latency in op.after:
                    ready_at[a] = max(ready_at.get(a, 0), cycle + latency)
                    a.need -= 1
                    if not a.need:
                        waiting.append(a)
            idle = 0 if used else idle + 1
            if idle > 100:
                sys.exit('schedule: too few registers for\n' + '\n'.join(
                    op.text for op in waiting))
            cycle += 1
        self.cycles = cycle
        return lines
