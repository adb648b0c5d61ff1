//! Section 6.13: persistent collectives. Described once, started with MPI_Start; hints about them are not used.

use std::rc::Rc;
use std::sync::Arc;

use engine::Rank;

use super::{deliver, exchange, reductions, root};
use crate::call::Call;
use crate::convert::{Buf, Numbers, Out, RankArg};
use crate::errors::Outcome;
use crate::r#gen::types::*;
use crate::handles::{Comm, Info, Op, Type};

pub(crate) fn mpi_barrier_init(
    call: &Call,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = call.state.rank().barrier_init(&comm.comm)?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_bcast_init(
    call: &Call,
    buffer: Buf,
    count: i64,
    datatype: &Rc<Type>,
    root: RankArg,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = root::bcast(call, buffer, count, datatype, root, comm, Rank::bcast_init)?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_gather_init(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: Option<Rc<Type>>,
    root: RankArg,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = root::gather(
        call,
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcount,
        recvtype,
        root,
        comm,
        Rank::gather_init,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_gatherv_init(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcounts: Numbers,
    displs: Numbers,
    recvtype: Option<Rc<Type>>,
    root: RankArg,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = root::gatherv(
        call,
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcounts,
        displs,
        recvtype,
        root,
        comm,
        Rank::gatherv_init,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_scatter_init(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: Option<Rc<Type>>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    root: RankArg,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = root::scatter(
        call,
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcount,
        recvtype,
        root,
        comm,
        Rank::scatter_init,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_scatterv_init(
    call: &Call,
    sendbuf: Buf,
    sendcounts: Numbers,
    displs: Numbers,
    sendtype: Option<Rc<Type>>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    root: RankArg,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = root::scatterv(
        call,
        sendbuf,
        sendcounts,
        displs,
        sendtype,
        recvbuf,
        recvcount,
        recvtype,
        root,
        comm,
        Rank::scatterv_init,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_allgather_init(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = exchange::allgather(
        call,
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcount,
        recvtype,
        comm,
        Rank::allgather_init,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_alltoall_init(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcount: i64,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = exchange::alltoall(
        call,
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcount,
        recvtype,
        comm,
        Rank::alltoall_init,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_allgatherv_init(
    call: &Call,
    sendbuf: Buf,
    sendcount: i64,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcounts: Numbers,
    displs: Numbers,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = exchange::allgatherv(
        call,
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcounts,
        displs,
        recvtype,
        comm,
        Rank::allgatherv_init,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_alltoallv_init(
    call: &Call,
    sendbuf: Buf,
    sendcounts: Numbers,
    sdispls: Numbers,
    sendtype: &Rc<Type>,
    recvbuf: Buf,
    recvcounts: Numbers,
    rdispls: Numbers,
    recvtype: &Rc<Type>,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = exchange::alltoallv(
        call,
        sendbuf,
        sendcounts,
        sdispls,
        sendtype,
        recvbuf,
        recvcounts,
        rdispls,
        recvtype,
        comm,
        Rank::alltoallv_init,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_alltoallw_init(
    call: &Call,
    sendbuf: Buf,
    sendcounts: Numbers,
    sdispls: Numbers,
    sendtypes: &[MPI_Datatype],
    recvbuf: Buf,
    recvcounts: Numbers,
    rdispls: Numbers,
    recvtypes: &[MPI_Datatype],
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = exchange::alltoallw(
        call,
        sendbuf,
        sendcounts,
        sdispls,
        sendtypes,
        recvbuf,
        recvcounts,
        rdispls,
        recvtypes,
        comm,
        Rank::alltoallw_init,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_reduce_init(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    root: RankArg,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = reductions::reduce(call, sendbuf, recvbuf, count, datatype, op, root, comm, Rank::reduce_init)?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_allreduce_init(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = reductions::allreduce(call, sendbuf, recvbuf, count, datatype, op, comm, Rank::allreduce_init)?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_scan_init(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = reductions::scan(call, sendbuf, recvbuf, count, datatype, op, comm, Rank::scan_init)?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_exscan_init(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    count: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = reductions::exscan(call, sendbuf, recvbuf, count, datatype, op, comm, Rank::exscan_init)?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_reduce_scatter_block_init(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    recvcount: i64,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = reductions::reduce_scatter_block(
        call,
        sendbuf,
        recvbuf,
        recvcount,
        datatype,
        op,
        comm,
        Rank::reduce_scatter_block_init,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}

pub(crate) fn mpi_reduce_scatter_init(
    call: &Call,
    sendbuf: Buf,
    recvbuf: Buf,
    recvcounts: Numbers,
    datatype: &Rc<Type>,
    op: &Op,
    comm: &Rc<Comm>,
    _info: Option<Arc<Info>>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = reductions::reduce_scatter(
        call,
        sendbuf,
        recvbuf,
        recvcounts,
        datatype,
        op,
        comm,
        Rank::reduce_scatter_init,
    )?;
    deliver(call, comm, id, request);
    Ok(())
}
