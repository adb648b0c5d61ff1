//! Packets out of the memory outside the chip and into it.

use super::Machine;
use crate::Time;
use crate::chip::Ddr;
use crate::ddr::Span;
use crate::flow::Cut;
use crate::server::Server;

impl Machine {
    /// Takes a packet of a transfer out of DDR. When it is there.
    pub(super) fn read_ddr(&mut self, io: u16, flow: u32, cut: Cut) -> Time {
        let ddr = self.ddr(io, cut);
        let Some(rows) = ddr.rows else {
            return self.serve_piece(io, ddr, cut, ddr.read_per_byte.of(cut.payload.into()));
        };
        let state = self.flows.at(flow);
        let rest = state.fetched.rest();
        state.way.packet(cut.payload, cut.begins_row);
        while let Some(span) = self.flows.at(flow).way.unread(&rows, rest) {
            self.access(io, flow, span, false);
        }
        let now = self.now;
        self.flows.at(flow).way.come(&rows, ddr.read_per_byte, now, cut.payload)
    }

    /// Brings a packet of a transfer to DDR. When it is there: at once, if it waits for others of its row.
    pub(super) fn write_ddr(&mut self, io: u16, flow: u32, cut: Cut) -> Time {
        let ddr = self.ddr(io, cut);
        let Some(rows) = ddr.rows else {
            return self.serve_piece(io, ddr, cut, ddr.write_per_byte.of(cut.payload.into()));
        };
        let state = self.flows.at(flow);
        let ends_piece = state.deposited.rest() == 0;
        state.way.packet(cut.payload, cut.begins_row);
        let mut end = self.now;
        while let Some(span) = self.flows.at(flow).way.unwritten(&rows, ends_piece) {
            end = self.access(io, flow, span, true);
        }
        end
    }

    /// An access of a transfer, when the controller has done all before it. When it is over.
    fn access(&mut self, io: u16, flow: u32, span: Span, writes: bool) -> Time {
        let Ddr { rows, read_per_byte, write_per_byte, .. } =
            self.ends[self.io_place(io).0 as usize].ddr.expect("it is accessed");
        let rows = rows.expect("it has rows");
        let per_byte = if writes { write_per_byte } else { read_per_byte };
        let hidden = self.flows.at(flow).way.hidden();
        let access = self.banks[usize::from(io)].access(&rows, per_byte, span, writes, hidden);
        let end = self.servers.serve(Server::Ddr(io), self.now, access.lost + access.bursts).end;
        self.flows.at(flow).way.served(span, end - access.bursts, access.bursts);
        end
    }

    fn serve_piece(&mut self, io: u16, ddr: Ddr, cut: Cut, moving: Time) -> Time {
        let begin = if cut.begins_row { ddr.piece } else { 0 };
        self.servers.serve(Server::Ddr(io), self.now, begin + moving).end
    }

    fn ddr(&mut self, io: u16, cut: Cut) -> Ddr {
        self.meter.ddr(self.now, cut.payload.into());
        self.ends[self.io_place(io).0 as usize].ddr.expect("checked when the transfer was injected")
    }
}
