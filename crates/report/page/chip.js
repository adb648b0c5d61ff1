// The chip: links as a heat map, power and memory, all at the moment that the slider chooses.

const chip = data.chip;
const scrub = byId("scrub"), plan = byId("plan"), power = byId("power");
let pointedLink = -1;

const SERVERS = {
  "resource manager": "A resource manager is a core of its cluster that handles the packets of the ranks there.",
  "system core": "A system core serves the calls that ranks make to the communication software of the chip.",
};

/** The network that is shown: its links, their loads, and the largest of these. */
const planes = chip && {
  data: { links: chip.links, load: arrays.linkLoad, most: chip.mostLoad },
  control: { links: chip.controlLinks, load: arrays.controlLoad, most: chip.mostControlLoad },
};
let plane = planes?.data;

if (chip) {
  byId("plane").addEventListener("change", (event) => {
    plane = planes[event.target.value];
    pointedLink = -1;
    byId("most-load").textContent = percent(plane.most, 1);
    drawChip();
  });
  showTable("link-table", data.linkTable);
  showTable("server-table", data.serverTable);
  byId("chip").hidden = false;
  byId("chip-title").textContent = `${chip.name} through time`;
  byId("most-load").textContent = percent(chip.mostLoad, 1);
  scrub.max = chip.steps - 1;
  scrub.value = chip.busiest;
  byId("busiest").addEventListener("click", () => { scrub.value = chip.busiest; drawChip(); });
  byId("server-help").textContent = serverHelp();
  scrub.addEventListener("input", drawChip);
  byId("play").addEventListener("click", play);
  plan.addEventListener("pointermove", (event) => { pointedLink = linkAt(event.offsetX, event.offsetY); drawChip(); });
  plan.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    pointedLink = (pointedLink + step + plane.links.length) % plane.links.length;
    drawChip();
  });
  power.addEventListener("pointerdown", (event) => {
    scrub.value = Math.round(event.offsetX / power.clientWidth * (chip.steps - 1));
    drawChip();
  });
  window.addEventListener("resize", drawChip);
  themed.push(drawChip);
}

const heat = (load) => load <= 0 ? colours.cold
  : `rgb(${load < 0.5 ? mix(colours.hot0, colours.hot1, load * 2) : mix(colours.hot1, colours.hot2, load * 2 - 1)})`;
/** The load of a link as a share of the largest load of any link at any moment. */
const heatOf = (link, step) => plane.load[link * chip.steps + step] / 255;
const loadOf = (link, step) => heatOf(link, step) * plane.most;

/** What the kinds of servers of this chip are, and how to read their table. */
function serverHelp() {
  const kinds = [...new Set(chip.servers.map(([kind]) => kind))].map((kind) => SERVERS[kind]).filter(Boolean);
  if (chip.servers.length === 0) return "None was recorded.";
  return `${kinds.join(" ")} A server does one thing after the other: ranks wait for one that is busy all the time, however idle the network is. ` +
    "The table has the one with most work first: the time that it worked, its share of the run, and its share of the moment in which it worked most.";
}

/** Percent of a step in which a server worked. */
const workOf = (server, step) => arrays.serverLoad[server * chip.steps + step];

/** Where a place stands on the canvas; the plan is scaled to fit. */
function layout() {
  const xs = chip.places.map((place) => place.x), ys = chip.places.map((place) => place.y);
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const [columns, rows] = [Math.max(...xs) - left + 1, Math.max(...ys) - top + 1];
  const width = Math.max(50, plan.clientWidth);
  const pitch = Math.min(width / columns, 620 / rows, 120);
  const margin = (width - pitch * columns) / 2;
  const centre = (place) => [margin + (place.x - left + 0.5) * pitch, (place.y - top + 0.5) * pitch];
  return { pitch, height: pitch * rows, centre };
}

/** The two ends of a directed link as drawn: beside that of the other direction. */
function linkEnds(link, { pitch, centre }) {
  const [from, to] = plane.links[link].map((place) => centre(chip.places[place]));
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const length = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / length, dy / length];
  const aside = pitch * 0.09, inset = Math.min(pitch * 0.3, length / 3);
  return [from[0] + ux * inset - uy * aside, from[1] + uy * inset + ux * aside, to[0] - ux * inset - uy * aside, to[1] - uy * inset + ux * aside];
}

function linkAt(x, y) {
  const place = layout();
  let [best, distance] = [-1, 9];
  for (let link = 0; link < plane.links.length; link++) {
    const [x1, y1, x2, y2] = linkEnds(link, place);
    const along = Math.max(0, Math.min(1, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2 || 1)));
    const away = Math.hypot(x - x1 - along * (x2 - x1), y - y1 - along * (y2 - y1));
    if (away < distance) [best, distance] = [link, away];
  }
  return best;
}

function drawChip() {
  if (!chip) return;
  const step = Number(scrub.value);
  const time = (at) => unitsText(at / chip.steps * data.duration);
  byId("moment").textContent = `${time(step)} to ${time(step + 1)}${step === chip.busiest ? ", the busiest moment" : ""}`;
  drawPlan(step);
  drawPower(step);
  drawMemory(step);
  const busiest = [...chip.servers.keys()].reduce((best, server) => workOf(server, step) > workOf(best, step) ? server : best, 0);
  byId("server-details").textContent = chip.servers.length === 0 ? "" :
    `At this moment the ${chip.servers[busiest][0]} of ${chip.places[chip.servers[busiest][1]].name} works most: ${workOf(busiest, step)} % of the time.`;
  const hottest = [...plane.links.keys()].reduce((best, link) => loadOf(link, step) > loadOf(best, step) ? link : best, 0);
  const shown = pointedLink >= 0 ? pointedLink : hottest;
  const name = (place) => chip.places[place].name;
  byId("plan-details").textContent = plane.links.length === 0 ? "" :
    `${pointedLink >= 0 ? "Link" : "Hottest link"} ${name(plane.links[shown][0])} → ${name(plane.links[shown][1])}: ${percent(loadOf(shown, step), 1)} of what it can carry.`;
}

function drawPlan(step) {
  const place = layout();
  const { context } = fitted(plan, Math.max(80, place.height));
  const { pitch, centre } = place;
  for (let link = 0; link < plane.links.length; link++) {
    const [x1, y1, x2, y2] = linkEnds(link, place);
    const load = heatOf(link, step);
    context.strokeStyle = context.fillStyle = heat(load);
    context.lineWidth = (link === pointedLink ? 3 : 1.5) + load * pitch * 0.07;
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
    const angle = Math.atan2(y2 - y1, x2 - x1), size = Math.min(8, pitch * 0.12) + load * 3;
    context.beginPath();
    context.moveTo(x2 + Math.cos(angle) * size * 0.6, y2 + Math.sin(angle) * size * 0.6);
    for (const turn of [-0.5, 0.5]) context.lineTo(x2 - size * Math.cos(angle + turn), y2 - size * Math.sin(angle + turn));
    context.fill();
  }
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const [index, described] of chip.places.entries()) {
    const [x, y] = centre(described), half = pitch * (described.kind === "router" ? 0.08 : 0.25);
    context.fillStyle = colours.track;
    context.strokeStyle = described.kind === "io" ? colours.focus : colours.line;
    context.lineWidth = 1.5;
    context.beginPath();
    context.roundRect(x - half, y - half, half * 2, half * 2, Math.min(6, half / 2));
    context.fill();
    const held = arrays.memory.length ? arrays.memory[index * chip.steps + step] : 0;
    if (described.memory > 0 && held > 0) {
      const share = Math.min(1, held / described.memory);
      context.save();
      context.clip();
      context.fillStyle = colours.p1;
      context.globalAlpha = 0.45;
      context.fillRect(x - half, y + half - share * half * 2, half * 2, share * half * 2);
      context.restore();
    }
    context.stroke();
    if (pitch < 34 || described.kind === "router") continue;
    context.fillStyle = colours.ink;
    const fontSize = Math.max(8, Math.min(14, pitch * 0.17, half * 3.2 / described.name.length));
    context.font = `600 ${fontSize}px system-ui, sans-serif`;
    const queued = arrays.dma.length ? arrays.dma[index * chip.steps + step] : 0;
    context.fillText(described.name, x, queued > 0 ? y - pitch * 0.08 : y);
    if (queued === 0) continue;
    context.font = `${Math.max(8, Math.min(11, pitch * 0.13))}px system-ui, sans-serif`;
    context.fillText(`DMA ${queued}`, x, y + pitch * 0.1);
  }
  context.textAlign = "left";
}

function drawPower(step) {
  const { context, width, height } = fitted(power, 150);
  const watts = arrays.watts;
  if (!watts.length) { context.fillStyle = colours.soft; context.fillText("not recorded", 8, 20); return; }
  const most = Math.max(...watts) * 1.08;
  const x = (at) => (at + 0.5) / chip.steps * width, y = (value) => height - 4 - value / most * (height - 22);
  context.beginPath();
  context.moveTo(0, height);
  watts.forEach((value, at) => context.lineTo(x(at), y(value)));
  context.lineTo(width, height);
  context.fillStyle = colours.wait;
  context.globalAlpha = 0.25;
  context.fill();
  context.globalAlpha = 1;
  context.beginPath();
  watts.forEach((value, at) => context.lineTo(x(at), y(value)));
  context.strokeStyle = colours.wait;
  context.lineWidth = 2;
  context.stroke();
  context.fillStyle = colours.ink;
  context.fillRect(x(step) - 0.5, 0, 1, height);
  context.beginPath();
  context.arc(x(step), y(watts[step]), 4, 0, 7);
  context.fill();
  context.font = "12px system-ui, sans-serif";
  const label = `${watts[step].toFixed(2)} W`;
  context.fillText(label, Math.min(x(step) + 7, width - context.measureText(label).width - 4), 12);
}

const memoryRows = [];
function drawMemory(step) {
  if (memoryRows.length === 0) {
    for (const [index, described] of chip.places.entries()) {
      if (described.kind === "router" || !arrays.memory.subarray(index * chip.steps, (index + 1) * chip.steps).some((held) => held > 0)) continue;
      const row = element("div", undefined, "row"), meter = element("span", undefined, "meter"), fill = element("i"), text = element("span");
      fill.style.background = "var(--p1)";
      meter.append(fill);
      row.append(element("span", described.name), meter, text);
      byId("memory").append(row);
      memoryRows.push({ index, fill, text });
    }
    hintScroll(byId("memory"), "places");
  }
  const most = arrays.memory.reduce((sum, held) => Math.max(sum, held), 1);
  for (const { index, fill, text } of memoryRows) {
    const held = arrays.memory[index * chip.steps + step];
    fill.style.width = `${Math.min(100, held / (chip.places[index].memory || most) * 100)}%`;
    text.textContent = bytesText(held);
  }
}

let playing = false;
function play() {
  playing = !playing;
  byId("play").setAttribute("aria-pressed", playing);
  byId("play").textContent = playing ? "pause" : "play";
  const next = () => {
    if (!playing) return;
    scrub.value = (Number(scrub.value) + 1) % chip.steps;
    drawChip();
    setTimeout(() => requestAnimationFrame(next), 40);
  };
  next();
}

applyTheme();
