// Summary, tables, histogram and matrix.

byId("command").textContent = data.command || "a trace";
byId("facts").textContent = [
  data.title.slice(data.command.length + 2),
  data.started ? new Date(data.started * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC" : "",
].filter(Boolean).join(" · ");

byId("sentences").append(...data.sentences.map((sentence) => {
  const alarming = /shared .* cores?:|waited|one pattern|unbalanced|hot link|not whole|did not end|wait longest/i.test(sentence);
  return element("li", sentence, alarming ? "alert" : "");
}));

const allTime = data.totals.reduce((sum, part) => sum + part, 0);
byId("totals").append(...["compute", "transfer", "wait"].map((name, state) => {
  const share = percent(data.totals[state], allTime);
  // A narrow part has its label in the tooltip only.
  const part = element("span", data.totals[state] > allTime * 0.1 ? `${STATES[state]} ${share}` : "", name);
  part.title = `${STATES[state]} ${share}`;
  part.style.flex = `${data.totals[state] / Math.max(1, allTime)} 0 0`;
  return part;
}));
byId("totals").setAttribute("aria-label", data.sentences.find((sentence) => sentence.startsWith("Of the ranks' time")) ?? "");

const notes = [];
if (data.calls[0] < data.calls[1]) notes.push(`The page holds the ${countText(data.calls[0])} longest of ${countText(data.calls[1])} calls.`);
if (data.messages[0] < data.messages[1]) notes.push(`It holds the ${countText(data.messages[0])} slowest of ${countText(data.messages[1])} messages.`);
if (data.accesses[0] < data.accesses[1]) notes.push(`It holds ${countText(data.accesses[0])} of ${countText(data.accesses[1])} one-sided operations.`);
if (data.mergedBelow) notes.push(`Stretches shorter than ${seconds(data.mergedBelow)} are drawn with the one before.`);
byId("kept").textContent = notes.join(" ");

function shareBar(rank) {
  const bar = element("span", undefined, "stack");
  const all = data.shares[rank].reduce((sum, part) => sum + part, 0) || 1;
  for (const [state, name] of ["compute", "transfer", "wait"].entries()) {
    const part = element("i", undefined, name);
    part.style.cssText = `width:${data.shares[rank][state] / all * 100}%`;
    bar.append(part);
  }
  return bar;
}
showTable("rank-table", data.rankTable, shareBar);
showTable("wait-table", data.waitTable);
showTable("profile-table", data.profileTable);
showTable("pattern-table", {
  columns: [...data.patternTable.columns, "what usually mends it"],
  rows: data.patternTable.rows.map((row, index) => [...row, data.advice[index]]),
  keys: data.patternTable.keys.map((row) => [...row, null]),
});
byId("patterns").hidden = data.patternTable.rows.length === 0;
showTable("region-table", data.regionTable);
byId("regions").hidden = data.regionTable.rows.length === 0;
byId("profile").hidden = data.profileTable.rows.length === 0;
if (data.accessTable.rows.length > 0) showTable("access-table", data.accessTable);
if (data.epochTable.rows.length > 0) {
  const colourOf = (row) => {
    const mark = element("i", undefined, "epoch");
    themed.push(() => { mark.style.background = epochColour(data.epochKinds.indexOf(data.epochTable.rows[row][0])); });
    mark.style.background = epochColour(data.epochKinds.indexOf(data.epochTable.rows[row][0]));
    return mark;
  };
  showTable("epoch-table", data.epochTable, colourOf);
}
showTable("protocol-table", data.protocolTable);

const protocolsUsed = data.protocols.map((_, protocol) => protocol).filter((protocol) => data.sizes.some(([, counts]) => counts[protocol] > 0));
const largestClass = Math.max(1, ...data.sizes.map(([, counts]) => counts.reduce((sum, count) => sum + count, 0)));
byId("sizes").append(...data.sizes.map(([upTo, counts]) => {
  const row = element("div", undefined, "row"), meter = element("span", undefined, "meter");
  for (const protocol of protocolsUsed) {
    const part = element("i");
    part.style.cssText = `width:${counts[protocol] / largestClass * 100}%;background:var(--p${protocol})`;
    part.title = `${data.protocols[protocol]}: ${countText(counts[protocol])}`;
    meter.append(part);
  }
  row.append(element("span", upTo === 0 ? "empty" : `≤ ${bytesText(upTo)}`), meter, element("span", countText(counts.reduce((sum, count) => sum + count, 0))));
  return row;
}));
const key = element("div", undefined, "key");
for (const protocol of protocolsUsed) {
  const entry = element("span"), swatch = element("i");
  swatch.style.background = `var(--p${protocol})`;
  entry.append(swatch, data.protocols[protocol]);
  key.append(entry);
}
byId("sizes").append(key);

// The matrix: a pixel a pair of ranks, scaled up.
const matrix = byId("matrix");
const cells = new Map();
for (let index = 0; index < arrays.cellFrom.length; index++) cells.set(arrays.cellFrom[index] * data.ranks + arrays.cellTo[index], index);
const mostBytes = arrays.cellBytes.reduce((most, value) => Math.max(most, value), 1);
const chosenCell = { from: 0, to: 0 };

function drawMatrix() {
  const side = Math.min(matrix.clientWidth, 460);
  const { context } = fitted(matrix, side);
  const size = side / Math.max(1, data.ranks);
  context.fillStyle = colours.track;
  context.fillRect(0, 0, side, side);
  const gap = size > 8 ? 1 : 0;
  for (let index = 0; index < arrays.cellFrom.length; index++) {
    const share = Math.log1p(arrays.cellBytes[index]) / Math.log1p(mostBytes);
    context.fillStyle = `rgb(${share < 0.5 ? mix(colours.hot0, colours.hot1, share * 2) : mix(colours.hot1, colours.hot2, share * 2 - 1)})`;
    context.fillRect(arrays.cellTo[index] * size, arrays.cellFrom[index] * size, Math.max(1, size - gap), Math.max(1, size - gap));
  }
  context.strokeStyle = colours.focus;
  context.lineWidth = 2;
  context.strokeRect(chosenCell.to * size, chosenCell.from * size, Math.max(3, size), Math.max(3, size));
}

function chooseCell(from, to) {
  const inside = (rank) => Math.max(0, Math.min(data.ranks - 1, rank));
  chosenCell.from = inside(from);
  chosenCell.to = inside(to);
  const index = cells.get(chosenCell.from * data.ranks + chosenCell.to);
  const amount = index === undefined ? "nothing" : `${bytesText(arrays.cellBytes[index])} in ${countText(arrays.cellMessages[index])} messages`;
  byId("matrix-details").textContent = `Rank ${chosenCell.from} to rank ${chosenCell.to}: ${amount}.`;
  drawMatrix();
}
matrix.addEventListener("pointermove", (event) => {
  const side = matrix.clientHeight;
  const rank = (distance) => Math.floor(distance / side * data.ranks);
  if (event.offsetX < side) chooseCell(rank(event.offsetY), rank(event.offsetX));
});
matrix.addEventListener("keydown", (event) => {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!step) return;
  event.preventDefault();
  chooseCell(chosenCell.from + step[0], chosenCell.to + step[1]);
});
window.addEventListener("resize", drawMatrix);
themed.push(drawMatrix);
