"""The sum of a NumPy array over all ranks, in place in memory: no pickling."""

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
mine = numpy.arange(1000, dtype=float) + world.rank
total = numpy.empty_like(mine)
world.Allreduce(mine, total, op=MPI.SUM)

expected = world.size * numpy.arange(1000) + world.size * (world.size - 1) / 2
assert numpy.array_equal(total, expected), "the sum is wrong"
if world.rank == 0:
    print(f"sum over {world.size} ranks: first {total[0]:g}, last {total[-1]:g}")
