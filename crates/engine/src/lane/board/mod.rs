//! Collectives on a board: members who share memory lay down there what the others read, without a message.
//!
//! Short data are copied to the board and from there (`short`); long ones are read where they lie, each member copying or combining its part (`long`),
//! or pass through a hall where members share cores (`hall`). In prefix reductions each waits for those before it alone (`scan`). A communicator's members
//! agree on having a board or not in one of their first calls (`make`); what a board does not serve goes by messages, as everything does where none is.

mod at_once;
mod call;
mod hall;
mod long;
mod make;
mod pair;
mod phases;
mod scan;
mod short;
mod slots;
mod turn;
mod under_way;
