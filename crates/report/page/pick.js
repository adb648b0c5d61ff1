// What is at a point of the timeline: the stretch, the call, its messages, and why a rank waited.

/** Indices of messages by rank: those it sent, by start; those it received, by arrival. */
const sentBy = [], receivedBy = [];
for (let rank = 0; rank < data.ranks; rank++) { sentBy.push([]); receivedBy.push([]); }
for (let index = 0; index < arrays.messageFrom.length; index++) {
  if (arrays.messageSent[index] !== NONE) sentBy[arrays.messageFrom[index]].push(index);
  if (arrays.messageArrived[index] !== NONE) receivedBy[arrays.messageTo[index]].push(index);
}
for (const list of receivedBy) list.sort((a, b) => arrays.messageArrived[a] - arrays.messageArrived[b]);

/** Those of a sorted list of messages whose time lies in begin..end. */
function within(list, times, begin, end) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[list[middle]] < begin) low = middle + 1; else high = middle;
  }
  const found = [];
  for (; low < list.length && times[list[low]] <= end; low++) found.push(list[low]);
  return found;
}

/** The stretch of a rank at a time: its state, begin and end. */
function segmentAt(rank, time) {
  const { segmentOffset, segmentBegin, segmentState, rankEnd } = arrays;
  const [first, last] = [segmentOffset[rank], segmentOffset[rank + 1]];
  const index = after(segmentBegin, time, first, last) - 1;
  if (index < first || time > rankEnd[rank]) return null;
  const end = index + 1 < last ? segmentBegin[index + 1] : rankEnd[rank];
  return { rank, state: segmentState[index], begin: segmentBegin[index], end };
}

/** The innermost call of a rank at a time: an index, or -1. */
function callAt(rank, time) {
  const { callOffset, callBegin, callEnd, callDepth } = arrays;
  const first = callOffset[rank];
  for (let index = after(callBegin, time, first, callOffset[rank + 1]) - 1; index >= first; index--) {
    if (callEnd[index] >= time) return index;
    if (callDepth[index] === 0) break;
  }
  return -1;
}

/** The call of a rank that comes next (+1) or before (-1) a time, of those that the filter lets through. */
function neighbourCall(rank, time, direction) {
  const { callOffset, callBegin } = arrays;
  const [first, last] = [callOffset[rank], callOffset[rank + 1]];
  let index = direction > 0 ? after(callBegin, time, first, last) : after(callBegin, time - 1, first, last) - 1;
  while (index >= first && index < last && !callMatches(index)) index += direction;
  return index >= first && index < last ? index : -1;
}

/** The round of a collective that a rank began last within begin..time: an index, or -1. */
function phaseAt(rank, begin, time) {
  const { phaseOffset, phaseTime } = arrays;
  const index = after(phaseTime, time, phaseOffset[rank], phaseOffset[rank + 1]) - 1;
  return index >= phaseOffset[rank] && phaseTime[index] >= begin ? index : -1;
}

/** All messages of a call: sent in it, or arrived in it. */
function messagesOfCall(rank, call) {
  const [begin, end] = [arrays.callBegin[call], arrays.callEnd[call]];
  return {
    sent: within(sentBy[rank], arrays.messageSent, begin, end),
    received: within(receivedBy[rank], arrays.messageArrived, begin, end),
  };
}

function messageText(index) {
  const { messageFrom, messageTo, messageTag, messageBytes, messageProtocol, messageSent, messageArrived } = arrays;
  const took = messageSent[index] !== NONE && messageArrived[index] !== NONE
    ? `, ${unitsText(Math.max(0, messageArrived[index] - messageSent[index]))} from send to arrival` : "";
  return `rank ${messageFrom[index]} → rank ${messageTo[index]}, tag ${messageTag[index] | 0}, ${bytesText(messageBytes[index])}, ` +
    `${data.protocols[messageProtocol[index]]}${took}`;
}

/** Why a rank waited at a time, if known. */
function waitText(rank, begin) {
  const { waitOffset, waitBegin, waitMessage, waitAsSender, messageFrom, messageTo, messageSent, messagePosted } = arrays;
  const index = after(waitBegin, begin, waitOffset[rank], waitOffset[rank + 1]) - 1;
  if (index < waitOffset[rank]) return "";
  if (arrays.waitHeld[index] !== NONE) return `for rank ${arrays.waitHeld[index]}, ${HOW[arrays.waitHow[index]]}`;
  if (arrays.waitLast[index] !== NONE) return `for rank ${arrays.waitLast[index]}, which came last`;
  if (waitMessage[index] === NONE) return "";
  const message = waitMessage[index];
  if (waitAsSender[index]) {
    const late = messagePosted[message] !== NONE && messagePosted[message] > waitBegin[index];
    return `for rank ${messageTo[message]}${late ? ", which was late to receive" : ""}`;
  }
  const late = messageSent[message] !== NONE && messageSent[message] > waitBegin[index];
  return `for rank ${messageFrom[message]}${late ? ", which sent late" : data.crowded ? ", whose message was on its way, or for a core" : ", whose message was on its way"}`;
}

/** Lines that describe what is at a point: the first is its title. */
function describe(rank, time) {
  const segment = segmentAt(rank, time);
  if (!segment) return [`Rank ${rank}: nothing recorded here`];
  const length = unitsText(segment.end - segment.begin);
  const why = segment.state === WAIT ? ` ${waitText(rank, time)}` : "";
  const lines = [`Rank ${rank}, ${unitsText(time)}: ${STATES[segment.state]} ${length}${why}`];
  for (const region of regionsAt(rank, time)) lines.push(regionText(region));
  for (const epoch of epochsAt(rank, time)) lines.push(epochText(epoch));
  const call = callAt(rank, time);
  if (call < 0) return lines;
  const site = arrays.callSite[call] ? ` at ${data.names[arrays.callSite[call]]}` : "";
  lines.push(`${data.names[arrays.callFunction[call]]}${site}, ${unitsText(arrays.callEnd[call] - arrays.callBegin[call])}`);
  const phase = phaseAt(rank, arrays.callBegin[call], time);
  if (phase >= 0) lines.push(`${data.names[arrays.phaseName[phase]]}, round ${arrays.phaseRound[phase]}`);
  const { sent, received } = messagesOfCall(rank, call);
  for (const [what, list] of [["sent", sent], ["received", received]]) {
    for (const message of list.slice(0, 3)) lines.push(`${what}: ${messageText(message)}`);
    if (list.length > 3) lines.push(`and ${countText(list.length - 3)} more ${what}`);
  }
  for (const access of accessesOfCall(rank, call).slice(0, 3)) lines.push(accessText(access));
  return lines;
}

/** Shows lines in an element. */
function showLines(target, lines) {
  target.replaceChildren(...lines.map((line, index) => {
    const paragraph = element("p");
    paragraph.append(index === 0 ? element("b", line) : line);
    return paragraph;
  }));
}
