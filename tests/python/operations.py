"""What programs in Python use most, each checked against what plain Python computes."""

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
after, before = (rank + 1) % size, (rank - 1) % size
everyone = list(range(size))

# Objects, pickled.
received = world.sendrecv({"from": rank, "list": list(range(rank))}, dest=after, source=before)
assert received == {"from": before, "list": list(range(before))}
request = world.irecv(source=before)
world.send(("a tuple", rank), dest=after)
assert request.wait() == ("a tuple", before)
told = world.bcast({"numbers": [1, 2, 3], "text": "x" * 100_000} if rank == 0 else None)
assert told["numbers"] == [1, 2, 3] and len(told["text"]) == 100_000
assert world.allgather((rank, "x")) == [(r, "x") for r in everyone]
assert world.alltoall([rank * 10 + r for r in everyone]) == [r * 10 + rank for r in everyone]
assert world.reduce([rank], op=MPI.SUM) == (everyone if rank == 0 else None)
assert world.scatter([r * r for r in everyone] if rank == 0 else None) == rank * rank
assert world.scan(rank) == sum(range(rank + 1))

# Arrays, from where they are.
rows = numpy.empty((size, 3)) if rank == 0 else None
world.Gather(numpy.full(3, float(rank)), rows)
assert rank > 0 or (rows == numpy.arange(size)[:, None]).all()
out = numpy.arange(100_000, dtype="i") + rank
into = numpy.empty_like(out)
world.Sendrecv(out, after, 0, into, before, 0)
assert (into - before == numpy.arange(100_000)).all()
largest = numpy.empty(1, dtype="l")
world.Allreduce(numpy.array([rank], dtype="l"), largest, op=MPI.MAX)
assert largest[0] == size - 1
status = MPI.Status()
zeros = numpy.zeros(7)
sent = world.Isend(zeros, dest=after, tag=5)
world.Probe(before, 5, status)
assert status.Get_count(MPI.DOUBLE) == 7 and status.Get_source() == before
world.Recv(numpy.empty(7), before, 5)
sent.Wait()

# Communicators.
half = world.Split(rank % 2, -rank)
members = [r for r in everyone if r % 2 == rank % 2]
assert half.size == len(members) and half.allgather(rank) == members[::-1]
half.Free()
copy = world.Dup()
copy.Set_name("a copy")
assert copy.name == "a copy" and MPI.Comm.Compare(world, copy) == MPI.CONGRUENT
copy.Free()

# Mistakes are exceptions.
try:
    world.Send(out, dest=size)
    raise SystemExit("a send to a rank that does not exist was accepted")
except MPI.Exception as error:
    assert error.Get_error_class() == MPI.ERR_RANK and f"dest is {size}" in str(error), str(error)

world.Barrier()
if rank == 0:
    print("no errors")
