// The filter: which calls, messages and ranks are shown, and that in plain words.

const { callOffset, callBegin, callEnd, callFunction, callSite, messageFrom, messageTo, messageTag, messageComm, messageSent, messageArrived } = arrays;

/** What passes: a byte a call and a byte a message, or null if all do. */
let passingCalls = null, passingMessages = null;
const callMatches = (call) => passingCalls === null || passingCalls[call] === 1;
const messageMatches = (message) => passingMessages === null || passingMessages[message] === 1;

const fields = Object.fromEntries(["function", "site", "peer", "tag", "comm", "hide"].map((name) => [name, byId(`filter-${name}`)]));

/** Fills the lists to choose from with what the trace has. */
function offer() {
  const functions = new Map(), sites = new Set();
  for (let call = 0; call < callFunction.length; call++) {
    functions.set(callFunction[call], (functions.get(callFunction[call]) ?? 0) + 1);
    if (callSite[call]) sites.add(data.names[callSite[call]]);
  }
  const option = (value, text) => { const made = element("option", text); made.value = value; return made; };
  const named = [...functions].map(([name, count]) => [data.names[name], count]).sort(([a], [b]) => a < b ? -1 : 1);
  fields.function.append(option("", "any"), ...named.map(([name, count]) => option(name, `${name} (${countText(count)})`)));
  byId("filter-sites").append(...[...sites].sort().slice(0, 500).map((site) => option(site)));
  fields.comm.append(option("", "any"), ...data.communicators.map(([number, members]) =>
    option(number, members ? `${number}: ranks ${members}` : `${number}`)));
}

/** Numbers and ranges, as "3, 8-15"; null if it is something else. */
function ranksOf(text) {
  const ranks = new Set();
  for (const part of text.split(/[\s,]+/).filter(Boolean)) {
    const range = /^(\d+)(?:-(\d+))?$/.exec(part);
    const [first, last] = range ? [Number(range[1]), Number(range[2] ?? range[1])] : [1, 0];
    if (first > last || last >= data.ranks) return null;
    for (let rank = first; rank <= last; rank++) ranks.add(rank);
  }
  return ranks;
}

/** What the fields ask for, and what is wrong with them. */
function wanted() {
  const wrong = [];
  const value = (name) => fields[name].value.trim();
  const check = (name, isRight, expected) => {
    fields[name].setAttribute("aria-invalid", !isRight);
    if (!isRight) wrong.push(`${expected}, not "${value(name)}".`);
    return isRight;
  };
  const peer = value("peer") === "" ? null : Number(value("peer"));
  const tag = value("tag") === "" ? null : Number(value("tag"));
  const hidden = ranksOf(value("hide"));
  const lastRank = Math.max(0, data.ranks - 1);
  return {
    wrong,
    function: value("function"),
    site: value("site").toLowerCase(),
    peer: check("peer", peer === null || (/^\d+$/.test(value("peer")) && peer <= lastRank), `Peer: expected a rank from 0 to ${lastRank}`) ? peer : null,
    tag: check("tag", tag === null || /^-?\d+$/.test(value("tag")), "Tag: expected a whole number") ? tag : null,
    comm: value("comm") === "" ? null : Number(value("comm")),
    hidden: check("hide", hidden !== null && (hidden.size < data.ranks || data.ranks === 0), `Hide ranks: expected some of 0 to ${lastRank}, as 3, 8-15`) ? hidden : new Set(),
  };
}

/** Finds out what passes. */
function select(want) {
  const { function: name, site, peer, tag, comm } = want;
  const byCall = name !== "" || site !== "", byMessage = peer !== null || tag !== null || comm !== null;
  passingCalls = passingMessages = null;
  if (!byCall && !byMessage) return;
  const functionOk = data.names.map((text) => name === "" || text === name);
  const siteOk = data.names.map((text) => site === "" || text.toLowerCase().includes(site));
  const calls = new Uint8Array(callFunction.length), messages = new Uint8Array(messageFrom.length);
  for (let call = 0; call < calls.length; call++) calls[call] = functionOk[callFunction[call]] && siteOk[callSite[call]] ? 1 : 0;
  const through = new Uint8Array(calls.length);
  for (let message = 0; message < messages.length; message++) {
    if (peer !== null && messageFrom[message] !== peer && messageTo[message] !== peer) continue;
    if ((tag !== null && (messageTag[message] | 0) !== tag) || (comm !== null && messageComm[message] !== comm)) continue;
    const ends = [[messageFrom[message], messageSent[message]], [messageTo[message], messageArrived[message]]]
      .map(([rank, time]) => time === NONE ? -1 : callAt(rank, time));
    for (const call of ends) if (call >= 0) through[call] = 1;
    messages[message] = !byCall || ends.some((call) => call >= 0 && calls[call] === 1) ? 1 : 0;
  }
  if (byMessage) for (let call = 0; call < calls.length; call++) calls[call] &= through[call];
  [passingCalls, passingMessages] = [calls, messages];
}

/** What is shown, in words. */
function inWords(want) {
  const parts = [];
  if (want.function) parts.push(`of ${want.function}`);
  if (want.site) parts.push(`at "${fields.site.value.trim()}"`);
  const about = [want.peer !== null && `to or from rank ${want.peer}`, want.tag !== null && `with tag ${want.tag}`,
    want.comm !== null && `in communicator ${want.comm}`].filter(Boolean);
  if (about.length > 0) parts.push(`with messages ${about.join(" ")}`);
  let [calls, time, messages] = [0, 0, 0];
  for (const rank of shownRanks) {
    for (let call = callOffset[rank]; call < callOffset[rank + 1]; call++) {
      if (callMatches(call)) { calls++; time += callEnd[call] - callBegin[call]; }
    }
  }
  for (let message = 0; message < messageFrom.length; message++) {
    if (messageMatches(message) && isShown(messageFrom[message]) && isShown(messageTo[message])) messages++;
  }
  const hidden = want.hidden.size === 0 ? "" : ` ${want.hidden.size === 1 ? "Rank" : "Ranks"} ${fields.hide.value.trim()} ${want.hidden.size === 1 ? "is" : "are"} hidden.`;
  const what = parts.length > 0 ? `Shown are calls ${parts.join(" ")}; the others are pale.` : hidden ? "" : "Everything is shown.";
  const counts = `${countText(calls)} of ${countText(callFunction.length)} calls, ${unitsText(time)} altogether, and ${countText(messages)} of ${countText(messageFrom.length)} messages match.`;
  return [...want.wrong, what + hidden, parts.length > 0 || hidden ? counts : ""].filter(Boolean).join(" ").trim();
}

function applyFilter() {
  const want = wanted();
  select(want);
  showRanks([...Array(data.ranks).keys()].filter((rank) => !want.hidden.has(rank)));
  const isOf = (name, site) => (want.function === "" || name === want.function) && (want.site === "" || site.toLowerCase().includes(want.site));
  narrowTable("profile-table", (row) => isOf(row[0], row[8]));
  narrowTable("rank-table", (row) => !want.hidden.has(Number(row[0])));
  narrowTable("wait-table", (row) => isOf(row[5], row[6]) && !want.hidden.has(Number(row[0])) &&
    (want.peer === null || row[0] === String(want.peer) || row[4] === String(want.peer)));
  byId("filter-words").textContent = inWords(want);
  byId("filter-clear").disabled = Object.values(fields).every((field) => field.value === "");
  redraw();
}

/** Makes pale what is not in a call that passes. */
function paintOthers(context, view, width, rows) {
  if (passingCalls === null) return;
  const scale = (width - GUTTER) / (view.end - view.begin);
  context.fillStyle = colours.card;
  context.globalAlpha = 0.82;
  for (let row = 0; row < rows; row++) {
    const rank = rankOf(view, row), last = callOffset[rank + 1];
    let free = GUTTER;
    const pale = (from, to) => { if (to > from) context.fillRect(from, row * view.rowHeight, to - from, view.rowHeight); };
    for (let call = Math.max(callOffset[rank], after(callBegin, view.begin, callOffset[rank], last) - 1); call < last && callBegin[call] <= view.end; call++) {
      if (passingCalls[call] === 0) continue;
      const left = Math.max(GUTTER, GUTTER + (callBegin[call] - view.begin) * scale);
      const right = Math.min(width, Math.max(left + 1, GUTTER + (callEnd[call] - view.begin) * scale));
      if (left - free >= 1) pale(free, left);
      free = Math.max(free, right);
    }
    pale(free, width);
  }
  context.globalAlpha = 1;
}

offer();
for (const field of Object.values(fields)) field.addEventListener("input", applyFilter);
byId("filter").addEventListener("submit", (event) => event.preventDefault());
const clearFilter = () => { for (const field of Object.values(fields)) field.value = ""; applyFilter(); };
byId("filter-clear").addEventListener("click", clearFilter);
byId("filter").addEventListener("keydown", (event) => { if (event.key === "Escape") { clearFilter(); tracks.focus(); } });
applyFilter();
