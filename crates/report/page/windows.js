// Windows on the timeline: epochs as bars under a rank's line, one-sided operations as dashed arrows, and who held up whom.

const HOW = ["", "which had the lock", "which was late to post", "which was late to complete", "which came last to the fence"];
/** Colours of epochs by kind. */
const epochColour = (kind) => colours[["soft", "p1", "p2", "p3", "p4", "p5", "p6"][kind] ?? "soft"];
const isGet = (kind) => data.accessKinds[kind] === "get";

/** Indices of operations by origin, by begin. */
const accessesBy = [];
for (let rank = 0; rank < data.ranks; rank++) accessesBy.push([]);
for (let index = 0; index < arrays.accessFrom.length; index++) accessesBy[arrays.accessFrom[index]]?.push(index);

/** Epochs of a rank at a time: indices. */
function epochsAt(rank, time) {
  const { epochOffset, epochBegin, epochEnd } = arrays;
  const found = [];
  const last = after(epochBegin, time, epochOffset[rank], epochOffset[rank + 1]) - 1;
  // One that began very long ago may be left out: this is asked for with every move of the pointer.
  for (let index = last; index >= Math.max(epochOffset[rank], last - 1000) && found.length < 4; index--) {
    if (epochEnd[index] >= time) found.push(index);
  }
  return found;
}

function epochText(index) {
  const peer = arrays.epochPeer[index];
  const whom = peer === NONE ? "" : ` with rank ${peer}`;
  return `epoch: ${data.epochKinds[arrays.epochKind[index]]}${whom}, ${unitsText(arrays.epochEnd[index] - arrays.epochBegin[index])}`;
}

function accessText(index) {
  const { accessFrom, accessTo, accessBytes, accessKind } = arrays;
  return `${data.accessKinds[accessKind[index]]}: rank ${accessFrom[index]} at rank ${accessTo[index]}, ${bytesText(accessBytes[index])}`;
}

/** Operations of a call. */
const accessesOfCall = (rank, call) => within(accessesBy[rank], arrays.accessBegin, arrays.callBegin[call], arrays.callEnd[call]);

/** A bar under the line of its rank for each epoch in view. */
function paintEpochs(context, view, width, rows) {
  if (view.rowHeight < 10 || arrays.epochBegin.length === 0) return;
  const { epochOffset, epochBegin, epochEnd, epochKind } = arrays;
  const scale = (width - GUTTER) / (view.end - view.begin);
  const thick = Math.max(3, Math.min(7, view.rowHeight / 4));
  for (let row = 0; row < rows; row++) {
    const rank = rankOf(view, row);
    for (let index = epochOffset[rank]; index < epochOffset[rank + 1]; index++) {
      if (epochBegin[index] > view.end) break;
      if (epochEnd[index] < view.begin) continue;
      const left = Math.max(GUTTER, GUTTER + (epochBegin[index] - view.begin) * scale);
      const right = Math.min(width, GUTTER + (epochEnd[index] - view.begin) * scale);
      const top = (row + 1) * view.rowHeight - thick - 2, length = Math.max(1, right - left);
      // Apart from what the rank does meanwhile, whatever its colour is.
      context.fillStyle = colours.card;
      context.fillRect(left - 1, top - 1, length + 2, thick + 2);
      context.fillStyle = epochColour(epochKind[index]);
      context.fillRect(left, top, length, thick);
    }
  }
}

/** Dashed arrows of these operations, as their data goes: from the origin, or to it. */
function paintAccesses(context, view, width, rows, accesses, strong) {
  const { accessFrom, accessTo, accessBegin, accessEnd, accessKind } = arrays;
  const scale = (width - GUTTER) / (view.end - view.begin);
  context.save();
  context.beginPath();
  context.rect(GUTTER, 0, width - GUTTER, rows * view.rowHeight);
  context.clip();
  context.strokeStyle = context.fillStyle = strong ? colours.arrow : colours.p5;
  context.globalAlpha = strong ? 1 : 0.75;
  context.lineWidth = strong ? 2 : 1;
  const lines = new Path2D(), heads = new Path2D(), size = strong ? 8 : 5;
  const x = (time) => GUTTER + (time - view.begin) * scale, y = (rank) => middleOf(view, rank);
  for (const access of accesses) {
    if (!isShown(accessFrom[access]) || !isShown(accessTo[access])) continue;
    const ends = [[x(accessBegin[access]), y(accessFrom[access])], [x(accessEnd[access]), y(accessTo[access])]];
    const [[x1, y1], [x2, y2]] = isGet(accessKind[access]) ? ends.reverse() : ends;
    lines.moveTo(x1, y1);
    lines.lineTo(x2, y2);
    const angle = Math.atan2(y2 - y1, x2 - x1);
    heads.moveTo(x2, y2);
    for (const turn of [-0.4, 0.4]) heads.lineTo(x2 - size * Math.cos(angle + turn), y2 - size * Math.sin(angle + turn));
  }
  context.setLineDash([4, 3]);
  context.stroke(lines);
  context.fill(heads);
  context.restore();
}

/** Operations that touch the view; of too many, every so manyth. */
function accessesInView(view, rows) {
  const { accessBegin, accessEnd, accessFrom, accessTo } = arrays;
  const found = [];
  const visible = (rank) => isInView(view, rows, rank);
  for (let index = 0; index < accessBegin.length; index++) {
    if (accessBegin[index] > view.end) break;
    if (!isShown(accessFrom[index]) || !isShown(accessTo[index])) continue;
    if (accessEnd[index] >= view.begin && (visible(accessFrom[index]) || visible(accessTo[index]))) found.push(index);
  }
  const every = Math.ceil(found.length / ARROWS_MAX);
  return { all: found.length, drawn: every > 1 ? found.filter((_, index) => index % every === 0) : found };
}
