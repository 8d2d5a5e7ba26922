"""gdb commands for the CPU backend, with cuda-gdb's names: `cuda block 1 thread 37`, `info cuda threads`."""
import itertools
import re

import gdb

WORKER = "cuda_emu::current_worker"
USAGE = "usage: cuda [block X|(X,Y,Z)] [thread X|(X,Y,Z)]"


def number(expression):
    return int(gdb.parse_and_eval(expression))


def index(name):
    value = gdb.parse_and_eval(name)
    return tuple(int(value[axis]) for axis in "xyz")


def shown(values):
    return "({},{},{})".format(*values)


def require_kernel():
    try:
        inside = number(WORKER) != 0
    except gdb.error:
        inside = False
    if not inside:
        raise gdb.GdbError("no kernel is running: stop in one first, as with 'break NAME_OF_KERNEL' and 'run'")


def parse(words):
    """Returns the block and the thread that the words name; None for one that is not named."""
    text = words.strip()
    named = {"block": None, "thread": None}
    while text:
        match = re.match(r"(block|thread)\b\s*(?:\(?\s*(\d+(?:\s*,\s*\d+){0,2})\s*\)?)?\s*,?\s*", text)
        if not match:
            raise gdb.GdbError(USAGE)
        if match[2]:
            values = tuple(map(int, match[2].split(",")))
            named[match[1]] = values + (0,) * (3 - len(values))
        text = text[match.end():]
    return named["block"], named["thread"]


def condition(block, thread, of):
    return " && ".join(f"{name}.{axis} == {value}" for name, values in (("blockIdx", block), (of, thread))
                       for axis, value in zip("xyz", values))


tables = {}  # line tables of the .cu files that were seen on the stack


def kernel_lines():
    """Returns the addresses where lines of these files begin, without prologues and the lambdas of launches."""
    frame = gdb.newest_frame()
    while frame:
        symtab = frame.find_sal().symtab
        if symtab and re.search(r"\.cuh?$", symtab.filename):
            tables[symtab.filename] = symtab
        frame = frame.older()
    found = set()
    for symtab in tables.values():
        for entry in symtab.linetable():
            block = gdb.block_for_pc(entry.pc)
            while block and not block.function:
                block = block.superblock
            if entry.line > 0 and block and entry.pc != block.start and "operator()" not in block.function.name:
                found.add(entry.pc)
    return sorted(found)


class Quietly:
    """Sets internal breakpoints and disables the user's while it is entered."""

    def __enter__(self):
        self.disabled = [one for one in gdb.breakpoints() if one.enabled and one.is_valid()]
        for one in self.disabled:
            one.enabled = False
        self.own = []
        return self

    def stop_at(self, place, condition=None):
        one = gdb.Breakpoint(place, internal=True)
        one.silent = True
        one.condition = condition
        self.own.append(one)

    def go(self):
        """Runs to one of the breakpoints. Returns False if the program ended or stopped for another reason."""
        hits = [one.hit_count for one in self.own]
        gdb.execute("continue", to_string=True)
        alive = gdb.selected_inferior().pid != 0
        return alive and [one.hit_count for one in self.own] != hits

    def __exit__(self, *_):
        for one in self.own:
            one.delete()
        for one in self.disabled:
            if one.is_valid():
                one.enabled = True


class Cuda(gdb.Command):
    """Switch to another CUDA thread: cuda block 1 thread 37, cuda thread 37, cuda block (1,0,0) thread (5,2,0).

Runs the program until that thread starts or continues, and stops at its next line in a .cu file. Threads run one at a
time here, each until it waits at a barrier or in a warp collective. A thread that has ended, or one of an earlier
block, runs again only in a later launch. Other breakpoints do not stop the program on the way.
The default block is the current one, the default thread is thread 0. Without arguments, prints the current thread."""

    def __init__(self):
        super().__init__("cuda", gdb.COMMAND_RUNNING)

    def invoke(self, words, from_tty):
        block, thread = parse(words)
        require_kernel()
        here = index("blockIdx"), index("threadIdx")
        if block is None and thread is None:
            print(f"block {shown(here[0])}, thread {shown(here[1])}")
            return
        wanted = block or here[0], thread or (0, 0, 0)
        self.check(*wanted)
        if wanted != here and not self.go(*wanted):
            return
        print(f"[Switching to block {shown(wanted[0])}, thread {shown(wanted[1])}]")
        gdb.execute("frame")

    def check(self, block, thread):
        for name, values, limits in (("block", block, index("gridDim")), ("thread", thread, index("blockDim"))):
            if any(value >= limit for value, limit in zip(values, limits)):
                raise gdb.GdbError(f"there is no {name} {shown(values)}: this launch has {shown(limits)}")

    def go(self, block, thread):
        launch = number(f"{WORKER}->launches_")
        lines = kernel_lines()
        with Quietly() as stops:
            stops.stop_at("cuda_emu::Worker::enter_thread", condition(block, thread, "this->threads_[thread].index"))
            if not stops.go():
                self.not_found(block, thread)
                return False
        with Quietly() as stops:
            for pc in lines:
                stops.stop_at(f"*{pc:#x}")
            if not stops.go():
                self.not_found(block, thread)
                return False
        later = number(f"{WORKER}->launches_") - launch
        if later:
            print(f"That thread had ended: this is {later} launch{'es' * (later > 1)} later.")
        return True

    def not_found(self, block, thread):
        print(f"Block {shown(block)}, thread {shown(thread)} did not run again.")


class InfoCuda(gdb.Command):
    """CUDA threads: info cuda threads."""

    def __init__(self):
        super().__init__("info cuda", gdb.COMMAND_STATUS, prefix=True)


class InfoCudaThreads(gdb.Command):
    """The threads of the block that is running: which are where."""

    def __init__(self):
        super().__init__("info cuda threads", gdb.COMMAND_STATUS)

    def invoke(self, words, from_tty):
        require_kernel()
        worker = gdb.parse_and_eval(WORKER).dereference()
        count, current = int(worker["thread_count_"]), int(worker["current_"])
        started = {int(worker["start_order_"][i]) for i in range(int(worker["started_"]))}
        states = [self.state(worker["threads_"][i], i == current, i in started) for i in range(count)]
        print(f"block {shown(index('blockIdx'))}, {count} threads")
        for state, group in itertools.groupby(range(count), states.__getitem__):
            group = list(group)
            ends = [shown([int(worker["threads_"][i]["index"][axis]) for axis in "xyz"]) for i in (group[0], group[-1])]
            print(f"{'*' if current in group else ' '} {' to '.join(dict.fromkeys(ends)):20}  {len(group):4}  {state}")

    @staticmethod
    def state(thread, is_current, has_started):
        if is_current:
            return "running"
        name = str(thread["state"]).rpartition("::")[2]
        if not has_started:
            return "not started"
        if name.startswith("at_"):
            where = thread["where"].dereference()
            place = f"{where['file'].string().rpartition('/')[2]}:{int(where['line'])}"
            return f"waits in {where['what'].string()} at {place}"
        return name


Cuda()
InfoCuda()
InfoCudaThreads()
