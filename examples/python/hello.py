"""Every rank says who it is."""

from mpi4py import MPI

world = MPI.COMM_WORLD
print(f"hello from rank {world.rank} of {world.size}", flush=True)
