// Painting the timeline. Zoomed out, a level of detail is drawn as one image; zoomed in, the stretches themselves.

const GUTTER = 64;
const AXIS = 24;
/** More stretches in view than this, and a level is drawn instead. */
const STRETCHES_MAX = 40000;
const ARROWS_MAX = 3000;
const LABELS_MAX = 1500;

/** The ranks that are shown, in the order of rows, and the row of each rank (-1: hidden). */
let shownRanks = [...Array(data.ranks).keys()], rowOfRank = [...shownRanks];
const rankOf = (view, row) => shownRanks[view.first + row];
const isShown = (rank) => rowOfRank[rank] >= 0;
const middleOf = (view, rank) => (rowOfRank[rank] - view.first + 0.5) * view.rowHeight;
/** Whether the row of a rank is in view. */
const isInView = (view, rows, rank) => isShown(rank) && rowOfRank[rank] >= view.first && rowOfRank[rank] < view.first + rows;

/** An image a level: a pixel a bin and rank, its colour mixed by the shares of the states. */
const images = [];
function levelImage(level) {
  if (images[level]) return images[level];
  const bins = data.levels[level], shares = arrays[`level${level}`];
  const canvas = document.createElement("canvas");
  canvas.width = bins;
  canvas.height = Math.max(1, data.ranks);
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const [a, b, c] = [rgb(colours.compute), rgb(colours.transfer), rgb(colours.wait)];
  const ground = rgb(colours.track);
  for (let cell = 0; cell < bins * data.ranks; cell++) {
    const [compute, transfer, wait] = [shares[cell * 3], shares[cell * 3 + 1], shares[cell * 3 + 2]];
    const rest = Math.max(0, 255 - compute - transfer - wait);
    for (let part = 0; part < 3; part++) {
      image.data[cell * 4 + part] = (a[part] * compute + b[part] * transfer + c[part] * wait + ground[part] * rest) / 255;
    }
    image.data[cell * 4 + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return images[level] = canvas;
}
themed.push(() => { images.length = 0; });

/** Paints ranks first..first+rows of the times begin..end. */
function paintTracks(context, view, width, rows) {
  const stretches = stretchesInView(view, rows);
  context.fillStyle = colours.track;
  context.fillRect(GUTTER, 0, width - GUTTER, rows * view.rowHeight);
  if (stretches > STRETCHES_MAX) paintLevel(context, view, width, rows); else paintStretches(context, view, width, rows);
  if (view.rowHeight >= 7) {
    context.fillStyle = colours.card;
    for (let row = 0; row <= rows; row++) context.fillRect(GUTTER, row * view.rowHeight - 1, width - GUTTER, view.rowHeight >= 14 ? 2 : 1);
  }
}

function stretchesInView(view, rows) {
  let count = 0;
  for (let row = 0; row < rows; row++) {
    const rank = rankOf(view, row);
    const [first, last] = [arrays.segmentOffset[rank], arrays.segmentOffset[rank + 1]];
    count += after(arrays.segmentBegin, view.end, first, last) - after(arrays.segmentBegin, view.begin, first, last);
  }
  return count;
}

function paintLevel(context, view, width, rows) {
  const share = (view.end - view.begin) / data.duration;
  let level = data.levels.length - 1;
  while (level > 0 && data.levels[level] * share < (width - GUTTER) * 0.8) level--;
  const bins = data.levels[level];
  context.imageSmoothingEnabled = false;
  const image = levelImage(level), from = view.begin / data.duration * bins;
  if (shownRanks.length === data.ranks) {
    context.drawImage(image, from, view.first, share * bins, rows, GUTTER, 0, width - GUTTER, rows * view.rowHeight);
    return;
  }
  for (let row = 0; row < rows; row++) {
    context.drawImage(image, from, rankOf(view, row), share * bins, 1, GUTTER, row * view.rowHeight, width - GUTTER, view.rowHeight);
  }
}

function paintStretches(context, view, width, rows) {
  const { segmentOffset, segmentBegin, segmentState, rankEnd } = arrays;
  const scale = (width - GUTTER) / (view.end - view.begin);
  const boxes = [[], [], []];
  for (let row = 0; row < rows; row++) {
    const rank = rankOf(view, row);
    const last = segmentOffset[rank + 1];
    for (let index = Math.max(segmentOffset[rank], after(segmentBegin, view.begin, segmentOffset[rank], last) - 1); index < last; index++) {
      const begin = segmentBegin[index];
      if (begin > view.end) break;
      const end = index + 1 < last ? segmentBegin[index + 1] : rankEnd[rank];
      const left = Math.max(GUTTER, GUTTER + (begin - view.begin) * scale);
      const right = Math.min(width, GUTTER + (end - view.begin) * scale);
      if (right > left) boxes[segmentState[index]].push(left, row * view.rowHeight, right - left);
    }
  }
  // Colour by colour: changing the colour costs more than a box.
  for (const [state, name] of ["compute", "transfer", "wait"].entries()) {
    context.fillStyle = colours[name];
    const list = boxes[state];
    for (let at = 0; at < list.length; at += 3) context.fillRect(list[at], list[at + 1], list[at + 2], view.rowHeight);
  }
}

/** Names of calls, where there is room for them. */
function paintLabels(context, view, width, rows) {
  if (view.rowHeight < 15) return;
  const { callOffset, callBegin, callEnd, callFunction, callDepth } = arrays;
  const scale = (width - GUTTER) / (view.end - view.begin);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  let painted = 0;
  for (let row = 0; row < rows; row++) {
    const rank = rankOf(view, row);
    const last = callOffset[rank + 1];
    for (let call = Math.max(callOffset[rank], after(callBegin, view.begin, callOffset[rank], last) - 1); call < last; call++) {
      if (callBegin[call] > view.end || painted > LABELS_MAX) break;
      const left = Math.max(GUTTER, GUTTER + (callBegin[call] - view.begin) * scale);
      const right = Math.min(width, GUTTER + (callEnd[call] - view.begin) * scale);
      if (callDepth[call] > 0 || right - left < 28) continue;
      painted++;
      context.save();
      context.beginPath();
      context.rect(left, row * view.rowHeight, right - left - 2, view.rowHeight);
      context.clip();
      context.lineJoin = "round";
      context.lineWidth = 3;
      context.strokeStyle = "rgb(0 0 0 / .45)";
      context.fillStyle = "#fff";
      const name = data.names[callFunction[call]], room = Math.floor((right - left - 8) / 6.2);
      const text = name.length > room ? `${name.replace(/^P?MPIX?_/, "").slice(0, Math.max(1, room - 1))}…` : name;
      context.strokeText(text, left + 5, row * view.rowHeight + view.rowHeight / 2 + 1);
      context.fillText(text, left + 5, row * view.rowHeight + view.rowHeight / 2 + 1);
      context.restore();
    }
  }
}

/** The critical path: a band on the rank that holds it, a line where it crosses. */
function paintPath(context, view, width, rows) {
  const { pathRank, pathBegin, pathEnd } = arrays;
  const scale = (width - GUTTER) / (view.end - view.begin);
  const thick = Math.max(2, Math.min(5, view.rowHeight / 3));
  const y = (rank) => middleOf(view, rank);
  const x = (time) => GUTTER + (time - view.begin) * scale;
  context.save();
  context.beginPath();
  context.rect(GUTTER, 0, width - GUTTER, rows * view.rowHeight);
  context.clip();
  const stays = new Path2D(), crossings = new Path2D();
  for (let piece = Math.max(0, after(pathBegin, view.begin, 0, pathBegin.length) - 2); piece < pathBegin.length; piece++) {
    if (pathBegin[piece] > view.end) break;
    if (!isShown(pathRank[piece])) continue;
    if (piece > 0 && pathRank[piece - 1] !== pathRank[piece] && isShown(pathRank[piece - 1])) {
      crossings.moveTo(x(pathEnd[piece - 1]), y(pathRank[piece - 1]));
      crossings.lineTo(x(pathBegin[piece]), y(pathRank[piece]));
    }
    stays.moveTo(x(pathBegin[piece]), y(pathRank[piece]));
    stays.lineTo(x(pathEnd[piece]), y(pathRank[piece]));
  }
  context.strokeStyle = colours.card;
  context.lineWidth = thick + 2;
  context.stroke(stays);
  context.strokeStyle = colours.path;
  context.lineWidth = thick;
  context.stroke(stays);
  // Thin, so that a path that crosses often hides nothing.
  context.lineWidth = 1;
  context.stroke(crossings);
  context.restore();
}

/** Arrows of these messages from send to arrival. */
function paintArrows(context, view, width, rows, messages, strong) {
  const { messageFrom, messageTo, messageSent, messageArrived } = arrays;
  const scale = (width - GUTTER) / (view.end - view.begin);
  context.save();
  context.beginPath();
  context.rect(GUTTER, 0, width - GUTTER, rows * view.rowHeight);
  context.clip();
  context.strokeStyle = context.fillStyle = strong ? colours.arrow : colours.ink;
  context.globalAlpha = strong ? 1 : 0.65;
  context.lineWidth = strong ? 2 : 1;
  const lines = new Path2D(), heads = new Path2D(), size = strong ? 8 : 5;
  for (const message of messages) {
    if (messageSent[message] === NONE || messageArrived[message] === NONE) continue;
    if (!isShown(messageFrom[message]) || !isShown(messageTo[message])) continue;
    const [x1, x2] = [messageSent[message], messageArrived[message]].map((time) => GUTTER + (time - view.begin) * scale);
    const [y1, y2] = [messageFrom[message], messageTo[message]].map((rank) => middleOf(view, rank));
    lines.moveTo(x1, y1);
    lines.lineTo(x2, y2);
    const angle = Math.atan2(y2 - y1, x2 - x1);
    heads.moveTo(x2, y2);
    for (const turn of [-0.4, 0.4]) heads.lineTo(x2 - size * Math.cos(angle + turn), y2 - size * Math.sin(angle + turn));
  }
  context.stroke(lines);
  context.fill(heads);
  context.restore();
}

/** Messages that touch the view; of too many, every so manyth. */
function messagesInView(view, rows) {
  const { messageSent, messageArrived, messageFrom, messageTo } = arrays;
  const found = [];
  const visible = (rank) => isInView(view, rows, rank);
  for (let index = 0; index < messageSent.length; index++) {
    if (messageSent[index] === NONE || messageArrived[index] === NONE || messageArrived[index] < view.begin) continue;
    if (messageSent[index] > view.end) break;
    if (!isShown(messageFrom[index]) || !isShown(messageTo[index]) || !messageMatches(index)) continue;
    if (visible(messageFrom[index]) || visible(messageTo[index])) found.push(index);
  }
  const every = Math.ceil(found.length / ARROWS_MAX);
  return { all: found.length, drawn: every > 1 ? found.filter((_, index) => index % every === 0) : found };
}

/** Ticks of the axis at round numbers. */
function paintAxis(context, view, width, top) {
  const span = (view.end - view.begin) * data.secondsPerUnit;
  const wanted = span / Math.max(2, (width - GUTTER) / 130);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= wanted);
  context.fillStyle = colours.soft;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const begin = view.begin * data.secondsPerUnit;
  for (let number = Math.ceil(begin / step); number * step <= begin + span; number++) {
    const x = GUTTER + (number * step - begin) / span * (width - GUTTER);
    context.fillRect(x, top, 1, 5);
    if (x < width - 50) context.fillText(axisText(number * step, step), x + 4, top + 12);
  }
}

/** A time with as many digits as the distance between ticks needs. */
function axisText(value, step) {
  const [scale, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]].find(([scale]) => value >= scale) ?? [1e-9, "ns"];
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / scale) - 1e-9)));
  return `${(value / scale).toFixed(digits)} ${unit}`;
}

function paintRankNames(context, view, rows) {
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const every = Math.max(1, Math.ceil(14 / view.rowHeight));
  for (let row = 0; row < rows; row++) {
    const rank = rankOf(view, row);
    if (rank % every !== 0 && rank !== view.rank) continue;
    context.fillStyle = rank === view.rank ? colours.ink : colours.soft;
    context.fillText(view.rowHeight >= 14 ? `rank ${rank}` : `${rank}`, 4, Math.max(7, (row + 0.5) * view.rowHeight));
  }
}
