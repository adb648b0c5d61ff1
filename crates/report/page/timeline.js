// The timeline: what is in view, and how mouse and keys change it.

const tracks = byId("tracks"), overview = byId("overview"), tip = byId("tip");
const ROOM = Math.max(260, Math.min(640, window.innerHeight - 220));
const SPAN_MIN = 20;

const whole = () => ({ begin: 0, end: Math.max(1, data.duration) });
const view = {
  ...whole(),
  first: 0,
  rowHeight: Math.max(3, Math.min(30, Math.floor(ROOM / Math.max(1, data.ranks)))),
  rank: 0,
  arrows: false,
  path: true,
  hover: null,
  kept: null,
};

const rowsInView = () => Math.min(shownRanks.length - view.first, Math.floor(Math.max(ROOM, view.rowHeight) / view.rowHeight));
let width = 0;
let asked = false;

/** Draws before the next frame, however often it is asked for. */
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; drawTimeline(); });
}

function drawTimeline() {
  const rows = rowsInView();
  const { context, width: fittedWidth } = fitted(tracks, rows * view.rowHeight + AXIS);
  width = fittedWidth;
  paintTracks(context, view, width, rows);
  paintOthers(context, view, width, rows);
  paintLabels(context, view, width, rows);
  paintEpochs(context, view, width, rows);
  paintRegions(context, view, width, rows);
  let arrows = "";
  if (view.arrows) {
    const { all, drawn } = messagesInView(view, rows);
    paintArrows(context, view, width, rows, drawn, false);
    const accesses = accessesInView(view, rows);
    paintAccesses(context, view, width, rows, accesses.drawn, false);
    const [shown, there] = [drawn.length + accesses.drawn.length, all + accesses.all];
    if (shown < there) arrows = `, ${countText(shown)} of ${countText(there)} arrows`;
  }
  if (view.path) paintPath(context, view, width, rows);
  const point = view.kept ?? view.hover;
  if (point) markPoint(context, rows, point);
  paintRankNames(context, view, rows);
  paintAxis(context, view, width, rows * view.rowHeight);
  drawOverview();
  byId("range").textContent = `${unitsText(view.begin)} to ${unitsText(view.end)} (${unitsText(view.end - view.begin)})${arrows}`;
}

/** Frames the call at a point, and shows the arrows of its messages. */
function markPoint(context, rows, point) {
  const call = callAt(point.rank, point.time);
  const span = call >= 0 ? { begin: arrays.callBegin[call], end: arrays.callEnd[call] } : segmentAt(point.rank, point.time);
  if (!span) return;
  const scale = (width - GUTTER) / (view.end - view.begin);
  const left = Math.max(GUTTER, GUTTER + (span.begin - view.begin) * scale);
  const right = Math.min(width, GUTTER + (span.end - view.begin) * scale);
  if (!isShown(point.rank)) return;
  const row = rowOfRank[point.rank] - view.first;
  if (right >= left && row >= 0 && row < rows) {
    context.strokeStyle = colours.ink;
    context.lineWidth = 2;
    context.strokeRect(left, row * view.rowHeight, Math.max(2, right - left), view.rowHeight);
  }
  if (call < 0) return;
  const { sent, received } = messagesOfCall(point.rank, call);
  paintArrows(context, view, width, rows, [...sent, ...received].slice(0, 400), true);
  paintAccesses(context, view, width, rows, accessesOfCall(point.rank, call).slice(0, 400), true);
}

/** The whole run in a strip, with the view framed. */
function drawOverview() {
  const { context, width, height } = fitted(overview, 36);
  const image = levelImage(data.levels.length - 1);
  context.imageSmoothingEnabled = false;
  context.globalAlpha = 0.85;
  context.drawImage(image, 0, 0, image.width, image.height, GUTTER, 0, width - GUTTER, height);
  context.globalAlpha = 1;
  const x = (time) => GUTTER + time / Math.max(1, data.duration) * (width - GUTTER);
  context.fillStyle = colours.card;
  context.globalAlpha = 0.65;
  context.fillRect(GUTTER, 0, x(view.begin) - GUTTER, height);
  context.fillRect(x(view.end), 0, width - x(view.end), height);
  context.globalAlpha = 1;
  context.strokeStyle = colours.ink;
  context.lineWidth = 2;
  context.strokeRect(x(view.begin), 1, Math.max(3, x(view.end) - x(view.begin)), height - 2);
}

/** Shows begin..end, moved so that it stays inside the run. */
function show(begin, end) {
  const span = Math.max(Math.min(SPAN_MIN, data.duration), Math.min(data.duration, end - begin));
  view.begin = Math.max(0, Math.min(data.duration - span, begin));
  view.end = view.begin + span;
  redraw();
}

function zoom(factor, around = (view.begin + view.end) / 2) {
  show(around - (around - view.begin) * factor, around + (view.end - around) * factor);
}

const pan = (share) => show(view.begin + (view.end - view.begin) * share, view.end + (view.end - view.begin) * share);

/** Scrolls so that a rank that is shown is in view. */
function scrollTo(rank) {
  const rows = rowsInView(), row = rowOfRank[rank];
  if (row < 0) return;
  if (row < view.first) view.first = row;
  if (row >= view.first + rows) view.first = row - rows + 1;
}

const lastFirst = () => Math.max(0, shownRanks.length - Math.floor(ROOM / view.rowHeight));

function changeRowHeight(factor) {
  view.rowHeight = Math.max(2, Math.min(60, factor > 1 ? Math.ceil(view.rowHeight * factor) : Math.floor(view.rowHeight * factor)));
  view.first = Math.max(0, Math.min(view.first, lastFirst()));
  scrollTo(view.rank);
  redraw();
}

/** The rank and the time under the pointer. */
function pointAt(event) {
  const box = tracks.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const row = Math.floor(y / view.rowHeight);
  if (x < GUTTER || row >= rowsInView() || y < 0) return null;
  return { rank: rankOf(view, row), time: view.begin + (x - GUTTER) / (width - GUTTER) * (view.end - view.begin) };
}

function describePoint(point) {
  showLines(byId("details"), point ? describe(point.rank, point.time) : ["Point at a rank, or choose one with the arrow keys."]);
}

/** Goes to a call of the chosen rank and keeps it. */
function goToCall(call) {
  if (call < 0) return;
  const [begin, end] = [arrays.callBegin[call], arrays.callEnd[call]];
  view.kept = { rank: view.rank, time: Math.min(begin + 1, end) };
  if (begin < view.begin || begin > view.end) show(begin - (view.end - view.begin) / 2, begin + (view.end - view.begin) / 2);
  describePoint(view.kept);
  redraw();
}

function press(button, name) {
  view[name] = !view[name];
  byId(button).setAttribute("aria-pressed", view[name]);
  redraw();
}

const keys = {
  "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "−": () => zoom(2),
  ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), PageUp: () => pan(-0.9), PageDown: () => pan(0.9),
  ArrowUp: () => chooseRow(-1), ArrowDown: () => chooseRow(+1),
  0: () => show(0, data.duration), Home: () => show(0, view.end - view.begin), End: () => show(data.duration - (view.end - view.begin), data.duration),
  n: () => goToCall(neighbourCall(view.rank, view.kept?.time ?? view.begin, +1)),
  p: () => goToCall(neighbourCall(view.rank, (view.kept?.time ?? view.end) - 1, -1)),
  "[": () => changeRowHeight(0.75), "]": () => changeRowHeight(1.34),
  a: () => press("arrows", "arrows"), c: () => press("path", "path"),
  "/": () => byId("filter-function").focus(),
  "?": () => { const help = document.querySelector("#timeline details"); help.open = !help.open; },
  Enter: () => {
    const call = view.kept ? callAt(view.kept.rank, view.kept.time) : -1;
    if (call < 0) return;
    const [begin, end] = [arrays.callBegin[call], arrays.callEnd[call]];
    show(begin - (end - begin), end + (end - begin));
  },
  Escape: () => { view.kept = view.hover = null; tip.hidden = true; describePoint(null); redraw(); },
};

/** Chooses the shown rank so many rows below the chosen one. */
function chooseRow(below) {
  if (shownRanks.length === 0) return;
  view.rank = shownRanks[Math.max(0, Math.min(shownRanks.length - 1, rowOfRank[view.rank] + below))];
  scrollTo(view.rank);
  const time = view.kept?.time ?? (view.begin + view.end) / 2;
  view.kept = { rank: view.rank, time };
  describePoint(view.kept);
  redraw();
}

/** Shows these ranks only, which is at least one. */
function showRanks(ranks) {
  shownRanks = ranks;
  rowOfRank = Array(data.ranks).fill(-1);
  for (const [row, rank] of ranks.entries()) rowOfRank[rank] = row;
  if (!isShown(view.rank)) { view.rank = ranks[0] ?? 0; view.kept = null; describePoint(null); }
  view.first = Math.max(0, Math.min(view.first, lastFirst()));
  scrollTo(view.rank);
  redraw();
}

tracks.addEventListener("keydown", (event) => {
  const action = keys[event.key] ?? keys[event.key.toLowerCase()];
  if (!action || event.ctrlKey || event.metaKey || data.ranks === 0) return;
  event.preventDefault();
  action();
});

tracks.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (event.altKey) return changeRowHeight(event.deltaY < 0 ? 1.2 : 0.8);
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return pan((event.deltaX || event.deltaY) / 1000);
  zoom(2 ** Math.max(-1, Math.min(1, event.deltaY / 240)), pointAt(event)?.time);
}, { passive: false });

let grabbed = null;
tracks.addEventListener("pointerdown", (event) => {
  grabbed = { x: event.clientX, y: event.clientY, begin: view.begin, end: view.end, first: view.first, moved: false };
  tracks.setPointerCapture(event.pointerId);
});
tracks.addEventListener("pointerup", (event) => {
  tracks.classList.remove("dragging");
  if (grabbed && !grabbed.moved) {
    view.kept = pointAt(event);
    if (view.kept) view.rank = view.kept.rank;
    describePoint(view.kept);
    redraw();
  }
  grabbed = null;
});
tracks.addEventListener("pointermove", (event) => {
  if (grabbed) return drag(event);
  view.hover = pointAt(event);
  tip.hidden = !view.hover;
  if (view.hover) {
    showLines(tip, describe(view.hover.rank, view.hover.time));
    if (!view.kept) describePoint(view.hover);
    const [left, top] = [event.clientX + 16, event.clientY + 16];
    tip.style.left = `${Math.min(left, window.innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${top + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 12 : top}px`;
  }
  redraw();
});
tracks.addEventListener("pointerleave", () => { view.hover = null; tip.hidden = true; redraw(); });

function drag(event) {
  const moved = [event.clientX - grabbed.x, event.clientY - grabbed.y];
  grabbed.moved ||= Math.hypot(...moved) > 3;
  if (!grabbed.moved) return;
  tracks.classList.add("dragging");
  tip.hidden = true;
  const time = moved[0] / (width - GUTTER) * (grabbed.end - grabbed.begin);
  view.first = Math.max(0, Math.min(lastFirst(), grabbed.first - Math.round(moved[1] / view.rowHeight)));
  show(grabbed.begin - time, grabbed.end - time);
}

/** A click or a drag in the overview moves the view there. */
function jump(event) {
  if (event.buttons !== 1) return;
  const box = overview.getBoundingClientRect();
  const middle = (event.clientX - box.left - GUTTER) / (box.width - GUTTER) * data.duration;
  show(middle - (view.end - view.begin) / 2, middle + (view.end - view.begin) / 2);
}
overview.addEventListener("pointerdown", jump);
overview.addEventListener("pointermove", jump);

byId("zoom-in").addEventListener("click", () => zoom(0.5));
byId("zoom-out").addEventListener("click", () => zoom(2));
byId("whole").addEventListener("click", () => show(0, data.duration));
byId("arrows").addEventListener("click", () => press("arrows", "arrows"));
byId("path").addEventListener("click", () => press("path", "path"));
window.addEventListener("resize", redraw);
themed.push(redraw);
describePoint(null);
