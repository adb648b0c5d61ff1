// Regions of the program: bars above the calls of their rank, those within others inset.

const regionColour = (number) => colours[["p7", "p1", "p3"][number % 3]];
const regionThick = (view) => Math.max(3, Math.min(11, view.rowHeight / 3));

/** Regions of a rank at a time, the outermost first: indices. */
function regionsAt(rank, time) {
  const { regionOffset, regionBegin, regionEnd } = arrays;
  const found = [];
  const last = after(regionBegin, time, regionOffset[rank], regionOffset[rank + 1]) - 1;
  for (let index = last; index >= Math.max(regionOffset[rank], last - 1000) && found.length < 4; index--) {
    if (regionEnd[index] >= time) found.unshift(index);
  }
  return found;
}

const regionText = (index) => `region ${arrays.regionNumber[index]}, ${unitsText(arrays.regionEnd[index] - arrays.regionBegin[index])}`;

function paintRegions(context, view, width, rows) {
  const { regionOffset, regionBegin, regionEnd, regionNumber, regionDepth } = arrays;
  if (view.rowHeight < 10 || regionBegin.length === 0) return;
  const scale = (width - GUTTER) / (view.end - view.begin), thick = regionThick(view);
  context.font = `${Math.min(9, thick)}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  for (let row = 0; row < rows; row++) {
    const rank = rankOf(view, row);
    for (let index = regionOffset[rank]; index < regionOffset[rank + 1] && regionBegin[index] <= view.end; index++) {
      if (regionEnd[index] < view.begin) continue;
      const left = Math.max(GUTTER, GUTTER + (regionBegin[index] - view.begin) * scale);
      const right = Math.min(width, GUTTER + (regionEnd[index] - view.begin) * scale);
      // One within another covers its lower part.
      const inset = Math.min(thick - 2, regionDepth[index] * thick / 2), top = row * view.rowHeight + 1 + inset;
      context.fillStyle = colours.card;
      context.fillRect(left - 1, top, Math.max(1, right - left) + 2, thick - inset + 1);
      context.fillStyle = regionColour(regionNumber[index]);
      context.fillRect(left, top, Math.max(1, right - left), thick - inset);
      if (thick - inset < 8 || right - left < 60) continue;
      context.fillStyle = "#000";
      context.fillText(`region ${regionNumber[index]}`, left + 4, top + (thick - inset) / 2 + 0.5);
    }
  }
}
