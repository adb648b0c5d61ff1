// The page of two runs: bars of the same scale, sentences, tables.

for (const [side, name] of ["before", "after"].entries()) byId(name).append(element("b", `${name}: `), data.titles[side]);
byId("sentences").append(...data.sentences.map((sentence) =>
  element("li", sentence, /shared|not whole|added/.test(sentence) ? "alert" : "")));

const longest = Math.max(Number.MIN_VALUE, ...data.bars.map((bar) => bar.reduce((sum, part) => sum + part, 0)));
byId("bars").append(...data.bars.map((bar, side) => {
  const row = element("div", undefined, "row compared"), meter = element("span", undefined, "meter");
  for (const [state, name] of ["compute", "transfer", "wait"].entries()) {
    const part = element("i", undefined, name);
    part.style.width = `${bar[state] / longest * 100}%`;
    part.title = `${STATES[state]} ${seconds(bar[state])}`;
    meter.append(part);
  }
  meter.setAttribute("role", "img");
  meter.setAttribute("aria-label", bar.map((part, state) => `${STATES[state]} ${seconds(part)}`).join(", "));
  row.append(element("span", ["before", "after"][side]), meter, element("span", seconds(data.durations[side])));
  return row;
}));

showTable("totals-table", data.totals);
showTable("calls-table", data.calls);
showTable("patterns-table", data.patterns);
applyTheme();
